"""Models of the command line: an estimator, wrapped in a `TextClassifier` for text."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import labelgrove
from labelgrove._errors import DataError, FileFormatError, ModelFileError, ParameterError
from labelgrove._numbers import counted
from labelgrove._parameters import thread_count
from labelgrove._paths import followed
from labelgrove.cli._application import OPTIONS, trusting
from labelgrove.cli._options import (
    AS_STORED,
    Naming,
    Reading,
    hint,
    parse_settings,
    settable,
    text_features,
)
from labelgrove.cli._remote import is_address
from labelgrove.cli._trees import read_tree, with_string_labels
from labelgrove.cli.streams._source import Source
from labelgrove.data import Columns, Examples, read_vectors
from labelgrove.models import ESTIMATORS, TextClassifier
from labelgrove.models._base import LabelClassifier, check_parameters, learns_only_classes
from labelgrove.models._names import NamesLearnt
from labelgrove.text import TextFeatures
from labelgrove.vocabulary import Vocabulary

#: Estimators by the name that ``--algorithm`` expects.
ALGORITHMS = {estimator.algorithm: estimator for estimator in ESTIMATORS}

#: Parameters of the text front end, written ``text.name``.
TEXT_SETTINGS = [name for name in settable(TextFeatures) if name not in OPTIONS]

#: A classifier of texts or of feature rows.
Model = TextClassifier | LabelClassifier


def estimator_of(model: Model) -> Any:
    """Return the classifier: the model itself, or the one inside a model that reads text."""
    return model.classifier_ if isinstance(model, TextClassifier) else model


def learner_of(model: Model) -> Any:
    """Return the classifier like `estimator_of`, even if it has not learnt anything."""
    return model.classifier if isinstance(model, TextClassifier) else model


def threads_of(model: Model) -> int:
    """Return how many threads a model may use."""
    return thread_count(learner_of(model).n_jobs)


def inputs_of(model: Model, examples: Examples, path: str) -> Any:
    """Return a model's inputs from examples: texts or rows."""
    wanted, found = "numbered features", "text"
    given: Any = examples.X
    if isinstance(model, TextClassifier):
        wanted, found, given = found, wanted, examples.text
    if given is None:
        raise DataError(f"{path} holds {found}; expected {wanted}, as in the model's training data")
    return given


def targets_of(model: Model, examples: Examples, path: str) -> Any:
    """Return the labels as the model expects them: collections, or single labels if multi-class."""
    one_each = getattr(model, "target_type_", None) == "multiclass"
    if not one_each and not learns_only_classes(learner_of(model)):
        return examples.labels
    for line, labels in zip(examples.lines, examples.labels, strict=True):
        if len(labels) != 1:
            raise FileFormatError(
                path,
                int(line),
                f"found {counted(len(labels), 'label')}; expected exactly one, since the model "
                "learns mutually exclusive classes",
            )
    return [labels[0] for labels in examples.labels]


def create_model(
    algorithm: str,
    assignments: Sequence[str],
    *,
    texts: bool,
    passes: int,
    jobs: int,
    seed: int,
    trees: int | None = None,
    vocabulary: Vocabulary | None = None,
    names: NamesLearnt | None = None,
    columns: Columns | None = None,
) -> Model:
    """Create an untrained model from the options of ``labelgrove train``.

    ``algorithm`` is a key of ``ALGORITHMS``, ``assignments`` are the ``--set`` options, ``names``
    says which label names to learn as examples, and ``columns`` are those that the user named.
    """
    estimator = ALGORITHMS.get(algorithm)
    if estimator is None:
        raise ParameterError(
            f"--algorithm {algorithm}: no such algorithm{hint(algorithm, ALGORITHMS)} (expected "
            f"one of {', '.join(ALGORITHMS)}, auto)"
        )
    settings = parse_settings(assignments, settable(estimator), TEXT_SETTINGS, OPTIONS)
    tree = settings.estimator.get("tree")
    if isinstance(tree, str) and (Path(tree).suffix or Path(tree).is_file()):
        found = read_tree(tree)
        settings.estimator["tree"] = with_string_labels(found) if texts else found
    if isinstance(vectors := settings.estimator.get("vectors"), str):
        settings.estimator["vectors"] = read_vectors(vectors)
    text = text_features(settings.text, texts=texts)
    options = {"n_jobs": jobs, "random_state": seed}
    if "epochs" in settable(estimator):
        options["epochs"] = passes
    elif passes > 1:
        raise ParameterError(
            f"--passes {passes}: expected 1, since {algorithm} learns from all examples at once"
        )
    if trees is not None:
        number_of = {name: _number_of_trees(one) for name, one in ALGORITHMS.items()}
        if number_of[algorithm] is None:
            there = ", ".join(name for name, one in number_of.items() if one is not None)
            raise ParameterError(
                f"--trees {trees}: expected an algorithm that averages trees: {there}"
            )
        if number_of[algorithm] in settings.estimator:
            raise ParameterError(f"--trees {trees}: also given as --set {number_of[algorithm]}")
        options[number_of[algorithm]] = trees
    classifier = estimator(**settings.estimator, **options)
    classifier.vocabulary_ = vocabulary
    if names is not None and (vocabulary is None or not texts):
        raise ParameterError(f"--learn-names {names}: expected a --vocabulary and text examples")
    model: Model = classifier
    if texts:
        model = TextClassifier(classifier, text, vocabulary, names, columns)
    check_parameters(model)
    return model


