"""Headers made to hurt: each is refused with a reason, quickly and in little memory."""

from __future__ import annotations

import json
import os
import tracemalloc
import zlib
from pathlib import Path
from typing import Any

import pytest

from labelgrove import ModelFileError
from labelgrove.persistence import read_model
from persistence.conftest import RawWriter

OUR_HEADER = {"algorithm": "x", "format": 1, "library": "0.1.0"}


def metadata(
    names: list[str] | None = None, header: Any = None, sums: Any = None
) -> dict[str, str]:
    text = json.dumps(OUR_HEADER if header is None else header)
    if sums is None:
        arrays = dict.fromkeys(names or [], "00000000")
        sums = {"arrays": arrays, "header": f"{zlib.crc32(text.encode()):08x}"}
    return {"labelgrove": text, "labelgrove.crc32": json.dumps(sums)}


def tensor(dtype: Any = "U8", shape: Any = (4,), offsets: Any = (0, 4), **more: Any) -> Any:
    return {"dtype": dtype, "shape": shape, "data_offsets": offsets, **more}


def with_array(value: Any) -> dict[str, Any]:
    return {"__metadata__": metadata(["a"]), "a": value}


def refuse(path: Path, message: str) -> None:
    tracemalloc.start()
    try:
        with pytest.raises(ModelFileError, match=message) as caught:
            dict(read_model(path).arrays)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert str(caught.value).startswith(f"{path}: ")
    assert len(str(caught.value)) < 600
    # The header as text, as JSON and again to check its characters; never what a number demands.
    assert peak < 300_000 + 60 * path.stat().st_size


def test_the_frame_used_here_is_sound(raw: RawWriter) -> None:
    assert read_model(raw({"__metadata__": metadata()})).header == OUR_HEADER
    value = {"__metadata__": metadata(["a"]), "a": tensor()}
    assert read_model(raw(value, b"abcd"), verify=False).arrays["a"].tobytes() == b"abcd"


@pytest.mark.parametrize("length", [2**64 - 1, 2**63, 2**32, 10_000, 3])
def test_a_wrong_length_of_the_header(raw: RawWriter, length: int) -> None:
    refuse(raw({"__metadata__": metadata()}, length=length), "not a model|header of|cannot be read")


def test_a_header_longer_than_allowed(raw: RawWriter, tmp_path: Path) -> None:
    path = tmp_path / "long.lg"
    with path.open("wb") as file:
        file.write((2**22 + 1).to_bytes(8, "little"))
        file.truncate(2**23)
    refuse(path, "this is not a model of LabelGrove$")


@pytest.mark.parametrize("content", [b"", b"\0", b"1234567", b"\0" * 8, b"\0" * 1000])
def test_files_that_hold_next_to_nothing(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "little.lg"
    path.write_bytes(content)
    refuse(path, "at least 8 bytes|cannot be read as JSON")


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"[]", "must be a JSON object"),
        (b"7", "must be a JSON object"),
        (b'"' + b"a" * 100_000 + b'"', "must be a JSON object"),
        (b"{", "cannot be read as JSON"),
        (b"{}{}", "cannot be read as JSON"),
        (b"\xff\xfe{}", "cannot be read as JSON"),
        (b"\xef\xbb\xbf{}", "cannot be read as JSON"),
        (b'{"a": NaN}', "NaN is not a JSON number"),
        (b'{"a": -Infinity}', "-Infinity is not a JSON number"),
        (b'{"a": 1e999}', "too large"),
        (b'{"a": ' + b"9" * 5000 + b"}", "cannot be read as JSON"),
        (b'{"a": "\\ud800"}', "cannot be read as JSON"),
        (b'{"a": 1, "b": 2, "a": 1}', "'a' occurs twice"),
        (b'{"a": {"shape": 1, "shape": 1}}', "'shape' occurs twice"),
        (b"[" * 200_000, "cannot be read as JSON"),
        (b'{"a":' * 200_000, "cannot be read as JSON"),
        (b'{"a":' + b"[" * 500 + b"]" * 500 + b"}", "not a LabelGrove model"),
        (b"{}", "not a LabelGrove model"),
        (b'{"__metadata__": null}', "not a LabelGrove model"),
        (b'{"__metadata__": []}', "not a LabelGrove model"),
        (b'{"__metadata__": {"labelgrove": 1}}', "not a LabelGrove model"),
        (b'{"__metadata__": {"labelgrove": "[]"}}', "must be a JSON object"),
        (b'{"__metadata__": {"labelgrove": "{"}}', "cannot be read as JSON"),
        (b'{"__metadata__": {"labelgrove": "{\\"a\\":1,\\"a\\":1}"}}', "'a' occurs twice"),
        (b'{"__metadata__": {"labelgrove": "{\\"a\\": \\"\\\\ud800\\"}"}}', "as JSON"),
    ],
)
def test_json_that_is_no_header(raw: RawWriter, body: bytes, message: str) -> None:
    refuse(raw(body), message)


