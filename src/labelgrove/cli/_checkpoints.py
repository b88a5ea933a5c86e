"""Checkpoints of a learning run: after a crash or a kill, the same command resumes."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from time import monotonic
from typing import Any, Self

import labelgrove
from labelgrove import _numbers
from labelgrove._errors import DataError
from labelgrove._paths import followed
from labelgrove._unfinished import Unfinished, identity
from labelgrove._version import __version__
from labelgrove.cli._models import Model
from labelgrove.cli.streams._console import about_os_error, say_warning
from labelgrove.data._sniff import files_of

#: Options that do not affect the model.
_FREE = frozenset({"output", "jobs", "json", "checkpoint"})


class Checkpoints:
    """The latest state of a run, in a hidden folder next to the model file to be written.

    Saving and loading a model does not change what it learns afterwards, so the state consists of
    the model, the number of examples it has learnt, and the figures so far. It is valid only for
    a command with the same options, as long as the files that they name do not change. There are
    no checkpoints of data that can be read only once, or if the ``minutes`` between them are 0.

    Used as a context manager, even without checkpoints. Entering raises a LabelGroveError if
    another process is writing the same model, or if an input file has been replaced meanwhile.
    """

    def __init__(self, output: str, options: Mapping[str, Any], minutes: float) -> None:
        given = {name: value for name, value in options.items() if name not in _FREE}
        target, data = followed(output), given["data"]
        files = [] if data == "-" else files_of(data, given.get("format"))
        self._on = minutes > 0 and data != "-" and all(file.is_file() for file in files)
        self._files = [*(files if self._on else []), *_files_among(given.values())]
        self._request = {"library": __version__, "options": given, "files": identity(self._files)}
        inputs = identity(path for path in self._files if path != target)
        self._repeated = json.loads(json.dumps({**self._request, "files": inputs}))
        self._in_place = target in self._files
        self._unfinished = Unfinished(Path(output))
        self._jobs: int = options["jobs"]
        self._written = False
        self._seconds = 60 * minutes
        self._next = monotonic() + self._seconds

    def __enter__(self) -> Self:
        self._unfinished.__enter__()
        for before, now in zip(self._request["files"], identity(self._files), strict=True):
            if now != before:
                self._unfinished.__exit__(None, None, None)
                raise DataError(
                    f"{now[0]}: this file was replaced after the command started; expected it to "
                    "stay the same"
                )
        return self

    def __exit__(self, *error: Any) -> None:
        if self._written:  # so the error, if any, has nothing to do with the model
            self._unfinished.remove()
        else:
            self._unfinished.__exit__(*error)

    def latest(self) -> tuple[Model, int, dict[str, Any]] | None:
        """Return the latest checkpoint of this run or an earlier one: model, examples, state.

        None if there is none, or if it cannot be read, which is reported as a warning.
        """
        if not self._on or not self._unfinished.is_of(self._request):
            return None
        path = self._latest_model()
        if path is None:
            return None
        try:
            # This same command has set the file's token pattern, so the pattern can be trusted.
            model = labelgrove.load(path, n_jobs=self._jobs, trust_pattern=True)
            state = json.loads(path.with_suffix(".json").read_text("utf-8"))
        except (OSError, ValueError) as failure:
            why = about_os_error(failure) if isinstance(failure, OSError) else failure
            say_warning(f"starting over, since the checkpoint cannot be read: {why}")
            return None
        return model, int(path.stem), state

    def are_due(self) -> bool:
        """Whether the next checkpoint is due."""
        return self._on and monotonic() >= self._next

    def keep(self, model: Model, examples: int, state: Mapping[str, Any]) -> None:
        """Write a checkpoint. It becomes valid with its model file, then replaces the previous one.

        ``examples`` must exceed the last checkpoint's; ``state`` holds JSON values.
        """
        try:
            self._write(model, examples, state)
        except OSError as failure:
            learnt = _numbers.counted(examples, "example")
            say_warning(f"cannot write a checkpoint after {learnt}: {about_os_error(failure)}")
        self._next = monotonic() + self._seconds

    def finish(self, model: Model, examples: int, state: Mapping[str, Any]) -> None:
        """Record that learning is complete, before the new model replaces the one it began with."""
        if not self._on or not self._in_place:
            return
        finished = {
            "request": self._repeated,
            "fingerprint": model.fingerprint(),
            "examples": examples,
            "state": state,
        }
        self._unfinished.begin(self._request)
        _write_json(self._finished, finished)

    def finished(self, model: Model) -> tuple[int, dict[str, Any]] | None:
        """Return what this same command recorded with `finish`, if it then wrote this model."""
        try:
            left = json.loads(self._finished.read_text("utf-8"))
        except (OSError, ValueError):
            return None
        if left["request"] != self._repeated or left["fingerprint"] != model.fingerprint():
            return None
        return left["examples"], left["state"]

    def model_is_written(self) -> None:
        """Remove the checkpoints at the end of the context, when the user knows that it is."""
        self._written = True

    @property
    def _finished(self) -> Path:
        return self._unfinished.path / "written.json"  # removed last

    def _write(self, model: Model, examples: int, state: Mapping[str, Any]) -> None:
        self._unfinished.begin(self._request)
        path = self._unfinished.path / f"{examples}.lg"
        try:
            _write_json(path.with_suffix(".json"), state)
            model.save(path)
        finally:  # remove everything but the latest checkpoint: older ones and half-written files
            kept = self._latest_model()
            for part in self._unfinished.path.glob("[0-9]*.*"):
                if kept is None or part.stem != kept.stem:
                    with suppress(OSError):  # some systems cannot remove a mapped file
                        part.unlink()

    def _latest_model(self) -> Path | None:
        models = [path for path in self._unfinished.path.glob("*.lg") if path.stem.isdecimal()]
        return max(models, key=lambda path: int(path.stem), default=None)


def _write_json(path: Path, value: Mapping[str, Any]) -> None:
    with path.open("w", encoding="utf-8") as file:
        json.dump(value, file)
        file.flush()
        os.fsync(file.fileno())


def _files_among(values: Any) -> Iterator[Path]:
    """Yield the files named by options or by values of ``--set``."""
    for value in values:
        for word in value if isinstance(value, list | tuple) else [value]:
            names = (word, word.partition("=")[2]) if isinstance(word, str) else ()
            for name in names:
                if os.path.isfile(name):  # noqa: PTH113 - Path.is_file raises on long words
                    yield followed(name)
