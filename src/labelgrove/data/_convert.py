"""Conversion of files of any format into one data set on disk, in parallel and resumable."""

from __future__ import annotations

import hashlib
import json
import multiprocessing
import os
import shutil
import signal
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from labelgrove._errors import FileFormatError, ParameterError
from labelgrove._interrupts import held_back
from labelgrove._parameters import thread_count
from labelgrove._paths import followed
from labelgrove._unfinished import Unfinished, identity
from labelgrove._version import __version__
from labelgrove._workers import broken_pools_explained
from labelgrove.data._columns import Columns
from labelgrove.data._mapped import Dataset, Writer, has_header, is_mapped, open_dataset, strays
from labelgrove.data._reader import ExampleReader, open_examples
from labelgrove.data._sniff import files_of

_ROWS = 65_536
_TOLD_EVERY = 0.2  # seconds

Shares = Any
"""Array shared by processes: the share of each file read, from 0 to 1, and last a stop flag."""

_shares: Shares = None


def convert(
    inputs: Sequence[str | os.PathLike[str]] | str | os.PathLike[str],
    output: str | os.PathLike[str],
    *,
    format: str | None = None,
    columns: Columns | None = None,
    n_jobs: int | None = 1,
    progress: Callable[[float], None] | None = None,
) -> Dataset:
    """Convert files into one data set on disk, which `open_dataset` maps into memory.

    Its rows are those of the files, in the given order. Memory holds one chunk of rows and the
    names of labels. The data set appears only when it is complete. After an interruption, however
    sudden, the same call resumes: finished files are not read again, provided that their size and
    modification time are unchanged. The resulting bytes are always the same, for any number of
    processes.

    Parameters
    ----------
    inputs : str or os.PathLike, or a sequence of these
        Files of any format that `open_examples` reads, all with features or all with text, and all
        with labels of the same type.
    output : str or os.PathLike
        The folder to create. An existing data set is replaced; anything else is refused. Until the
        end, a hidden folder next to it holds the intermediate files, of about the same size.
    format, columns
        As in `open_examples`.
    n_jobs : int, optional
        Number of processes; -1 for all processors. Each file is read by one process. A script must
        call this behind ``if __name__ == "__main__":`` if there are several, since every process
        imports it.
    progress : callable, optional
        Called from time to time with the share of the files read so far, from 0 to 1.

    Returns
    -------
    Dataset

    Raises
    ------
    OSError
        If a file cannot be read or written.
    LabelGroveError
        If another process is converting into the same folder, or one of several processes is
        killed.
    FileFormatError
        At the first malformed row of a file, or if two files are incompatible, or if one changes
        before it has been read.
    ParameterError
        If a parameter is out of its domain, or an input is a pipe or a device.

    Examples
    --------
    See `open_dataset`.
    """
    paths = [inputs] if isinstance(inputs, str | bytes | os.PathLike) else inputs
    for path in paths:
        if not isinstance(path, str | bytes | os.PathLike):
            raise ParameterError(f"inputs: found a {type(path).__name__}; expected names of files")
    names, target = [os.fsdecode(path) for path in paths], followed(os.fsdecode(output))
    if not names:
        raise ParameterError("inputs: expected files, at least one")
    if "-" in names:
        raise ParameterError("standard input cannot be converted; expected files")
    files = {name: files_of(name, format) for name in names}
    _check_readable_twice(files)
    _check_replaceable(target, files)
    digests = [_digest(name, files[name]) for name in names]
    kinds = _checked_kinds(names, format, columns)
    request = {
        "library": __version__,
        "format": format,
        "columns": asdict(columns or Columns()),
    }
    with Unfinished(target) as unfinished:
        work = unfinished.path
        if (work / "replaced").exists() and not target.exists():
            (work / "replaced").rename(target)  # an earlier call was killed between two renames
        unfinished.begin(request)
        parts = [work / digest for digest in digests]
        for path in set(work.iterdir()) - set(parts):  # of files that have changed
            if path.is_dir():
                shutil.rmtree(path)
        _convert_parts(
            [
                (place, name, part, format, columns)
                for place, (part, name) in enumerate(dict(zip(parts, names, strict=True)).items())
            ],
            files,
            thread_count(n_jobs),
            progress,
        )
        whole = parts[0] if len(parts) == 1 else _joined(parts, work / "whole", kinds)
        _check_replaceable(target, files)  # again, as hours may have passed
        with held_back():  # between the renames there is no data set
            if target.exists():
                target.rename(work / "replaced")
            whole.rename(target)
            unfinished.remove()
    return open_dataset(target, verify=False)