def test_a_million_empty_lists(raw: RawWriter) -> None:
    refuse(raw(b'{"a":[' + b"[]," * 1_000_000 + b"[]]}"), "not a LabelGrove model")


def test_a_hundred_thousand_keys_one_twice(raw: RawWriter) -> None:
    keys = b",".join(b'"%d":0' % i for i in range(100_000))
    refuse(raw(b"{" + keys + b',"99999":0}'), "occurs twice")


@pytest.mark.parametrize(
    ("header", "message"),
    [
        ({}, '"format"'),
        ({**OUR_HEADER, "format": "1"}, '"format"'),
        ({**OUR_HEADER, "format": True}, '"format"'),
        ({**OUR_HEADER, "format": 1.0}, '"format"'),
        ({**OUR_HEADER, "library": None}, '"library"'),
        ({**OUR_HEADER, "format": 0}, "format version 0.*reads format versions 1 to 2"),
        (
            {**OUR_HEADER, "format": 3, "library": "9.9"},
            "format version 3, written by LabelGrove '9.9', but this .* reads format versions 1",
        ),
        ({**OUR_HEADER, "format": 10**4000}, "format version 1000"),
        ({"format": 1, "library": "0.1.0"}, '"algorithm"'),
        ({**OUR_HEADER, "algorithm": 3}, '"algorithm"'),
    ],
)
def test_headers_of_ours_that_are_not_whole(raw: RawWriter, header: Any, message: str) -> None:
    refuse(raw({"__metadata__": metadata(header=header)}), message)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (None, "expected dtype, shape and data_offsets"),
        ([], "expected dtype, shape and data_offsets"),
        (tensor(extra=1), "expected dtype, shape and data_offsets"),
        ({"dtype": "U8", "shape": [4]}, "expected dtype, shape and data_offsets"),
        (tensor("F16"), "has dtype 'F16'"),
        (tensor("u8"), "has dtype 'u8'"),
        (tensor("BOOL"), "has dtype 'BOOL'"),
        (tensor(["U8"]), "has dtype"),
        (tensor(None), "has dtype None"),
        (tensor("O" * 100_000), "has dtype"),
        (tensor(shape=4), "has shape 4"),
        (tensor(shape=[]), "has shape"),
        (tensor(shape=[1, 2, 2]), "has shape"),
        (tensor(shape=[-4]), "has shape"),
        (tensor(shape=[-2, -2]), "has shape"),
        (tensor(shape=[4.0]), "has shape"),
        (tensor(shape=[True]), "has shape"),
        (tensor(shape=["4"]), "has shape"),
        (tensor(shape=[None]), "has shape"),
        (tensor(shape=[5]), "needs 5"),
        (tensor(shape=[2**40]), "needs 1099511627776"),
        (tensor(shape=[2**62, 4]), "has shape"),
        (tensor(shape=[2**32, 2**32]), "needs 18446744073709551616"),
        (tensor("F64", [2**61], [0, 0]), "has shape"),
        (tensor(shape=[0, 2**63], offsets=[0, 0]), "has shape"),
        (tensor(shape=[10**4000]), "has shape"),
        (tensor(shape=[1] * 100_000), "has shape"),
        (tensor(offsets=[0]), "has data_offsets"),
        (tensor(offsets=[0, 4, 4]), "has data_offsets"),
        (tensor(offsets=[-4, 0]), "has data_offsets"),
        (tensor(offsets=[0.0, 4.0]), "has data_offsets"),
        (tensor(offsets="04"), "has data_offsets"),
        (tensor(offsets=[4, 0]), "is at bytes 4 to 0"),
        (tensor(shape=[0], offsets=[4, 4]), "starts at byte 4 .* end at 0"),
        (tensor(offsets=[1, 5]), "is at bytes 1 to 5 of the data, but there are only 4"),
        (tensor(shape=[2**63], offsets=[0, 2**63]), "has shape"),
        (tensor(shape=[2**40], offsets=[0, 2**40]), "is at bytes 0 to 1099511627776"),
        (tensor(shape=[3], offsets=[0, 3]), "end at byte 3 of the data, but there are 4"),
        (tensor(shape=[3], offsets=[1, 4]), "starts at byte 1 .* end at 0"),
        (tensor("F32", [0], [2, 2]), "starts at byte 2, which is not a multiple of 4"),
    ],
)
def test_arrays_that_are_not_what_they_say(raw: RawWriter, value: Any, message: str) -> None:
    refuse(raw(with_array(value), b"abcd"), message)


