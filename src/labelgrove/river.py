"""Label trees as river classifiers: one example at a time; labels and features may be new."""

from __future__ import annotations

import math
from collections import ChainMap, Counter
from collections.abc import Hashable, Iterable, Mapping
from itertools import count
from operator import itemgetter
from typing import Any

from sklearn.base import clone

from labelgrove._errors import (
    DataError,
    LearningInterrupted,
    MissingDependencyError,
    ParameterError,
)
from labelgrove._names import is_missing
from labelgrove.models import OnlinePLTClassifier
from labelgrove.models._base import learns_only_classes
from labelgrove.models._online import OnlineClassifier

try:
    from river import base
except ImportError as error:
    raise MissingDependencyError(
        'labelgrove.river needs the package river; install it with: pip install "labelgrove[river]"'
    ) from error

__all__ = ["Classifier", "MultiLabelClassifier"]


class _OneByOne:
    """The common base: the online estimator, and the number it uses for each label.

    river's labels may be any hashable objects, of several types at once; the estimator learns
    their numbers, assigned in order of arrival.
    """

    def __init__(self, estimator: Any = None) -> None:
        if isinstance(estimator, type) and issubclass(estimator, OnlineClassifier):
            name = estimator.__name__
            raise ParameterError(f"estimator is the class {name}: expected {name}()")
        if not isinstance(estimator, OnlineClassifier | None):
            raise ParameterError(
                f"estimator is a {type(estimator).__name__}: expected an estimator of LabelGrove "
                "that learns online from features, such as OnlinePLTClassifier"
            )
        self.estimator = estimator
        self._model = OnlinePLTClassifier() if estimator is None else clone(estimator)
        self._names: list[Hashable] = []
        self._numbers: dict[Hashable, int] = {}

    @property
    def fitted(self) -> Any:
        """The underlying estimator, for everything that river's interface does not cover.

        Its labels are numbers, assigned from 0 in order of arrival.
        """
        return self._model

    def _learn(
        self, x: Mapping[Any, Any], named: Iterable[Hashable], target: Any, w: float
    ) -> None:
        """Learn from an example; `target` turns the numbers of the `named` labels into a target."""
        new = (label for label in named if label not in self._numbers)
        arrived = dict(zip(new, count(len(self._names))))
        numbers = ChainMap(arrived, self._numbers)
        try:
            weights = None if isinstance(w, float) and w == 1 else [w]  # 1 needs no check
            self._model.partial_fit([_row(x)], [target(numbers)], sample_weight=weights)
        except LearningInterrupted as stopped:
            if stopped.examples_learned:
                self._remember(arrived)
            raise
        self._remember(arrived)

    def _remember(self, arrived: Mapping[Hashable, int]) -> None:
        self._names.extend(arrived)
        self._numbers |= arrived

    @property
    def _has_classes(self) -> bool:
        return self._model.__sklearn_is_fitted__() and bool(self._model.n_classes_)


class Classifier(_OneByOne, base.Classifier):
    """A multi-class classifier for river; new classes and features may appear at any time.

    Parameters
    ----------
    estimator : classifier with ``partial_fit``, optional
        An `OnlinePLTClassifier` (the default, with default parameters), a `LOMTreeClassifier`, a
        `MemoryTreeClassifier` or an `EmbeddingClassifier`. It is cloned.

    Raises
    ------
    ParameterError
        If it is another estimator.

    Examples
    --------
    >>> from labelgrove.river import Classifier
    >>> from river import datasets, evaluate, metrics, preprocessing
    >>> model = preprocessing.StandardScaler() | Classifier()
    >>> metric = evaluate.progressive_val_score(datasets.Phishing(), model, metrics.Accuracy())
    >>> metric.get() > 0.85
    True
    """

    def learn_one(self, x: dict[Any, Any], y: Any, w: float = 1.0) -> None:
        """Learn from one example.

        Parameters
        ----------
        x : dict of feature to number or string
            A string stands for a category.
        y : label
            Anything that can be hashed, except NaN, which equals no other NaN.
        w : float
            How much the example counts.

        Raises
        ------
        DataError
            If x, y or w cannot be used; nothing is learnt then.
        """
        if not isinstance(y, Hashable):
            raise DataError(
                f"y is a {type(y).__name__}: expected one label; for sets of labels there is "
                "MultiLabelClassifier"
            )
        if is_missing(y):
            raise DataError(f"y is {y!r}, a missing value: expected one label")
        self._learn(x, [y], lambda numbers: numbers[y], w)

    def predict_one(self, x: dict[Any, Any], **_: Any) -> Any:
        """Return the most probable class; None before the first example.

        Parameters
        ----------
        x : dict of feature to number or string
        """
        if not self._model.__sklearn_is_fitted__():
            return None
        [[number]], [[score]] = self._model.predict_topk([_row(x)], 1)
        return None if math.isnan(score) else self._names[number]

    def predict_proba_one(self, x: dict[Any, Any], **_: Any) -> dict[Any, float]:
        """Return the probability of every class seen so far; they sum to 1.

        Parameters
        ----------
        x : dict of feature to number or string
        """
        if not self._has_classes:
            return dict.fromkeys(self._numbers, 1.0 / max(len(self._names), 1))
        [found] = self._model.predict_proba([_row(x)]).tolist()
        by_number = dict(zip(self._model.classes_.tolist(), found, strict=True))
        return {label: by_number.get(number, 0.0) for label, number in self._numbers.items()}

    @property
    def _multiclass(self) -> bool:
        return True


