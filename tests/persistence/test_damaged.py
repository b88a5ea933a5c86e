"""A damaged file (truncated, flipped, spliced) is refused, or reads as before."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from labelgrove import ModelFileError
from labelgrove.persistence import FORMAT_VERSION, read_model, write_model
from persistence.conftest import HEADER, small_arrays


def refused(path: Path) -> bool:
    """Whether the file is refused with a good message; if not, it reads as the small model."""
    try:
        stored = read_model(path)
        arrays = dict(stored.arrays)
    except ModelFileError as error:
        message = str(error)
        assert message.startswith(f"{path}: ")
        assert message.count(str(path)) == 1
        assert "\n" not in message
        assert len(message) < 600
        return True
    assert stored.header == {"format": FORMAT_VERSION, **HEADER}
    expected = small_arrays()
    assert arrays.keys() == expected.keys()
    for name, array in arrays.items():
        assert array.dtype == expected[name].dtype
        assert array.shape == expected[name].shape
        assert array.tobytes() == expected[name].tobytes()
    return False


@pytest.fixture(scope="module")
def content(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("damaged") / "model.lg"
    write_model(path, HEADER, small_arrays())
    return path.read_bytes()


def test_a_file_cut_short_anywhere_is_refused(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "model.lg"
    path.write_bytes(content)
    with path.open("r+b") as file:
        for size in reversed(range(len(content))):
            file.truncate(size)
            assert refused(path), size


def test_a_longer_file_is_refused(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "model.lg"
    for tail in (b"\0", b" " * 64, content):
        path.write_bytes(content + tail)
        assert refused(path)


def test_any_flipped_bit_is_noticed(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "model.lg"
    path.write_bytes(content)
    with path.open("r+b", buffering=0) as file:
        for position, byte in enumerate(content):
            for bit in range(8):
                file.seek(position)
                file.write(bytes([byte ^ (1 << bit)]))
                assert refused(path), (position, bit)
            file.seek(position)
            file.write(bytes([byte]))
    assert not refused(path)


EDITS = st.lists(
    st.tuples(st.integers(0, 4000), st.integers(0, 40), st.binary(max_size=40)),
    min_size=1,
    max_size=4,
)


@given(edits=EDITS)
@example(edits=[(0, 8, b"\xff" * 8)])
@example(edits=[(0, 8, (2**63).to_bytes(8, "little"))])
def test_any_edit_is_refused_or_harmless(
    content: bytes, tmp_path_factory: pytest.TempPathFactory, edits: list[tuple[int, int, bytes]]
) -> None:
    damaged = content
    for position, removed, inserted in edits:
        damaged = damaged[:position] + inserted + damaged[position + removed :]
    path = tmp_path_factory.getbasetemp() / "edited.lg"
    path.write_bytes(damaged)
    assert refused(path) or damaged == content


@given(st.binary(max_size=200))
def test_any_bytes_are_refused(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    path = tmp_path_factory.getbasetemp() / "bytes.lg"
    path.write_bytes(data)
    assert refused(path)


def test_arrays_are_compared_when_they_are_asked_for(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "model.lg"
    damaged = bytearray(content)
    damaged[-1] ^= 1  # the only array of bytes is last
    path.write_bytes(damaged)
    stored = read_model(path)
    assert "blob" in stored.arrays
    stored.take("sum", "f8", (2, 1))
    for _ in range(2):
        with pytest.raises(ModelFileError, match="'blob' does not match its checksum"):
            stored.take("blob", "u1")
    assert read_model(path, verify=False).take("blob", "u1").size