def _digest(name: str, files: Sequence[Path]) -> str:
    """Return a name for the part with the rows of these files, as they are now."""
    named = (str(Path(name).absolute()), identity(files))  # the name may tell the format
    return hashlib.sha256(json.dumps(named).encode()).hexdigest()[:16]


def _check_readable_twice(files: Mapping[str, Sequence[Path]]) -> None:
    """Refuse pipes and the like: what is read to check the input would be missing afterwards."""
    for name, paths in files.items():
        for path in (Path(name), *paths):
            if path.exists() and not (path.is_file() or path.is_dir()):
                raise ParameterError(f"{path}: is a pipe or a device; expected a file or a folder")


def _check_replaceable(target: Path, files: Mapping[str, Sequence[Path]]) -> None:
    """Refuse an output that is anything but a data set, or that an input lies in."""
    if not target.exists():
        return
    if not has_header(str(target)):
        raise ParameterError(f"output {target}: exists and is not a data set; expected a new name")
    for name, paths in files.items():
        if any(path.is_relative_to(target) for path in paths):
            raise ParameterError(f"{name}: lies in the output {target}; expected a new name")
    if others := strays(str(target)):
        raise ParameterError(
            f"output {target}: also holds {others[0]}; expected only the data set, or a new name"
        )


def _checked_kinds(
    names: Sequence[str], format: str | None, columns: Columns | None
) -> dict[str, bool]:
    """Open every file once, to find errors before spending hours on the first file."""
    first, may_be_names = None, False
    for name in names:
        with open_examples(name, format, columns=columns) as reader:
            found, may_be_names = _kinds_in(reader), may_be_names or reader.labels_may_be_names
        first = found if first is None else first
        if found != first:
            raise FileFormatError(
                name,
                None,
                f"holds {_described(**found)}; expected {_described(**first)}, as in {names[0]}",
            )
    assert first is not None
    return {**first, "labels_may_be_names": may_be_names}


def _kinds_in(reader: ExampleReader) -> dict[str, bool]:
    return {"is_text": reader.is_text, "labels_are_int": reader.labels_are_int}


def _described(*, is_text: bool, labels_are_int: bool) -> str:
    kinds = "integers" if labels_are_int else "strings"
    return f"{'texts' if is_text else 'features'} and labels that are {kinds}"


Part = tuple[int, str, Path, str | None, Columns | None]


def _convert_parts(
    parts: list[Part],
    files: Mapping[str, Sequence[Path]],
    jobs: int,
    progress: Callable[[float], None] | None,
) -> None:
    done = [is_mapped(str(folder)) for _, _, folder, *_ in parts]
    left = [part for part, is_done in zip(parts, done, strict=True) if not is_done]
    workers = min(jobs, len(left))
    context = multiprocessing.get_context("spawn")
    # Shared memory only where it is needed: some containers have none.
    shares: Shares = [*map(float, done), 0.0]
    if workers > 1:
        shares = context.Array("d", shares, lock=False)
    sizes = [1 + sum(path.stat().st_size for path in files[name]) for _, name, *_ in parts]

    def tell() -> None:
        if progress is not None:
            read = sum(size * share for size, share in zip(sizes, shares[:-1], strict=True))
            progress(read / sum(sizes))

    if workers <= 1:
        for part in left:
            _convert_part(part, shares, tell)
        tell()
        return
    with (
        broken_pools_explained(", which resumes where it stopped"),
        ProcessPoolExecutor(
            workers, mp_context=context, initializer=_begin, initargs=(shares,)
        ) as pool,
    ):
        with _interrupts_held():  # each submit starts a process
            waiting = [pool.submit(_convert_part, part) for part in left]
        try:
            while wait(waiting, _TOLD_EVERY).not_done:
                tell()
                _first_failure(waiting)
            _first_failure(waiting)
        except BaseException:
            shares[-1] = 1.0
            pool.shutdown(cancel_futures=True)
            raise
    tell()


