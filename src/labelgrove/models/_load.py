"""Loading estimators from model files."""

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
    """Load a model that an estimator's ``save`` has written.

    The weights of a model saved for prediction are not copied but read from the mapped file, which
    processes that load the same file share. Loading a file never runs code from it.

    Parameters
    ----------
    path : path
    n_jobs : int, optional
        Number of threads of the estimator; -1 for all processors. It is not stored in the file.
    trust_pattern : bool
        Whether to accept a token pattern other than the default, in a model with
        :class:`~labelgrove.text.HashedText`. A regular expression can take exponential time on a
        short text, so an untrusted file could make prediction hang.
    embeddings : callable, optional
        The function that embeds texts, if the model was trained with one: see
        :class:`~labelgrove.text.TextFeatures`.

    Returns
    -------
    estimator
        An estimator of the saved class, or a `TextClassifier` if the model reads text. It makes
        the same predictions as the saved model and, unless saved for prediction, continues to
        learn in the same way.

    Raises
    ------
    ModelFileError
        If the file is not a model, is damaged, or has an unknown version.
    OSError
        If the file cannot be read.
    ParameterError
        If n_jobs is not a number of threads, or ``embeddings`` is given and the model does not
        need it.
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
            raise ParameterError(
                f"{path}: embeddings: this model does not embed texts by a function; expected None"
            )
        text.embed_with(embeddings)
    return model if text is None else text_classifier(model, text, names, columns)
