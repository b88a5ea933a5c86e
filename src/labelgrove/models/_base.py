"""What estimators over label trees share beside prediction: labels, attributes, saving."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from os import PathLike
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import Tags

from labelgrove import _core
from labelgrove._errors import DataError
from labelgrove._parameters import thread_count
from labelgrove.models._tunable import Tunable
from labelgrove.models.engine._archive import learned_from_state, model_state, save_model
from labelgrove.models.engine._compacting import Compacting
from labelgrove.models.engine._learned import KINDS, Learned, Options, as_collection
from labelgrove.models.engine._results import tree_snapshot
from labelgrove.models.explanations._explain import FeatureNaming, explain
from labelgrove.models.explanations._explanation import Explanation
from labelgrove.models.explanations._paths import LabelPaths, follow
from labelgrove.trees import LabelTree


class LabelClassifier(Tunable, ClassifierMixin, BaseEstimator):
    """Base of the estimators; what was learnt is in ``_learned``, None before the first example.

    Each has the name of its ``algorithm`` in model files and on the command line, the compiled
    ``_engine``, the class of its ``_options``, and the ``_kinds`` of targets that it can learn.
    """

    algorithm: ClassVar[str]
    _engine: ClassVar[Any]
    _options: ClassVar[type[Options]]
    _kinds: ClassVar[tuple[str, ...]] = KINDS
    _compact_engine: ClassVar[Any] = None
    front_end_: dict[str, Any] | None

    # --- labels --------------------------------------------------------------------------------

    def remove_labels(self, labels: Iterable[Any]) -> Self:
        """Never predict these labels again; their places are free for new ones.

        A label that is learnt again later counts as new. With ``policy="cpet"`` places are not
        taken again: there the tree grows as labels come and go.

        Parameters
        ----------
        labels : collection of labels

        Returns
        -------
        self

        Raises
        ------
        DataError
            If a label is not known; then none is removed.
        """
        self._require_learned()
        names = as_collection(labels, "labels")
        with self._guard.changing():
            self._remove(self._require_learned(), names)
        return self

    @staticmethod
    def _remove(learned: Learned, names: list[Any]) -> None:
        ids = learned.labels.ids_of(names)
        if (ids < 0).any():
            raise DataError(f"label {names[int(np.argmin(ids))]!r} is not known; none is removed")
        ids = np.unique(ids)
        known = np.isin(ids, learned.engine.labels())
        learned.engine.remove_labels(ids[known].view(np.uint32))
        learned.labels.retire(ids)

    def rename_labels(self, names: Mapping[Any, Any]) -> Self:
        """Give labels other names; what was learnt about them stays.

        Parameters
        ----------
        names : mapping from old to new name
            Names may be exchanged. For indicator targets, columns that there are.

        Returns
        -------
        self

        Raises
        ------
        DataError
            If an old name is not known or two labels would share a name; then none is renamed.
        """
        self._require_learned()
        if not isinstance(names, Mapping):
            raise DataError(f"names={names!r}: expected a mapping from old to new names")
        with self._guard.changing():
            learned = self._require_learned()
            if learned.kind == "indicator":
                _require_columns(list(names.values()), learned.n_columns)
            learned.labels.rename(names)
        return self

    # --- explanations --------------------------------------------------------------------------

    def explain(
        self,
        X: Any,
        label: Any = None,
        *,
        k: int = 5,
        threshold: Any = None,
        top: int = 8,
        feature_names: FeatureNaming | None = None,
    ) -> Explanation:
        """Say why labels are predicted for an example, or why a given label is not.

        Every step through the tree is a sum of one number a feature, and nothing here is an
        approximation. In a label tree the product of the probabilities along a label's path is
        its probability (Jasinska-Kobus et al. 2021, Eq. 2); of several trees the first one is
        shown. A LOMtree predicts what it has seen end where the example ends: the path is the way
        of the example, with the share of the label's examples that went it. LdSM averages the
        label's shares in the leaves that the example reaches: they are named, with the way to
        the leaf of the largest. Where LOMtree goes by several leaves, or LdSM also by the nearness
        of centroids (``tail_weight``), the probability holds these too.

        Parameters
        ----------
        X : one row
            As for :meth:`predict_topk`: of shape (1, d) or (d,), or a dict.
        label : label, optional
            Explain this label, predicted or not; by default all that are predicted.
        k : int
            Predicted are the k best labels,
        threshold : float or array-like of shape (n_classes,), optional
            or, if given, all labels with at least this probability, or their own one.
        top : int
            How many features to list at every step; the others are summed up.
        feature_names : mapping of int to str, or sequence of str, optional
            Names of columns, such as a vectoriser's vocabulary, or what
            :meth:`HashedText.words <labelgrove.text.HashedText.words>` gives for the text.
            Features of dicts have their names already.

        Returns
        -------
        Explanation
            ``str()`` of it is readable text.

        Raises
        ------
        NotLearnedError
            Before the first example.
        DataError, ParameterError
            If X is not one row, the label is not known, or another parameter cannot be used.

        Examples
        --------
        >>> from labelgrove import OnlinePLTClassifier
        >>> clf = OnlinePLTClassifier()
        >>> _ = clf.partial_fit([{"bark": 1}, {"purr": 1}] * 5, ["dog", "cat"] * 5)
        >>> [dog] = clf.explain({"bark": 1}, "dog").labels
        >>> dog.predicted, dog.path[-1].contributions[0].feature
        (True, 'bark')
        """
        with self._guard.reading():
            return explain(
                self._require_learned(),
                X,
                label,
                k=k,
                threshold=threshold,
                top=top,
                feature_names=feature_names,
            )

    # --- attributes ----------------------------------------------------------------------------

    @property
    def classes_(self) -> npt.NDArray[Any]:
        """Labels that can be predicted, sorted, or columns of the indicator."""
        with self._reading("classes_") as learned:
            return learned.classes()

    @property
    def label_counts_(self) -> npt.NDArray[np.int64]:
        """In how many examples each class was seen; shape (n_classes,)."""
        with self._reading("label_counts_") as learned:
            return learned.label_counts()

    @property
    def n_classes_(self) -> int:
        """Number of classes."""
        with self._reading("n_classes_") as learned:
            return learned.columns()[1]

    @property
    def n_features_in_(self) -> int:
        """Columns of X seen so far."""
        with self._reading("n_features_in_") as learned:
            return learned.n_features

    @property
    def target_type_(self) -> str:
        """``"multiclass"`` or ``"multilabel"``."""
        with self._reading("target_type_") as learned:
            return "multiclass" if learned.kind == "multiclass" else "multilabel"

    @property
    def examples_seen_(self) -> int:
        """Examples learnt from, every pass counted."""
        with self._reading("examples_seen_") as learned:
            return int(learned.engine.examples_seen)

    def size(self) -> dict[str, int]:
        """Weights held, and bytes of the model and of the remembered examples.

        Returns
        -------
        dict
            ``weights``, ``model_bytes``, ``memory_bytes``.
        """
        with self._guard.reading():
            size: dict[str, int] = {"memory_bytes": 0, **self._require_learned().engine.size()}
        return size

    @contextmanager
    def _reading(self, attribute: str) -> Iterator[Learned]:
        if self._learned is None:
            raise AttributeError(f"{attribute} is there once the model has learnt from an example")
        with self._guard.reading():
            yield self._learned

    def __sklearn_is_fitted__(self) -> bool:
        return self._learned is not None

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.dict = True
        tags.classifier_tags.multi_label = True
        return tags

    # --- persistence ---------------------------------------------------------------------------

    def save(self, path: str | PathLike[str], *, for_prediction: bool = False) -> None:
        """Write the model to one file, atomically; ``labelgrove.load`` reads it.

        A tree given as a parameter is not kept: the tree as it stands is.

        Parameters
        ----------
        path : path
        for_prediction : bool
            Leave out what only learning needs (optimiser state, auxiliary classifiers,
            remembered examples): the file is about half as large and cannot learn on.

        Raises
        ------
        NotLearnedError
            Before the first example.
        OSError
            If the file cannot be written; a file that was there before stays as it was.
        """
        self._require_learned()
        with self._guard.reading():
            save_model(self, path, for_prediction=for_prediction)

    def __getstate__(self) -> dict[str, Any]:
        with self._guard.reading():
            state = dict(super().__getstate__())
            del state["_own_guard"]
            if self._learned is not None:
                state["_learned"] = model_state(self, for_prediction=False)
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if self._learned is not None:
            self._learned = learned_from_state(type(self), *state["_learned"])


class LabelTreeClassifier(Compacting, LabelClassifier):
    """Base of the estimators whose engine searches a tree with one leaf a label."""

    _compact_engine = _core.CompactPlt

    @property
    def tree_(self) -> LabelTree:
        """The tree as it stands, without the leaves of labels that were removed."""
        with self._reading("tree_") as learned:
            return tree_snapshot(learned.engine.tree(), learned.labels.names)

    def label_paths(self, X: Any, labels: Sequence[Collection[Any]]) -> LabelPaths:
        """Follow given labels of many rows through the tree.

        Parameters
        ----------
        X
            As for :meth:`predict_topk`.
        labels : sequence of n collections of labels
            Whose paths, for every row; labels that the model does not know have empty ones.

        Returns
        -------
        LabelPaths

        Raises
        ------
        NotLearnedError
            Before the first example.
        DataError
            If X cannot be used or there are not as many collections as rows.

        Examples
        --------
        >>> from labelgrove import OnlinePLTClassifier
        >>> clf = OnlinePLTClassifier().fit([[1, 0], [0, 1]] * 9, ["ebb", "flow"] * 9)
        >>> paths = clf.label_paths([[1, 0], [0, 1]], [["ebb"], ["flow", "flood"]])
        >>> paths.indptr.tolist(), paths.nodes[[0, 2]].tolist()
        ([0, 2, 4, 4], [0, 0])
        """
        with self._guard.reading():
            learned = self._require_learned()
            rows = learned.check_rows(X)
            if len(labels) != rows.n_rows:
                raise DataError(f"labels has {len(labels)} rows: expected {rows.n_rows}, as X has")
            return follow(learned, rows, labels, thread_count(self.n_jobs))


def _require_columns(names: list[Any], n_columns: int) -> None:
    for name in names:
        if not isinstance(name, (int, np.integer)) or not 0 <= name < n_columns:
            raise DataError(f"new name {name!r}: expected a column from 0 to {n_columns - 1}")