class MultiLabelClassifier(_OneByOne, base.MultiLabelClassifier):
    """A multi-label classifier for river, whose targets are dicts of label to truth value.

    Parameters
    ----------
    estimator : classifier with ``partial_fit`` that learns sets of labels, optional
        An `OnlinePLTClassifier` (the default, with default parameters), a `MemoryTreeClassifier`
        or an `EmbeddingClassifier`. It is cloned.

    Raises
    ------
    ParameterError
        If it is another estimator.

    Examples
    --------
    >>> from labelgrove.river import MultiLabelClassifier
    >>> model = MultiLabelClassifier()
    >>> for _ in range(10):
    ...     model.learn_one({"fur": 1.0}, {"cat": True, "small": True})
    ...     model.learn_one({"fins": 1.0}, {"fish": True, "small": True})
    >>> model.predict_one({"fur": 1.0})
    {'cat': True, 'small': True, 'fish': False}
    """

    def __init__(self, estimator: Any = None) -> None:
        super().__init__(estimator)
        if learns_only_classes(estimator):
            raise ParameterError(
                f"estimator is a {type(estimator).__name__}, which learns one class per example: "
                "expected one that learns sets of labels, such as OnlinePLTClassifier"
            )

    def learn_one(self, x: dict[Any, Any], y: dict[Any, bool], w: float = 1.0) -> None:
        """Learn from one example.

        Parameters
        ----------
        x : dict of feature to number or string
            A string stands for a category.
        y : dict of label to bool
            Omitted labels count as false.
        w : float
            How much the example counts.

        Raises
        ------
        DataError
            If x, y or w cannot be used; nothing is learnt then.
        """
        if not isinstance(y, Mapping):
            raise DataError(
                f"y is a {type(y).__name__}: expected a dict of label to bool, such as "
                "{'cat': True}"
            )
        for label, is_there in y.items():
            if is_missing(label) or is_missing(is_there):
                raise DataError(
                    f"y holds {label!r}: {is_there!r}: expected a dict of label to bool, without "
                    "missing values"
                )
        there = [label for label, is_there in y.items() if is_there]
        self._learn(x, y, lambda numbers: [numbers[label] for label in there], w)

    def predict_one(self, x: dict[Any, Any], **_: Any) -> dict[Any, bool]:
        """Predict for every label seen so far whether it applies, by the estimator's thresholds.

        Parameters
        ----------
        x : dict of feature to number or string
        """
        if not self._model.__sklearn_is_fitted__():
            return {}
        found = self._model.predict([_row(x)])
        there = set(self._model.classes_[found.indices].tolist())
        return {label: number in there for label, number in self._numbers.items()}

    def predict_proba_one(self, x: dict[Any, Any], **_: Any) -> dict[Any, dict[bool, float]]:
        """Return the probability of every label seen so far, and of its absence.

        Parameters
        ----------
        x : dict of feature to number or string
        """
        found: dict[int, float] = {}
        if self._has_classes:
            [numbers], [scores] = self._model.predict_topk([_row(x)], self._model.n_classes_)
            found = {
                number: score
                for number, score in zip(numbers.tolist(), scores.tolist(), strict=True)
                if not math.isnan(score)
            }
        return {
            label: {False: 1.0 - found.get(number, 0.0), True: found.get(number, 0.0)}
            for label, number in self._numbers.items()
        }


def _row(x: Mapping[Any, Any]) -> dict[str, Any]:
    """Return the features by name; names that are not strings are replaced by their repr.

    They are sorted, so that the order of the dict cannot change the last bits of a sum.
    """
    if not hasattr(x, "items"):  # a pandas Series has them, too
        raise DataError(
            f"x is a {type(x).__name__}: expected a dict of feature to number or string"
        )
    named = [(name if isinstance(name, str) else repr(name), value) for name, value in x.items()]
    row = dict(sorted(named, key=itemgetter(0)))
    if len(row) < len(named):
        twice = Counter(name for name, _ in named).most_common(1)[0][0]
        raise DataError(f"x: two features are called {twice!r} as text; expected distinct names")
    return row
