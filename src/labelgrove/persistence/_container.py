"""Layout of a model file, byte by byte, and all checks of it.

The container is safetensors: eight bytes with the length N of the header (little-endian), N bytes
of JSON, then the bytes of the arrays without gaps. Our additions are valid in that format: our own
JSON in the container's `__metadata__`, checksums, and an order of the arrays that aligns each to
the size of its items. Nothing here touches a file. docs/format.md is the specification.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from labelgrove._errors import ModelFileError, brief
from labelgrove._strict_json import strict_json
from labelgrove.persistence._entry import CODES, DTYPES, Entry, Storable, StreamedArray, checksum

FORMAT_VERSION: Final = 2
"""The format version that this library writes, and the newest that it reads."""

ALIGNMENT: Final = 64
"""The data start at a multiple of this: a cache line and the width of AVX-512."""

MAX_HEADER_BYTES: Final = 4 * 1024 * 1024
"""Headers are parsed as a whole, so they are bounded; whatever grows with the model is an array."""

METADATA: Final = "__metadata__"
HEADER_KEY: Final = "labelgrove"
CHECKSUM_KEY: Final = "labelgrove.crc32"

# The longest side of an array, 128 TiB in bytes; no product of two sides overflows.
_MAX_SIDE = 2**47


def lay_out(arrays: Mapping[str, Storable]) -> list[Entry]:
    """Assign every array its place: widest items first, then by name.

    Widths are powers of two, so each array starts at a multiple of its item size although the
    container allows no gaps. Names that cannot be stored, and arrays that are not 1-D or 2-D of
    one of the eight types, are refused.
    """
    for name, array in arrays.items():
        _check_storable(name, array)
    entries = []
    begin = 0
    for name in sorted(arrays, key=lambda name: (-arrays[name].dtype.itemsize, name)):
        array = arrays[name]
        code = CODES[array.dtype.kind, array.dtype.itemsize]
        entries.append(Entry(name, code, array.shape, begin, begin + array.nbytes))
        begin += array.nbytes
    return entries


def encode_header(
    header: Mapping[str, Any], entries: list[Entry], sums: Mapping[str, str]
) -> bytes:
    """Return the file's first bytes: length, JSON, and padding blanks up to the data.

    ``header`` is our own part, ``entries`` are the arrays in file order, and ``sums`` holds their
    checksums by name. What is not valid JSON (NaN and infinities are not), or is longer than
    `MAX_HEADER_BYTES`, is refused.
    """
    text = dump_json(header)
    outer: dict[str, Any] = {
        METADATA: {
            HEADER_KEY: text,
            CHECKSUM_KEY: dump_json({"arrays": sums, "header": checksum(text.encode())}),
        }
    }
    for entry in entries:
        offsets = [entry.begin, entry.end]
        outer[entry.name] = {"dtype": entry.code, "shape": entry.shape, "data_offsets": offsets}
    # The keys are deliberately not sorted: readers of the container see the arrays in file order.
    body = json.dumps(outer, ensure_ascii=False, separators=(",", ":")).encode()
    body += b" " * (-(8 + len(body)) % ALIGNMENT)
    if len(body) > MAX_HEADER_BYTES:
        raise ModelFileError(
            f"the header would take {len(body)} bytes, but a model file allows "
            f"{MAX_HEADER_BYTES}: data that grow with the model belong in arrays"
        )
    return len(body).to_bytes(8, "little") + body


def decode_header(
    body: bytes, data_size: int
) -> tuple[dict[str, Any], list[Entry], dict[str, str]]:
    """Parse the header's JSON and check everything that can be checked without the data.

    Returns our own part, of a version that this library reads; the arrays, which cover the
    ``data_size`` bytes after the header exactly, without gaps or overlaps; and the checksum of
    every array. The message of a ModelFileError does not name the file, which is not known here.
    """
    outer = load_json(body, "the header")
    metadata = outer.pop(METADATA, None)
    if not isinstance(metadata, dict) or not isinstance(metadata.get(HEADER_KEY), str):
        raise ModelFileError(
            "this is a safetensors file, but not a LabelGrove model: its __metadata__ holds no "
            f'text under "{HEADER_KEY}"'
        )
    text = metadata[HEADER_KEY].encode()
    header = load_json(text, f'"{HEADER_KEY}" in __metadata__')
    check_version(header)
    entries = [_decode_entry(name, value, data_size) for name, value in outer.items()]
    entries.sort(key=lambda entry: (entry.begin, entry.end))
    _check_cover(entries, data_size)
    return header, entries, _decode_checksums(metadata.get(CHECKSUM_KEY), text, entries)


def _check_storable(name: Any, array: Any) -> None:
    if not isinstance(name, str) or not name or name == METADATA or not _is_unicode(name):
        raise ModelFileError(f"an array cannot be stored under the name {name!r}")
    if not isinstance(array, np.ndarray | StreamedArray) or array.ndim not in {1, 2}:
        what = f"{array.ndim}-D" if isinstance(array, np.ndarray) else type(array).__name__
        raise ModelFileError(f"array {name!r} is {what}: a model file holds 1-D and 2-D arrays")
    if (array.dtype.kind, array.dtype.itemsize) not in CODES:
        raise ModelFileError(
            f"array {name!r} has dtype {array.dtype}: a model file holds {', '.join(DTYPES)}"
        )


def _is_unicode(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:  # a lone surrogate
        return False
    return True


def check_version(header: Mapping[str, Any]) -> None:
    """Refuse a header without format, library or algorithm, or with an unknown format."""
    version, library = header.get("format"), header.get("library")
    if type(version) is not int or not isinstance(library, str):
        raise ModelFileError('the header must name its "format" (an integer) and its "library"')
    if not 1 <= version <= FORMAT_VERSION:
        raise ModelFileError(
            f"this file has format version {brief(version)}, written by LabelGrove "
            f"{brief(library)}, but this LabelGrove reads format versions 1 to "
            f"{FORMAT_VERSION}: open it with LabelGrove {brief(library)}"
        )
    algorithm = header.get("algorithm")
    if not isinstance(algorithm, str) or not algorithm:
        raise ModelFileError('the header must name its "algorithm"')


def _decode_entry(name: str, value: Any, data_size: int) -> Entry:
    """Parse one array's description, and check every number against the size of the data."""
    place = f"array {brief(name)}"
    if not isinstance(value, dict) or value.keys() != {"dtype", "shape", "data_offsets"}:
        raise ModelFileError(f"{place}: expected dtype, shape and data_offsets, and nothing else")
    code, shape, offsets = value["dtype"], value["shape"], value["data_offsets"]
    if not isinstance(code, str) or code not in DTYPES:
        raise ModelFileError(
            f"{place} has dtype {brief(code)}: expected one of {', '.join(DTYPES)}"
        )
    if not _is_list_of_sizes(shape) or len(shape) not in {1, 2} or max(shape) > _MAX_SIDE:
        raise ModelFileError(f"{place} has shape {brief(shape)}: expected one or two sizes")
    if not _is_list_of_sizes(offsets) or len(offsets) != 2:
        raise ModelFileError(f"{place} has data_offsets {brief(offsets)}: expected begin and end")
    begin, end = offsets
    itemsize = DTYPES[code].itemsize
    if not begin <= end <= data_size:
        raise ModelFileError(
            f"{place} is at bytes {begin} to {end} of the data, but there are only {data_size}: "
            "the file is truncated or its header is damaged"
        )
    if math.prod(shape) * itemsize != end - begin:
        raise ModelFileError(
            f"{place} has {end - begin} bytes, but its shape {brief(shape)} of {code} needs "
            f"{math.prod(shape) * itemsize}"
        )
    if begin % itemsize:
        raise ModelFileError(
            f"{place} starts at byte {begin}, which is not a multiple of {itemsize}"
        )
    return Entry(name, code, tuple(shape), begin, end)