def _number_of_trees(estimator: Any) -> Any:
    """Return the name of the parameter, or None."""
    names = ("n_trees", "n_estimators")
    return next((name for name in names if name in settable(estimator)), None)


def load_model(path: str, *, jobs: int = 1, naming: Naming = AS_STORED) -> Model:
    """Open a model file, and name its labels."""
    if path == "-":
        raise ParameterError(
            "MODEL -: expected a file; a model is mapped into memory, so standard input cannot "
            "hold one"
        )
    _refuse_service(path)
    if Path(path).is_dir():
        raise ModelFileError(f"{path}: this is a folder, not a model file")
    model: Model = labelgrove.load(path, n_jobs=jobs, trust_pattern=trusting.get())
    estimator_of(model).vocabulary_ = naming.over(model.vocabulary_, path)
    return model


def _refuse_service(path: str) -> None:
    if is_address(path):
        raise ParameterError(
            f"{path}: expected a model file; only learn and predict can use a service"
        )


def labelled(
    model: Model, data: str, reading: Reading, limit: int | None, *, to_learn: bool = False
) -> Source:
    """Open labelled examples for a model, with the columns and labels that it knows."""
    return Source(
        data,
        reading=_reading_for(model, reading),
        limit=limit,
        vocabulary=model.vocabulary_,
        numbered=isinstance(model, TextClassifier) and model.classes_.dtype.kind in "iu",
        to_learn=to_learn,
    )


def unlabelled(model: Model, data: str, reading: Reading, limit: int | None) -> Source:
    """Open examples that need no labels for a model, with the columns that it knows."""
    return Source(
        data,
        reading=_reading_for(model, reading),
        limit=limit,
        labels_required=False,
        text_expected=isinstance(model, TextClassifier),
    )


def _reading_for(model: Model, reading: Reading) -> Reading:
    if not isinstance(model, TextClassifier) or model.columns is None:
        return reading
    return replace(reading, columns=replace(reading.columns, of_model=model.columns))


def algorithm_of(model: Model) -> str:
    """Return an estimator's name for ``--algorithm``."""
    return str(estimator_of(model).algorithm)


def check_can_write(path: str) -> None:
    """Refuse an output path that cannot be written before spending hours on learning."""
    if path == "-":
        raise ParameterError(
            "found - as the output; expected a file, since this cannot go to standard output"
        )
    _refuse_service(path)
    target = followed(path)  # the file that will be replaced
    if target.exists() and not target.is_file():
        # The new file would replace the device or pipe itself.
        raise ParameterError(f"{path}: expected a regular file, since writing replaces it")
    folder = target.parent
    if not folder.is_dir():  # it was there when the command began
        raise FileNotFoundError(errno.ENOENT, "no such folder", os.fspath(folder))
    if not os.access(folder, os.W_OK) or (
        sys.platform != "win32" and not os.access(folder, os.X_OK)
    ):
        raise PermissionError(errno.EACCES, "permission denied", os.fspath(folder))
