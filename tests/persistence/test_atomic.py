"""Whatever happens while saving, the file is the old model or the new one."""

from __future__ import annotations

import errno
import os
import stat
import subprocess
import textwrap
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

from labelgrove import ModelFileError
from labelgrove._unfinished import replacing
from labelgrove.persistence import StoredModel, _write, read_model, write_model
from persistence.conftest import HEADER, small_arrays

posix = pytest.mark.skipif(os.name == "nt", reason="Windows has no such files")

FSYNC = os.fsync
"""The system's own, which is replaced while tests run."""


def fail(error: BaseException) -> Callable[..., None]:
    def raise_it(*_: object, **__: object) -> None:
        raise error

    return raise_it


FAILURES = [OSError(errno.ENOSPC, "No space left on device"), OSError("odd"), KeyboardInterrupt()]


@pytest.mark.parametrize("error", FAILURES, ids=["no space", "odd", "interrupt"])
@pytest.mark.parametrize("place", ["fsync", "replace", "write"])
@pytest.mark.parametrize("existed", [True, False])
def test_a_failure_leaves_the_old_file_and_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException, place: str, existed: bool
) -> None:
    path = tmp_path / "model.lg"
    if existed:
        write_model(path, HEADER, small_arrays())
    before = path.read_bytes() if existed else None
    if place == "write":
        monkeypatch.setattr(_write, "pieces", fail(error))
    else:
        monkeypatch.setattr(os, place, fail(error))
    with pytest.raises(type(error)) as caught:
        write_model(path, HEADER, {"other": np.zeros(5)})
    if isinstance(error, OSError) and error.errno:
        assert caught.value.filename == str(path)
    assert list(tmp_path.iterdir()) == ([path] if existed else [])
    assert before is None or path.read_bytes() == before


def test_a_kill_leaves_the_old_file(model: Path, warm: Sequence[str]) -> None:
    before = model.read_bytes()
    program = """
        import os, sys
        import numpy as np
        from labelgrove.persistence import write_model
        os.replace = lambda *_: os._exit(9)
        write_model(sys.argv[1], {"algorithm": "new"}, {"a": np.zeros(1000)})
    """
    done = subprocess.run([*warm, "-c", textwrap.dedent(program), model], check=False)
    assert done.returncode == 9
    assert model.read_bytes() == before
    read_model(model)


@posix
def test_what_killed_processes_have_left_is_removed_and_nothing_else(tmp_path: Path) -> None:
    left, young = tmp_path / f".{'0' * 16}.partial", tmp_path / f".{'1' * 16}.partial"
    others = [tmp_path / ".partial", tmp_path / ".mine.partial", tmp_path / ".sub.partial"]
    for path in (left, young, *others[:2]):
        path.touch()
    others[2].mkdir()
    for path in (left, *others):
        os.utime(path, (0, 0))
    with replacing(tmp_path / "slow.txt") as file:
        os.utime(str(file.name), (0, 0))  # of a process that has written nothing for a while
        write_model(tmp_path / "model.lg", HEADER, {})
    there = {path.name for path in tmp_path.iterdir()}
    assert there == {young.name, *(one.name for one in others), "slow.txt", "model.lg"}


@posix
def test_a_fork_writes_nothing_to_a_file_that_is_being_written(tmp_path: Path) -> None:
    with replacing(tmp_path / "once.txt") as file:
        file.write(b"once")  # still in the buffer
        if (child := os.fork()) == 0:
            os._exit(0)
        os.waitpid(child, 0)
    assert (tmp_path / "once.txt").read_bytes() == b"once"


def test_what_fails_its_check_replaces_nothing(model: Path) -> None:
    before = model.read_bytes()

    def check(stored: StoredModel) -> None:
        assert stored.header["algorithm"] == HEADER["algorithm"]
        assert stored.arrays["other"].tolist() == [0.0] * 5
        raise ValueError("this cannot be")

    with pytest.raises(ModelFileError, match="could not be loaded again: this cannot be") as caught:
        write_model(model, HEADER, {"other": np.zeros(5)}, check)
    assert str(caught.value).startswith(f"{model}: ")
    assert model.read_bytes() == before
    assert list(model.parent.iterdir()) == [model]


