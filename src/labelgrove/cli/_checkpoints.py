"""Checkpoints of a run of learning: after a stop, however sudden, the same command goes on."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from time import monotonic
from typing import Any, Self

import labelgrove
from labelgrove._errors import DataError
from labelgrove._unfinished import Unfinished, identity
from labelgrove._version import __version__
from labelgrove.cli._models import Model
from labelgrove.cli.streams import _numbers
from labelgrove.cli.streams._console import about_os_error, say_warning
from labelgrove.data._sniff import files_of

#: Options that leave the model as it is.
_FREE = frozenset({"output", "jobs", "json", "checkpoint"})


class Checkpoints:
    """The latest state of a run, in a hidden folder beside the model that is to be written.

    A model learns the same from the rest of its data whether it was saved meanwhile or not, so
    the state is the model, the number of examples that it has learnt, and the figures so far.

    It is a context, which one process alone can be in for the same model, with checkpoints or
    without. There are none of data that can be read only once.

    Parameters
    ----------
    output : str
        Where the model goes.
    options : mapping
        Everything that the command was given, ``data`` among it. The state belongs to the command
        with these options, and to the files that they name, as they are now.
    minutes : float
        The time between two checkpoints; 0 for none.

    Raises
    ------
    LabelGroveError
        On entering the context, if another process is writing the same model, or a file has been
        replaced since.
    """

    def __init__(self, output: str, options: Mapping[str, Any], minutes: float) -> None:
        given = {name: value for name, value in options.items() if name not in _FREE}
        target, data = Path(output).resolve(), given["data"]
        self._on = minutes > 0 and data != "-" and all(path.is_file() for path in files_of(data))
        self._files = [*(files_of(data) if self._on else []), *_files_among(given.values())]
        self._request = {"library": __version__, "options": given, "files": identity(self._files)}
        inputs = identity(path for path in self._files if path != target)
        self._repeated = json.loads(json.dumps({**self._request, "files": inputs}))
        self._in_place = target in self._files
        self._unfinished = Unfinished(target)
        self._jobs: int = options["jobs"]
        self._seconds = 60 * minutes
        self._next = monotonic() + self._seconds

    def __enter__(self) -> Self:
        self._unfinished.__enter__()
        for before, now in zip(self._request["files"], identity(self._files), strict=True):
            if now != before:
                self._unfinished.__exit__(None, None, None)
                raise DataError(f"{now[0]}: was replaced meanwhile; expected the file as it was")
        return self

    def __exit__(self, *error: Any) -> None:
        self._unfinished.__exit__(*error)

    def latest(self) -> tuple[Model, int, dict[str, Any]] | None:
        """What the latest call of `keep` was given, in this run or an earlier one.

        None where there is nothing, or nothing that can be read, as a warning then says.
        """
        if not self._on or not self._unfinished.is_of(self._request):
            return None
        path = self._latest_model()
        if path is None:
            return None
        try:
            # What the file says of texts is what this very command has asked for.
            model = labelgrove.load(path, n_jobs=self._jobs, trust_pattern=True)
            state = json.loads(path.with_suffix(".json").read_text("utf-8"))
        except (OSError, ValueError) as failure:
            why = about_os_error(failure) if isinstance(failure, OSError) else failure
            say_warning(f"learning begins anew, since its checkpoint cannot be read: {why}")
            return None
        return model, int(path.stem), state

    def are_due(self) -> bool:
        """Whether it is time for another one."""
        return self._on and monotonic() >= self._next

    def keep(self, model: Model, examples: int, state: Mapping[str, Any]) -> None:
        """Leave a state; it is there once its model is, and takes the place of the one before.

        ``examples`` are more than at the last checkpoint; ``state`` holds JSON values.
        """
        try:
            self._write(model, examples, state)
        except OSError as failure:
            learnt = _numbers.counted(examples, "example")
            say_warning(f"no checkpoint after {learnt}: {about_os_error(failure)}")
        self._next = monotonic() + self._seconds

    def finish(self, model: Model, examples: int, state: Mapping[str, Any]) -> None:
        """Note that all is learnt, before the model takes the place of the one it has come from."""
        if not self._on or not self._in_place:
            return
        finished = {
            "request": self._repeated,
            "fingerprint": model.fingerprint(),
            "examples": examples,
            "state": state,
        }
        self._unfinished.begin(self._request)
        with self._finished.open("w", encoding="utf-8") as file:
            json.dump(finished, file)
            file.flush()
            os.fsync(file.fileno())

    def finished(self, model: Model) -> tuple[int, dict[str, Any]] | None:
        """What `finish` was given by this very command, if the model is what it has written."""
        try:
            left = json.loads(self._finished.read_text("utf-8"))
        except (OSError, ValueError):
            return None
        if left["request"] != self._repeated or left["fingerprint"] != model.fingerprint():
            return None
        return left["examples"], left["state"]

    def remove(self) -> None:
        """Remove them, since the model is written."""
        self._unfinished.remove()

    @property
    def _finished(self) -> Path:
        return self._unfinished.path / "written.json"  # is removed last

    def _write(self, model: Model, examples: int, state: Mapping[str, Any]) -> None:
        self._unfinished.begin(self._request)
        path = self._unfinished.path / f"{examples}.lg"
        try:
            with path.with_suffix(".json").open("w", encoding="utf-8") as file:
                json.dump(state, file)
                file.flush()
                os.fsync(file.fileno())
            model.save(path)
        finally:  # what is not of the latest goes, be it older or half written
            kept = self._latest_model()
            for part in self._unfinished.path.glob("[0-9]*.*"):
                if kept is None or part.stem != kept.stem:
                    with suppress(OSError):  # where a file that is mapped cannot be removed
                        part.unlink()

    def _latest_model(self) -> Path | None:
        models = [path for path in self._unfinished.path.glob("*.lg") if path.stem.isdecimal()]
        return max(models, key=lambda path: int(path.stem), default=None)


def _files_among(values: Any) -> Iterator[Path]:
    """Files named by options, or by the values of ``--set``."""
    for value in values:
        for word in value if isinstance(value, list | tuple) else [value]:
            name = word.rpartition("=")[2] if isinstance(word, str) else ""
            if os.path.isfile(name):  # noqa: PTH113 - any word can be asked, however long
                yield Path(name).resolve()
