"""A model that many threads use while one of them teaches it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from os import PathLike
from typing import TYPE_CHECKING, Any, Self, TypeVar

from labelgrove._parameters import real
from labelgrove.models.engine._learned import as_collection, known
from labelgrove.models.engine._tuned import keep_thresholds

if TYPE_CHECKING:
    from labelgrove.models._online import OnlineClassifier

T = TypeVar("T")


class SharedModel:
    """A handle to an online model for many threads: they wait for each other.

    Any number of threads may use the handle; :meth:`OnlineClassifier.shared` makes it. Threads are
    served in order of arrival. Learning goes on in short steps, a few milliseconds each, and
    threads that have arrived meanwhile predict between two of them, before the next step begins. So
    none starves, and a prediction of one row waits for one step at most, unless one of many rows is
    under way. What is learnt is, to the last bit, what the model's own ``partial_fit`` would have
    learnt.

    Parameters
    ----------
    model : OnlineClassifier
        Used directly, it refuses threads that would have to wait.
    timeout : float, optional
        Seconds after which a thread gives up waiting, by a ModelStateError.

    Attributes
    ----------
    model : OnlineClassifier

    Notes
    -----
    A prediction sees the model between two steps: some examples of a call of :meth:`partial_fit`
    may have been learnt, others not yet. In a process that was forked while a step was under way,
    the model cannot be used.

    Examples
    --------
    >>> from threading import Thread
    >>> from labelgrove import OnlinePLTClassifier
    >>> model = OnlinePLTClassifier().partial_fit([[1, 0], [0, 1]], ["cat", "dog"]).shared()
    >>> learner = Thread(target=model.partial_fit, args=([[1, 1]] * 100, ["bird"] * 100))
    >>> learner.start()
    >>> model.predict_topk([[1, 0]], k=1)[0].shape  # waits for a step, not for all
    (1, 1)
    >>> learner.join()
    >>> model.predict_topk([[1, 1]], k=1)[0].tolist()
    [['bird']]
    """

    def __init__(self, model: OnlineClassifier, timeout: float | None = None) -> None:
        self.model = model
        self.timeout = timeout
        self._patience = (
            math.inf if timeout is None else real({"timeout": timeout}, "timeout", 0.0, math.inf)
        )

    # --- predicting ----------------------------------------------------------------------------

    def read(self, use: Callable[[OnlineClassifier], T]) -> T:
        """Use the model while no thread changes it.

        Parameters
        ----------
        use : callable
            Is given the model, which it must not change.

        Returns
        -------
        What ``use`` returns.

        Raises
        ------
        ModelStateError
            If the wait was too long.

        Examples
        --------
        >>> from labelgrove import OnlinePLTClassifier
        >>> model = OnlinePLTClassifier().partial_fit([[1, 0], [0, 1]], ["cat", "dog"]).shared()
        >>> model.read(lambda clf: (clf.n_classes_, clf.tree_.n_nodes))
        (2, 3)
        """
        with self.model._guard.reading(self._patience):
            return use(self.model)

    def predict_topk(self, X: Any, k: int = 5, **options: Any) -> Any:
        """The k most probable labels of every row, as the model's own ``predict_topk``."""
        return self.read(lambda model: model.predict_topk(X, k, **options))

    def predict_proba(self, X: Any, **options: Any) -> Any:
        """Probability estimates, as the model's own ``predict_proba``."""
        return self.read(lambda model: model.predict_proba(X, **options))

    def predict(self, X: Any) -> Any:
        """Predicted labels, as the model's own ``predict``."""
        return self.read(lambda model: model.predict(X))

    def save(self, path: str | PathLike[str], *, for_prediction: bool = False) -> None:
        """Write the model as it stands to a file, as its own ``save``; learning waits."""
        self.read(lambda model: model.save(path, for_prediction=for_prediction))

    # --- changing ------------------------------------------------------------------------------

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Go on learning, as the model's own ``partial_fit``, while others predict.

        Everything is validated before the first example is learnt. Calls of several threads are
        worked off one after another.

        Parameters
        ----------
        X, y, classes, sample_weight
            As for the model's ``partial_fit``.

        Returns
        -------
        self

        Raises
        ------
        DataError, LearningInterrupted
            As the model's ``partial_fit``.
        ModelStateError
            If the wait was too long; then nothing has been learnt.
        """
        self.model._partial_fit(X, y, classes, sample_weight, self._patience)
        return self

    def remove_labels(self, labels: Iterable[Any]) -> Self:
        """Never predict these labels again, as the model's own ``remove_labels``."""
        names = as_collection(labels)
        with self.model._guard.changing(self._patience) as turn, turn.alone():
            known(self.model._learned).remove_labels(names)
        return self

    def rename_labels(self, names: Mapping[Any, Any]) -> Self:
        """Give labels other names, as the model's own ``rename_labels``."""
        with self.model._guard.changing(self._patience) as turn, turn.alone():
            known(self.model._learned).rename_labels(names)
        return self

    def set_thresholds(self, thresholds: Any) -> Self:
        """Predict each class from a threshold of its own, as the model's ``set_thresholds``."""
        with self.model._guard.changing(self._patience) as turn, turn.alone():
            model = self.model
            keep_thresholds(known(model._learned), thresholds, default=model._checked_threshold())
        return self
