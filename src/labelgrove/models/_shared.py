"""A model shared by threads, one of which can learn while the others predict."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from os import PathLike
from typing import TYPE_CHECKING, Any, Self, TypeVar

from labelgrove._parameters import finite, real
from labelgrove.models.engine._examples import Call
from labelgrove.models.engine._learned import AnyLearned
from labelgrove.models.engine._tuned import keep_thresholds

if TYPE_CHECKING:
    from labelgrove.models._online import OnlineClassifier

T = TypeVar("T")


class SharedModel:
    """A handle to an online model that makes threads wait for each other.

    Call ``shared()`` of the model to make a handle. Any number of threads may use it, and are
    served in order of arrival. Learning proceeds in steps of a few milliseconds; threads that
    arrive during a step predict before the next one begins. So no thread starves, and a
    prediction for one row waits for at most one step, unless a prediction for many rows is in
    progress. The learnt model is identical, to the last bit, to that of the model's own
    ``partial_fit``.

    Parameters
    ----------
    model : OnlineClassifier
        The model to share, an attribute too. Used directly, it refuses threads that would have to
        wait.
    timeout : float, optional
        Seconds that a thread waits before it raises a ModelStateError; by default no limit.

    Notes
    -----
    A prediction sees the model between two steps, when only some examples of a
    :meth:`partial_fit` call may have been learnt. The model cannot be used in a process that was
    forked during a step.

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
        self._patience = math.inf if timeout is None else real("timeout", timeout, 0.0, math.inf)

    # --- predicting ----------------------------------------------------------------------------

    def read(self, use: Callable[[OnlineClassifier], T]) -> T:
        """Call a function with the model while no thread changes it.

        Parameters
        ----------
        use : callable
            Called with the model, which it must not change.

        Returns
        -------
        The result of ``use``.

        Raises
        ------
        ModelStateError
            If the wait exceeds ``timeout``.

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
        """Predict the k most probable labels of every row; see the model's ``predict_topk``."""
        return self.read(lambda model: model.predict_topk(X, k, **options))

    def predict_proba(self, X: Any, **options: Any) -> Any:
        """Estimate probabilities; see the model's ``predict_proba``."""
        return self.read(lambda model: model.predict_proba(X, **options))

    def predict(self, X: Any) -> Any:
        """Predict labels; see the model's ``predict``."""
        return self.read(lambda model: model.predict(X))

    def save(self, path: str | PathLike[str], *, for_prediction: bool = False) -> None:
        """Save the current model to a file, while learning waits; see the model's ``save``."""
        self.read(lambda model: model.save(path, for_prediction=for_prediction))

    # --- changing ------------------------------------------------------------------------------

    def partial_fit(
        self,
        X: Any,
        y: Any,
        classes: Any = None,
        sample_weight: Any = None,
        *,
        again: bool = False,
    ) -> Self:
        """Continue learning while other threads predict; see the model's ``partial_fit``.

        All examples are validated before the first one is learnt. Calls from several threads run
        one after another. If the wait exceeds ``timeout``, a ModelStateError says so, and nothing
        has been learnt.
        """
        self.model._partial_fit(X, y, classes, sample_weight, Call(self._patience, again))
        return self

    def remove_labels(self, labels: Iterable[Any]) -> Self:
        """Never predict these labels again; see the model's ``remove_labels``."""
        return self._change(lambda learned: learned.remove_labels(labels))

    def rename_labels(self, names: Mapping[Any, Any]) -> Self:
        """Rename labels; see the model's ``rename_labels``."""
        return self._change(lambda learned: learned.rename_labels(names))

    def set_thresholds(self, thresholds: Any) -> Self:
        """Set a threshold for each class; see the model's ``set_thresholds``."""
        default = finite("threshold", self.model.threshold)
        return self._change(lambda learned: keep_thresholds(learned, thresholds, default=default))

    def _change(self, change: Callable[[AnyLearned], None]) -> Self:
        self.model._change(change, self._patience)
        return self