@posix
def test_a_circle_of_links_is_an_error_of_the_system(tmp_path: Path) -> None:
    one, other = tmp_path / "one.lg", tmp_path / "other.lg"
    one.symlink_to(other)
    other.symlink_to(one)
    with pytest.raises(OSError, match="symbolic links") as caught:
        write_model(one, HEADER, small_arrays())
    assert caught.value.filename == str(one)


@posix
def test_a_folder_that_cannot_be_flushed_is_no_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def only_files(descriptor: int) -> None:
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, "Invalid argument")
        FSYNC(descriptor)

    monkeypatch.setattr(os, "fsync", only_files)
    write_model(tmp_path / "m", HEADER, {})
    assert read_model(tmp_path / "m").arrays == {}


@posix
def test_file_and_folder_are_flushed_and_the_file_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    order: list[str] = []
    real_replace = os.replace

    def sync(descriptor: int) -> None:
        is_folder = stat.S_ISDIR(os.fstat(descriptor).st_mode)
        order.append("folder" if is_folder else f"file of {os.fstat(descriptor).st_size}")
        FSYNC(descriptor)

    def replace(*paths: object) -> None:
        order.append("replace")
        real_replace(*paths)

    monkeypatch.setattr(os, "fsync", sync)
    monkeypatch.setattr(os, "replace", replace)
    write_model(tmp_path / "m", HEADER, small_arrays())
    assert order == [f"file of {(tmp_path / 'm').stat().st_size}", "replace", "folder"]


@posix
def test_a_replaced_file_stays_valid_for_those_who_mapped_it(model: Path) -> None:
    stored = read_model(model)
    write_model(model, HEADER, {"weight": np.zeros(100_000, np.float32)})
    np.testing.assert_array_equal(stored.arrays["weight"], small_arrays()["weight"])
    assert read_model(model).arrays["weight"].shape == (100_000,)


@posix
def test_a_model_can_be_saved_over_the_file_that_it_is_mapped_from(model: Path) -> None:
    before = model.read_bytes()
    stored = read_model(model)
    write_model(model, stored.header, stored.arrays)
    assert model.read_bytes() == before


@posix
def test_permissions_are_those_of_the_old_file_or_the_usual_ones(tmp_path: Path) -> None:
    path, usual = tmp_path / "model.lg", tmp_path / "usual"
    usual.touch()
    write_model(path, HEADER, {})
    assert stat.S_IMODE(path.stat().st_mode) == stat.S_IMODE(usual.stat().st_mode)
    path.chmod(0o640)
    write_model(path, HEADER, {})
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


@posix
def test_a_symbolic_link_stays_one(tmp_path: Path) -> None:
    (tmp_path / "versions").mkdir()
    target, link = tmp_path / "versions" / "1.lg", tmp_path / "current.lg"
    write_model(target, HEADER, {})
    link.symlink_to(target)
    write_model(link, HEADER, small_arrays())
    assert link.is_symlink()
    assert len(read_model(target).arrays) == len(small_arrays())


def test_a_folder_or_device_is_not_replaced(tmp_path: Path) -> None:
    with pytest.raises(ModelFileError, match="regular file"):
        write_model(tmp_path, HEADER, {})
    if os.name == "posix":
        with pytest.raises(ModelFileError, match="regular file"):
            write_model(os.devnull, HEADER, {})


def test_a_missing_folder_is_named_as_the_user_named_it(tmp_path: Path) -> None:
    path = tmp_path / "nowhere" / "model.lg"
    with pytest.raises(FileNotFoundError) as caught:
        write_model(path, HEADER, {})
    assert caught.value.filename == str(path)
