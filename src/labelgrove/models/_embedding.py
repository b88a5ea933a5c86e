"""Learnt feature vectors under a label tree, as a scikit-learn estimator."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from labelgrove import _core
from labelgrove._errors import ParameterError
from labelgrove._features import FeatureNames
from labelgrove._labels import LabelRegistry
from labelgrove._names import check_savable
from labelgrove._parameters import integer, real, thread_count
from labelgrove.models._batch import BatchClassifier, fit_at_once
from labelgrove.models._label_tree import LabelTreeClassifier
from labelgrove.models._online import OnlineClassifier
from labelgrove.models._plt_options import FLOATS, LARGEST_STEP, LEARNERS, with_rate
from labelgrove.models.engine._archive import Format
from labelgrove.models.engine._examples import Examples, Mask, Start
from labelgrove.models.engine._learned import Learned
from labelgrove.models.engine._records import Options, given, seed, word
from labelgrove.models.engine._trees import TreePlan, engine_tree, labels_of
from labelgrove.trees import LabelTree

_IS_SOFTMAX = {"log": False, "softmax": True}
_DEFAULT_RATES = {"adagrad": 0.2, "sgd": 0.5}
_LEAF_SIZE = 16
_MOST_DIMENSIONS = 10_000
_MOST_COLUMNS = 2**31 - 1
_LARGEST_COORDINATE = 1e6  # the core's kLargestCoordinate


@dataclass(frozen=True, kw_only=True)
class EmbeddingOptions(Options):
    """Options of the core, with values checked."""

    dimension: int = given("dimension", integer, 1, _MOST_DIMENSIONS)
    softmax: bool = word("loss", _IS_SOFTMAX)
    learner: int = word("learner", {name: LEARNERS[name] for name in _DEFAULT_RATES})
    rate: float = given("learning_rate", real, FLOATS[0], LARGEST_STEP)
    epsilon: float = given("epsilon", real, *FLOATS)
    alpha: float = given("alpha", real, 0.0, 1.0)
    arity: int = given("arity", integer, 2)
    max_leaves: int
    seed: int = seed()
    replay: int = given("replay", integer, 0, 1000, default=0)
    replay_memory: int = given("replay_memory", integer, 0, default=0)

    # Not a field: an example is a weighted mean, so its scale is irrelevant.
    normalize: ClassVar[bool] = True  # type: ignore[misc]

    @classmethod
    def from_parameters(cls, parameters: Mapping[str, Any]) -> EmbeddingOptions:
        p = with_rate(parameters, _DEFAULT_RATES)
        arity, size = integer("arity", p["arity"], 2), p["max_leaf_size"]
        leaf_size = _LEAF_SIZE if size is None else integer("max_leaf_size", size, 1)
        return cls._with(p, max_leaves=max(leaf_size, arity))

    @classmethod
    def _parameters_of(cls, saved: Mapping[str, Any]) -> dict[str, Any]:
        return {**super()._parameters_of(saved), "max_leaf_size": saved["max_leaves"]}


class EmbeddingClassifier(OnlineClassifier, LabelTreeClassifier):
    """Label tree over learnt vectors of features.

    An example is the mean of its features' vectors, weighted by their values, as in fastText
    (Joulin et al. 2016). Every node of a label tree of any kind has a vector that scores it:
    hierarchical softmax (Baharav et al. 2021, section 5.2) if examples have one label, a
    probabilistic label tree (Wydmuch et al. 2018) if they may have several. Words with the same
    meaning get similar vectors, which a linear classifier cannot learn. Use it if examples are
    many and short and labels have topics in common. On long documents with rare labels
    :class:`PLTClassifier` is more accurate.

    The result is the same, to the last bit, for any number of threads and on any processor.

    Parameters
    ----------
    dimension : int
        Dimension of the vectors (d).
    tree : str or LabelTree
        As for :class:`PLTClassifier`. New labels extend it.
    arity : int
        Number of children of an inner node.
    max_leaf_size : int, optional
        Largest number of labels under a node whose children are all leaves, unless ``arity`` is
        larger. The default is 16, and 1,000 for :meth:`fit` on up to 1,000 examples. Ignored by
        ``tree="huffman"``, ``"cost"`` and ``"flat"``.
    interpolation : float in [0, 2]
        λ of ``tree="interpolated"``: 0 is k-means, 1 weighted k-means, 2 Fano's tree.
    loss : {"log", "softmax"}
        ``"log"``: every node has a probability of its own, given its parent. ``"softmax"``:
        siblings compete and the probabilities of all labels sum to one; if an example has several
        labels, each pass learns one of them, drawn at random, as in fastText.
    learner : {"adagrad", "sgd"}
        Steps adapted to the size of each vector's past gradients, or plain steps, as in fastText.
    learning_rate : float, optional
        Step size; by default 0.2 for AdaGrad and 0.5 for plain steps. It falls linearly to 0 in
        :meth:`fit` and is constant in :meth:`partial_fit`.
    epsilon : float
        AdaGrad's epsilon, which damps the first steps.
    max_iter : int
        Number of passes of :meth:`fit`, each in a new random order.
    vectors : ndarray of shape (n_features, dimension) or mapping, optional
        Initial vectors of features: an array with a row for each column of X, a mapping from
        column numbers, or, if examples are dicts or texts (with `TextFeatures`), a mapping from
        names. All other vectors are drawn between -1/√d and 1/√d. See
        :func:`labelgrove.data.read_vectors`.
    replay : int
        Number of earlier examples that :meth:`partial_fit` relearns after each new one.
    replay_memory : int
        Number of examples remembered for replay, a uniform sample of all so far, including those
        of :meth:`fit`; 0 to remember all. The rest of the model grows with features and labels
        only: about ``4 * dimension`` bytes for each feature and for each child of a node. There is
        no ``max_bytes``, because no vector can be forgotten without losing its feature.
    alpha : float in [0, 1]
        Weight of balance in placing a new label, as for :class:`OnlinePLTClassifier`.
    threshold : float
        Lowest probability at which :meth:`predict` returns a label, for multi-label targets.
    second_stage : {"calibrate", "head", "tail"} or float in [0, 1], optional
        A second stage after the tree: see :class:`PLTClassifier`. It learns from held-out
        examples in :meth:`fit`, and from examples predicted before they are learnt in
        :meth:`partial_fit`.
    n_jobs : int, optional
        Number of threads of :meth:`fit` and of prediction; -1 for all processors. The result is
        the same for any number.
    random_state : int, RandomState or None
        Seed of all random choices. None draws one.

    Examples
    --------
    >>> from labelgrove import EmbeddingClassifier
    >>> X = [{"meow": 1, "red": 1}, {"purr": 1}, {"bark": 1, "red": 1}, {"growl": 1}] * 9
    >>> Y = [["cat", "red"], ["cat"], ["dog", "red"], ["dog"]] * 9
    >>> clf = EmbeddingClassifier(dimension=8, max_iter=30).fit(X, Y)
    >>> clf.predict_topk([{"growl": 1, "bark": 1}], k=1)[0].tolist()
    [['dog']]
    >>> clf.partial_fit([{"moo": 1}] * 9, [["cow"]] * 9).classes_.tolist()
    ['cat', 'cow', 'dog', 'red']
    """

    algorithm = "embedding"
    _format = Format(EmbeddingOptions, _core.EmbeddingPlt.load, _core.CompactEmbedding.load)
    _learned: Learned[EmbeddingOptions, _core.EmbeddingPlt | _core.CompactEmbedding] | None = None
    _progress: _core.Progress | None = None
    fit_progress = BatchClassifier.fit_progress

    def __init__(
        self,
        *,
        dimension: int = 100,
        tree: str | LabelTree = "kmeans",
        arity: int = 16,
        max_leaf_size: int | None = None,
        interpolation: float = 1.0,
        loss: str = "log",
        learner: str = "adagrad",
        learning_rate: float | None = None,
        epsilon: float = 1e-6,
        max_iter: int = 10,
        vectors: npt.ArrayLike | Mapping[str | int, npt.ArrayLike] | None = None,
        replay: int = 1,
        replay_memory: int = 10_000,
        alpha: float = 0.75,
        threshold: float = 0.5,
        second_stage: str | float | None = None,
        n_jobs: int | None = 1,
        random_state: Any = 0,
    ) -> None:
        self.dimension = dimension
        self.tree = tree
        self.arity = arity
        self.max_leaf_size = max_leaf_size
        self.interpolation = interpolation
        self.loss = loss
        self.learner = learner
        self.learning_rate = learning_rate
        self.epsilon = epsilon
        self.max_iter = max_iter
        self.vectors = vectors
        self.replay = replay
        self.replay_memory = replay_memory
        self.alpha = alpha
        self.threshold = threshold
        self.second_stage = second_stage
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _fit(self, X: Any, y: Any, sample_weight: Any, own: Mask = None) -> None:
        fit_at_once(self, X, y, sample_weight, own)

    def _start(self) -> Start[Any]:
        parameters = self.get_params(deep=False)
        options = EmbeddingOptions.from_parameters(parameters)
        plan = TreePlan({**parameters, "n_trees": 1}, options.seed, usual_leaf_size=_LEAF_SIZE)
        integer("max_iter", self.max_iter, 1, 10**6)
        labels = labels_of(plan.given)
        keys, vectors = _first_vectors(self.vectors, options.dimension)
        features = FeatureNames(keys) if isinstance(keys, list) else None
        columns = np.arange(len(vectors), dtype=np.uint32) if isinstance(keys, list) else keys
        make = partial(self._make_engine, options, plan, labels, columns, vectors)
        return Start(options, make, labels, features)

    def _started(self, *, named: bool = False) -> Start[Any]:
        start = super()._started(named=named)
        if start.features is not None and not named:
            raise ParameterError(
                "vectors: found names of features; expected examples with names as well: dicts, or "
                "texts with TextFeatures"
            )
        return start

    def _make_engine(
        self,
        options: EmbeddingOptions,
        plan: TreePlan,
        labels: LabelRegistry,
        columns: npt.NDArray[np.uint32],
        vectors: npt.NDArray[np.float32],
        examples: Examples | None = None,
        progress: _core.Progress | None = None,
        seen: Any = None,
    ) -> _core.EmbeddingPlt:
        """Make an engine and fit it on the examples; without any, start on the given tree."""
        del seen
        if examples is None:
            tree, ids = plan.given or LabelTree([-1], []), None
        else:
            rows = examples.rows
            [tree] = plan.build(rows, examples.indptr, examples.ids, labels)
            ids = tree.leaf_labels
        engine = _core.EmbeddingPlt.on_tree(options.to_dict(), *engine_tree(tree, ids), len(labels))
        engine.start_with(columns, vectors.ravel())
        if examples is not None:
            assert progress is not None
            engine.fit(
                *rows.arrays,
                examples.indptr,
                examples.ids,
                examples.weights,
                int(self.max_iter),
                thread_count(self.n_jobs),
                progress,
            )
        return engine


def _first_vectors(
    given: npt.ArrayLike | Mapping[Any, npt.ArrayLike] | None, dimension: int
) -> tuple[list[str] | npt.NDArray[np.uint32], npt.NDArray[np.float32]]:
    """Check vectors; return their features, as names or column numbers, and the vectors."""
    rows = [] if given is None else list(given.values()) if isinstance(given, Mapping) else given
    try:
        vectors = np.ascontiguousarray(rows, np.float32)
    except (TypeError, ValueError, OverflowError) as error:
        raise ParameterError(f"vectors: expected an array of numbers ({error})") from error
    if vectors.size == 0 and vectors.ndim < 3:
        return np.zeros(0, np.uint32), vectors.reshape(0, dimension)
    if vectors.ndim != 2 or vectors.shape[1] != dimension:
        raise ParameterError(
            f"vectors: found shape {vectors.shape}; expected (n_features, {dimension}), since "
            f"dimension={dimension}"
        )
    if not (np.abs(vectors) <= _LARGEST_COORDINATE).all():
        raise ParameterError("vectors: found a number that is not finite or exceeds a million")
    if not isinstance(given, Mapping):
        return np.arange(len(vectors), dtype=np.uint32), vectors
    keys: list[Any] = list(given)
    if all(isinstance(key, str) for key in keys):
        check_savable(keys, lambda _: "vectors: the name")
        return keys, vectors
    if not all(type(key) is int or isinstance(key, np.integer) for key in keys):
        raise ParameterError("vectors: expected keys that are all names or all column numbers")
    if not all(0 <= key < _MOST_COLUMNS for key in keys):
        raise ParameterError(f"vectors: found a column outside 0 to {_MOST_COLUMNS - 1}")
    return np.array(keys, np.uint32), vectors