@contextmanager
def _interrupts_held() -> Iterator[None]:
    """Block SIGINT. Processes started meanwhile inherit that and never receive it."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _first_failure(waiting: Sequence[Any]) -> None:
    """Raise the error of the first file that failed, once all files before it are done."""
    for future in waiting:
        if not future.done():
            return
        future.result()


def _begin(shares: Shares) -> None:
    global _shares  # noqa: PLW0603 - a pool's process has no other place for it
    _shares = shares
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent handles it and sets the stop flag
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """Exit when the parent is killed; otherwise the processes of a pool would wait for ever."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


def _convert_part(
    part: Part, shares: Shares = None, tell: Callable[[], None] = lambda: None
) -> None:
    place, name, folder, format, columns = part
    shares = _shares if shares is None else shares
    # A process may briefly outlive the call that started it, so each works in its own folder: a
    # hidden one, which the next call clears away if this process is killed.
    own = folder.with_name(f".{folder.name}.{os.getpid()}")
    shutil.rmtree(own, ignore_errors=True)
    with (
        _removed_on_failure(own),
        open_examples(name, format, columns=columns, chunk_size=_ROWS) as reader,
        Writer(own, **_kinds_in(reader), labels_may_be_names=reader.labels_may_be_names) as writer,
    ):
        for chunk in reader:
            writer.labels(chunk.labels)
            if chunk.X is not None:
                X = chunk.X
                writer.features(np.diff(X.indptr), X.indices, X.data, X.shape[1])
            else:
                writer.texts(chunk.text or ())
            shares[place] = reader.share_read or 0.0
            tell()
            if shares[-1]:
                raise KeyboardInterrupt
        if _digest(name, files_of(name, format)) != folder.name:
            raise FileFormatError(
                name, None, "changed after the call began; expected it to stay the same"
            )
    own.rename(folder)
    shares[place] = 1.0


@contextmanager
def _removed_on_failure(folder: Path) -> Iterator[None]:
    """Create a folder; half of a data set would only fill the disk. A kill leaves it, though."""
    folder.mkdir()
    try:
        yield
    except (Exception, KeyboardInterrupt):
        shutil.rmtree(folder, ignore_errors=True)
        raise


def _joined(parts: list[Path], folder: Path, kinds: dict[str, bool]) -> Path:
    """Concatenate data sets; labels get their ids in order of arrival."""
    with _removed_on_failure(folder), Writer(folder, **kinds) as writer:
        for part in parts:  # only one is mapped at a time, as each has several open files
            _append(writer, open_dataset(part, verify=False))
    return folder


def _append(writer: Writer, dataset: Dataset) -> None:
    labels = dataset.labels
    known = None if labels.names is None else writer.ids_of(labels.names.tolist())
    for start in range(0, len(dataset), _ROWS):
        rows = labels[start : start + _ROWS]
        writer.label_ids(np.diff(rows.indptr), rows.ids if known is None else known[rows.ids])
        if dataset.X is None:
            writer.texts((dataset.text or [])[start : start + _ROWS])
        else:
            ends = dataset.X.indptr[start : start + _ROWS + 1]
            at = slice(ends[0], ends[-1])
            X = dataset.X
            writer.features(np.diff(ends), X.indices[at], X.data[at], X.shape[1])
