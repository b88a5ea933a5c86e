"""Models of the command line: an estimator and, for text, the front-end before it."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import labelgrove
from labelgrove._errors import DataError, ModelFileError, ParameterError
from labelgrove.cli._application import trusting
from labelgrove.cli._options import parse_settings, settable
from labelgrove.cli._trees import read_tree
from labelgrove.data import Examples
from labelgrove.models import ESTIMATORS
from labelgrove.models._base import check_parameters
from labelgrove.models._plt_options import PRESETS
from labelgrove.text import HashedText

#: What ``--algorithm`` can name.
ALGORITHMS = {estimator.algorithm: estimator for estimator in ESTIMATORS}

#: Parameters of the estimator that have an option of their own.
OPTIONS = {"n_jobs": "--jobs", "random_state": "--seed", "epochs": "--passes"}

_FRONT_END = "hashed-text"


@dataclass
class Model:
    """An estimator and what turns text into its rows.

    Parameters
    ----------
    classifier : LabelClassifier
        The estimator.
    front_end : HashedText or None
        The front-end of a model that reads text.
    """

    classifier: Any
    front_end: HashedText | None

    def rows(self, examples: Examples, path: str) -> Any:
        """Turn examples into the rows that the estimator takes.

        Parameters
        ----------
        examples : Examples
            A chunk of a file.
        path : str
            The file's name, for the message when it is of the wrong kind.
        """
        if self.front_end is None:
            if examples.X is None:
                raise DataError(
                    f"{path} holds text, but the model has learnt from numbered features; "
                    "give data in the form in which it was trained"
                )
            return examples.X
        if examples.text is None:
            raise DataError(
                f"{path} holds numbered features, but the model has learnt from text; "
                "give data in the form in which it was trained"
            )
        return self.front_end.transform(examples.text)


def create_model(
    algorithm: str,
    assignments: Sequence[str],
    *,
    reads_text: bool,
    passes: int,
    jobs: int,
    seed: int,
) -> Model:
    """Make a model that has learnt nothing yet.

    Parameters
    ----------
    algorithm : str
        A name of ``ALGORITHMS``.
    assignments : sequence of str
        The ``--set`` options.
    reads_text : bool
        Whether a text front-end is needed.
    passes, jobs, seed : int
        The options of these names.
    """
    estimator = ALGORITHMS.get(algorithm)
    if estimator is None:
        close = get_close_matches(algorithm, ALGORITHMS, n=1)
        hint = f"; did you mean {close[0]}?" if close else ""
        names = ", ".join(ALGORITHMS)
        raise ParameterError(f"--algorithm {algorithm}: no such algorithm{hint} (there is {names})")
    settings = parse_settings(assignments, settable(estimator), settable(HashedText), OPTIONS)
    tree = settings.estimator.get("tree")
    if isinstance(tree, str) and Path(tree).is_file():
        settings.estimator["tree"] = read_tree(tree)
    if settings.text and not reads_text:
        name = next(iter(settings.text))
        raise ParameterError(f"--set text.{name}: the data holds numbered features, not text")
    options = {"n_jobs": jobs, "random_state": seed}
    if "epochs" in settable(estimator):
        options["epochs"] = passes
    elif passes > 1:
        raise ParameterError(
            f"--passes {passes}: {algorithm} has no passes; it learns from all examples at once"
        )
    classifier = estimator(**settings.estimator, **options)
    check_parameters(classifier)
    return Model(
        classifier, HashedText.from_dict(settings.text, trust_pattern=True) if reads_text else None
    )


def load_model(path: str, *, jobs: int = 1) -> Model:
    """Open a model file.

    Parameters
    ----------
    path : str
        The file.
    jobs : int
        Threads to use; a file does not say.
    """
    if path == "-":
        raise ParameterError(
            "a model cannot be read from standard input: it is mapped into memory, give its file"
        )
    if Path(path).is_dir():
        raise ModelFileError(f"{path}: this is a directory, not a model file")
    classifier = labelgrove.load(path, n_jobs=jobs)
    stored = classifier.front_end_
    if stored is None:
        return Model(classifier, None)
    parameters = dict(stored)
    if parameters.pop("kind", None) != _FRONT_END:
        raise ModelFileError(f"{path}: its text front-end is of a kind unknown to this version")
    default = HashedText().token_pattern
    pattern = parameters.get("token_pattern", default)
    if pattern != default and not trusting.get():
        raise ModelFileError(
            f"{path}: it finds words by the pattern {pattern!r:.200}, and a pattern can take for "
            "ever to match; add --trust-pattern if you trust whoever made the file"
        )
    try:
        return Model(classifier, HashedText.from_dict(parameters, trust_pattern=True))
    except ParameterError as failure:
        raise ModelFileError(f"{path}: its text front-end is damaged ({failure})") from None


def algorithm_of(classifier: Any) -> str:
    """Give the name that ``--algorithm`` knows an estimator by.

    Parameters
    ----------
    classifier : LabelClassifier
        An estimator.
    """
    return str(classifier.algorithm)


def parameters_of(classifier: Any) -> dict[str, Any]:
    """List the parameters that the command line can set, with what the preset says for None.

    Parameters
    ----------
    classifier : LabelClassifier
        An estimator.
    """
    preset = PRESETS.get(getattr(classifier, "preset", ""), {})
    given: dict[str, Any] = classifier.get_params(deep=False)
    return {
        name: preset.get(name) if given[name] is None else given[name]
        for name in settable(type(classifier))
        if name in given
    }


def save_model(model: Model, path: str, *, for_prediction: bool = False) -> None:
    """Write a model file: the old content stays until the new one is complete.

    Parameters
    ----------
    model : Model
        The model.
    path : str
        The file.
    for_prediction : bool
        Leave out what only learning needs.
    """
    front_end = model.front_end
    model.classifier.front_end_ = (
        None if front_end is None else {"kind": _FRONT_END, **front_end.to_dict()}
    )
    model.classifier.save(path, for_prediction=for_prediction)


def check_can_write(path: str) -> None:
    """Refuse, before hours of learning, a place where no file can be written.

    Parameters
    ----------
    path : str
        Where a model is to be written.
    """
    if path == "-":
        raise ParameterError(
            "a model cannot be written to standard output: it is replaced as a whole file"
        )
    target = Path(path)
    if target.is_dir():
        raise ParameterError(f"{path}: this is a folder; give the name of a file in it")
    if target.exists() and not target.is_file():
        # The new file would take the place of the device or pipe itself.
        raise ParameterError(f"{path}: this is no ordinary file, and a model replaces its file")
    folder = target.parent
    if not folder.is_dir():
        raise FileNotFoundError(errno.ENOENT, "no such folder", os.fspath(folder))
    if not os.access(folder, os.W_OK) or (
        sys.platform != "win32" and not os.access(folder, os.X_OK)
    ):
        raise PermissionError(errno.EACCES, "permission denied", os.fspath(folder))