def test_an_empty_array_may_be_wide_and_takes_no_memory(raw: RawWriter) -> None:
    value = with_array(tensor("F64", [0, 2**47], [0, 0]))
    assert read_model(raw(value), verify=False).arrays["a"].shape == (0, 2**47)


@pytest.mark.parametrize(
    ("first", "second", "message"),
    [
        ((0, 4), (0, 4), "'[ab]' starts at byte 0 of the data, but those before it end at 4"),
        ((0, 3), (2, 4), "'b' starts at byte 2 of the data, but those before it end at 3"),
        ((0, 1), (2, 4), "'b' starts at byte 2 of the data, but those before it end at 1"),
        ((0, 4), (1, 3), "'b' starts at byte 1 of the data, but those before it end at 4"),
        ((0, 1), (1, 3), "end at byte 3 of the data, but there are 4"),
    ],
)
def test_arrays_that_overlap_or_leave_gaps(
    raw: RawWriter, first: tuple[int, int], second: tuple[int, int], message: str
) -> None:
    outer = {
        "__metadata__": metadata(["a", "b"]),
        "a": tensor(shape=[first[1] - first[0]], offsets=first),
        "b": tensor(shape=[second[1] - second[0]], offsets=second),
    }
    refuse(raw(outer, b"abcd"), message)


@pytest.mark.parametrize(
    ("sums", "message"),
    [
        ("no object", "must be a JSON object"),
        ([], "must be a JSON object"),
        ({}, "checksum of every array"),
        ({"header": "00000000"}, "checksum of every array"),
        ({"arrays": {}, "header": "00000000"}, "checksum of every array"),
        ({"arrays": {"a": "0", "b": "0"}, "header": "00000000"}, "checksum of every array"),
        ({"arrays": ["a"], "header": "00000000"}, "checksum of every array"),
        ({"arrays": {"a": "00000000"}}, "header does not match its checksum"),
        ({"arrays": {"a": "00000000"}, "header": "00000000"}, "header does not match"),
        ({"arrays": {"a": "00000000"}, "header": 0}, "header does not match its checksum"),
        (None, "array 'a' does not match its checksum"),
    ],
)
def test_checksums_that_are_missing_or_wrong(raw: RawWriter, sums: Any, message: str) -> None:
    outer = {"__metadata__": metadata(["a"], sums=sums), "a": tensor()}
    refuse(raw(outer, b"abcd"), message)


def test_checksums_that_are_not_there(raw: RawWriter) -> None:
    text = metadata()["labelgrove"]
    refuse(raw({"__metadata__": {"labelgrove": text}}), "checksum of every array")
    refuse(raw({"__metadata__": {"labelgrove": text, "labelgrove.crc32": 1}}), "checksum of every")


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such files")
def test_a_pipe_is_refused_without_waiting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    refuse(tmp_path / "pipe", "not a regular file")


def test_a_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelFileError, match="not a regular file"):
        read_model(tmp_path)


def test_a_missing_file_is_the_usual_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        read_model(tmp_path / "gone.lg")