def _is_list_of_sizes(value: Any) -> bool:
    # bool is an int in Python, but `true` is not a size.
    return isinstance(value, list) and all(type(item) is int and item >= 0 for item in value)


def _check_cover(entries: list[Entry], data_size: int) -> None:
    reached = 0
    for entry in entries:
        if entry.begin != reached:
            raise ModelFileError(
                f"array {brief(entry.name)} starts at byte {entry.begin} of the data, but those "
                f"before it end at {reached}: arrays must not overlap or leave gaps"
            )
        reached = entry.end
    if reached != data_size:
        raise ModelFileError(
            f"the arrays end at byte {reached} of the data, but there are {data_size}"
        )


def _decode_checksums(text: Any, header: bytes, entries: list[Entry]) -> dict[str, str]:
    sums = load_json(text.encode(), "the checksums") if isinstance(text, str) else {}
    arrays = sums.get("arrays")
    if not isinstance(arrays, dict) or arrays.keys() != {entry.name for entry in entries}:
        raise ModelFileError(
            f'"{CHECKSUM_KEY}" in __metadata__ must hold the checksum of every array and no other'
        )
    if sums.get("header") != checksum(header):
        raise ModelFileError("the header does not match its checksum: the file is damaged")
    return arrays


# --- JSON, without lone surrogates ---------------------------------------------------------------


def dump_json(value: Mapping[str, Any]) -> str:
    """Return a mapping as JSON, with sorted keys and no blanks, so that equal input is equal text.

    Raises ModelFileError at NaN, infinity, a NumPy scalar or a lone surrogate.
    """
    try:
        text = json.dumps(
            value, allow_nan=False, ensure_ascii=False, separators=(",", ":"), sort_keys=True
        )
        text.encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise ModelFileError(f"the header cannot be written as JSON: {error}") from error
    return text


def load_json(text: bytes, what: str) -> dict[str, Any]:
    """Parse an untrusted JSON object in UTF-8, of a length that the caller has bounded.

    Raises ModelFileError, whose message begins with ``what``, if the text is not a JSON object, is
    nested too deeply, repeats a key, or holds NaN, infinity or a lone surrogate.
    """
    try:
        value = strict_json(text.decode())
        # Escapes can spell a lone surrogate, which cannot be printed or saved again.
        json.dumps(value, ensure_ascii=False).encode()
    except (ValueError, RecursionError) as error:
        raise ModelFileError(f"{what} cannot be read as JSON: {error}") from error
    if not isinstance(value, dict):
        raise ModelFileError(f"{what} must be a JSON object, not {brief(value)}")
    return value
