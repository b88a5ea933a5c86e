"""Model files back into estimators."""

from __future__ import annotations

from collections.abc import Callable
from os import PathLike
from typing import Any

from labelgrove._errors import ModelFileError, ParameterError
from labelgrove._parameters import thread_count
from labelgrove.models._base import LabelClassifier
from labelgrove.models._embedding import EmbeddingClassifier
from labelgrove.models._fastxml import FastXMLClassifier
from labelgrove.models._ldsm import LdSMClassifier
from labelgrove.models._lom_tree import LOMTreeClassifier
from labelgrove.models._memory_tree import MemoryTreeClassifier
from labelgrove.models._names import check_names
from labelgrove.models._online_plt import OnlinePLTClassifier
from labelgrove.models._plt import PLTClassifier
from labelgrove.models._text_classifier import text_classifier
from labelgrove.models.engine._archive import columns_from, front_end_from
from labelgrove.persistence import read_model
from labelgrove.text import TextFeatures
from labelgrove.text._embeddings import GIVEN

ESTIMATORS: tuple[type[LabelClassifier], ...] = (
    OnlinePLTClassifier,
    PLTClassifier,
    LOMTreeClassifier,
    LdSMClassifier,
    FastXMLClassifier,
    EmbeddingClassifier,
    MemoryTreeClassifier,
)
"""Every estimator that model files can hold."""


def load(
    path: str | PathLike[str],
    *,
    n_jobs: int | None = 1,
    trust_pattern: bool = False,
    embeddings: Callable[[list[str]], Any] | None = None,
) -> Any:
    """Read a model that an estimator's ``save`` has written.

    The weights of a model saved for prediction stay where they are, in the mapped file: they are
    not copied, and processes that load the same file share them.

    Parameters
    ----------
    path : path
    n_jobs : int, optional
        Threads of the estimator; -1 for all processors. A file does not say how many there were
        where it was written.
    trust_pattern : bool
        Whether to take a pattern of words that is not the default, of a model that reads text by
        :class:`~labelgrove.text.HashedText`. A regular expression can take for ever to match a
        short text, so that a stranger's file could hang whoever predicts with it.
    embeddings : callable, optional
        The function by which the model embeds texts, where it has learnt with one: see
        :class:`~labelgrove.text.TextFeatures`.

    Returns
    -------
    estimator
        Of the class that was saved: a `TextClassifier` where the model reads text. It predicts,
        and unless it was saved for prediction learns on, exactly as the saved one.

    Raises
    ------
    ModelFileError
        If the file is no model, is damaged, or is of an unknown version. Nothing in a file can
        run code.
    OSError
        If the file cannot be read.
    ParameterError
        If n_jobs is not a number of threads, or the model embeds no texts by a function.
    """
    thread_count(n_jobs)
    stored = read_model(path)
    algorithm = stored.header.get("algorithm")
    estimator = next((known for known in ESTIMATORS if known.algorithm == algorithm), None)
    if estimator is None:
        raise ModelFileError(f"{path}: unknown algorithm {algorithm!r}")
    model = estimator()
    with stored.checking():
        model._restore(stored)
        text = front_end_from(stored.header, stored.arrays, trust_pattern=trust_pattern)
        names = stored.header.get("names")
        check_names(names, model.vocabulary_)
        columns = columns_from(stored.header)
    model.set_params(n_jobs=n_jobs)
    if embeddings is not None:
        if not isinstance(text, TextFeatures) or text.embeddings != GIVEN:
            raise ParameterError(f"{path}: embeddings were given, and the model needs no function")
        text.set_params(embeddings=embeddings)
    return model if text is None else text_classifier(model, text, names, columns)
