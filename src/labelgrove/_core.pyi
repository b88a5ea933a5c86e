"""The compiled engine of LabelGrove; private."""

import enum
from typing import Annotated

import numpy
from numpy.typing import NDArray


class LearnerKind(enum.Enum):
    adagrad = 0

    sgd = 1

    arow = 2

    nag = 3

class Loss(enum.Enum):
    logistic = 0

    squared = 1

class Policy(enum.Enum):
    fixed = 0

    best_greedy = 1

    random = 2

    cpet = 3

    complete = 4

class BatchLoss(enum.Enum):
    squared_hinge = 0

    log = 1

    softmax = 2

class Link(enum.Enum):
    logistic = 0

    squared_hinge = 1

    softmax = 2

    cubic_hinge = 3

    calibrated = 4

class LeafShare(enum.Enum):
    examples = 0

    labels = 1

class WeightType(enum.Enum):
    float32 = 0

    float16 = 1

    int8 = 2

class FirstField(enum.Enum):
    labels = 0

    labels_or_feature = 1

    feature = 2

class RowFault(enum.Enum):
    none = 0

    indptr = 1

    range = 2

    order = 3

    not_finite = 4

class GroveScope:
    """What searches of label trees may return; see grove_search.hpp."""

class LabelScope:
    """What searches of other engines may return; see known_labels.hpp."""

class StreamedPieces:
    """An iterator over the pieces of a `StreamedArray`."""

    def __iter__(self) -> object: ...

    def __next__(self) -> object: ...

class StreamedArray:
    """
    A one-dimensional array that is produced piece by piece while iterating over it.
    """

    @property
    def dtype(self) -> object: ...

    @property
    def shape(self) -> tuple: ...

    @property
    def ndim(self) -> int: ...

    @property
    def nbytes(self) -> int: ...

    def __iter__(self) -> StreamedPieces: ...

    def __array__(self, dtype: object | None = None, copy: object | None = None) -> object: ...

class LomTree:
    """LOMtree; see core/include/labelgrove/lom_tree.hpp."""

    def __init__(self, options: dict) -> None: ...

    @staticmethod
    def load(options: dict, arrays: dict, for_prediction: bool, let_go: object | None = None, check_only: bool = False) -> LomTree:
        """
        Load what `save` returned. `let_go` is called now and then, when the memory of what was read so far may be released. With `check_only` the arrays are only checked, and the result need not keep them.
        """

    def save(self, for_prediction: bool, streamed: bool = False) -> dict:
        """
        Arrays by name. With `streamed`, large arrays are produced while they are written, and the engine must not change until then.
        """

    def size(self) -> dict: ...

    def scope(self, thresholds: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], allowed: object | None = None) -> LabelScope: ...

    def top_k(self, indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], ids: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], values: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], k: int, beam_width: int, allowed: object | None, threads: int, least: object | None = None) -> tuple: ...

    def above_threshold(self, indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], ids: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], values: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], scope: LabelScope, threads: int) -> tuple: ...

    def remove_labels(self, labels: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None: ...

    @property
    def examples_seen(self) -> int: ...

    @property
    def can_learn(self) -> bool: ...

    def labels(self) -> NDArray[numpy.uint32]: ...

    @property
    def label_count(self) -> int: ...

    def learn(self, indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], ids: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], values: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], label_indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], labels: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], begin: int, end: int, threads: int, weights: object | None = None, asked: object | None = None, k: int = 0) -> tuple: ...

    def explain(self, indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], ids: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], values: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], label: int) -> dict: ...

    def nodes(self) -> dict:
        """The saved arrays of the tree and its statistics."""

class MemoryTree:
    """Contextual memory tree; see core/include/labelgrove/memory_tree.hpp."""

    def __init__(self, options: dict) -> None: ...

    @staticmethod
    def load(options: dict, arrays: dict, for_prediction: bool, let_go: object | None = None, check_only: bool = False) -> MemoryTree:
        """
        Load what `save` returned. `let_go` is called now and then, when the memory of what was read so far may be released. With `check_only` the arrays are only checked, and the result need not keep them.
        """

    def save(self, for_prediction: bool, streamed: bool = False) -> dict:
        """
        Arrays by name. With `streamed`, large arrays are produced while they are written, and the engine must not change until then.
        """

    def size(self) -> dict: ...

    def scope(self, thresholds: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], allowed: object | None = None) -> LabelScope: ...

    def top_k(self, indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], ids: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], values: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], k: int, beam_width: int, allowed: object | None, threads: int, least: object | None = None) -> tuple: ...

    def above_threshold(self, indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], ids: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], values: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], scope: LabelScope, threads: int) -> tuple: ...

    def remove_labels(self, labels: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None: ...

    @property
    def examples_seen(self) -> int: ...

    @property
    def can_learn(self) -> bool: ...

    def labels(self) -> NDArray[numpy.uint32]: ...

    @property
    def label_count(self) -> int: ...

    def learn(self, indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], ids: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], values: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], label_indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], labels: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], begin: int, end: int, threads: int, weights: object | None = None, asked: object | None = None, k: int = 0) -> tuple: ...

    def explain(self, indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], ids: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], values: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], label: int) -> dict: ...

class Forest:
    """A forest of decision trees; see core/include/labelgrove/forest.hpp."""

    def __init__(self, options: dict) -> None: ...

    @staticmethod
    def load(options: dict, arrays: dict, for_prediction: bool, let_go: object | None = None, check_only: bool = False) -> Forest:
        """
        Load what `save` returned. `let_go` is called now and then, when the memory of what was read so far may be released. With `check_only` the arrays are only checked, and the result need not keep them.
        """

    def save(self, for_prediction: bool, streamed: bool = False) -> dict:
        """
        Arrays by name. With `streamed`, large arrays are produced while they are written, and the engine must not change until then.
        """

    def size(self) -> dict: ...

    def scope(self, thresholds: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], allowed: object | None = None) -> LabelScope: ...

    def top_k(self, indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], ids: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], values: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], k: int, beam_width: int, allowed: object | None, threads: int, least: object | None = None) -> tuple: ...

    def above_threshold(self, indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], ids: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], values: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], scope: LabelScope, threads: int) -> tuple: ...

    def remove_labels(self, labels: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None: ...

    @property
    def examples_seen(self) -> int: ...

    @property
    def can_learn(self) -> bool: ...

    def labels(self) -> NDArray[numpy.uint32]: ...

    @property
    def label_count(self) -> int: ...

    def explain(self, indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], ids: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], values: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], label: int) -> dict: ...

    def nodes(self) -> dict:
        """The saved arrays of the trees and of the statistics of their splits."""

    def grow(self, indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], ids: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], values: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], label_indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], labels: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], weights: object | None, gains: object | None, label_count: int, threads: int, progress: Progress) -> None: ...

    @property
    def children(self) -> int: ...

    @property
    def rows_together(self) -> int: ...

class BudgetExceeded(RuntimeError):
    pass

class OnlinePlt:
    """Trees of OPLT or IPLT; see core/include/labelgrove/online_grove.hpp."""

    def __init__(self, options: dict) -> None: ...

    def scope(self, thresholds: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], allowed: object | None = None) -> GroveScope: ...

    def top_k(self, indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], ids: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], values: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], k: int, beam_width: int, allowed: object | None, threads: int, least: object | None = None) -> tuple: ...

    def above_threshold(self, indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], ids: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], values: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], scope: GroveScope, threads: int) -> tuple: ...

    def remove_labels(self, labels: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None: ...

    @property
    def examples_seen(self) -> int: ...

    @property
    def can_learn(self) -> bool: ...

    def explain(self, indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], ids: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], values: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], label: int) -> dict: ...

    def paths(self, indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], ids: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], values: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], label_indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], labels: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], threads: int) -> tuple: ...

    def tree(self) -> dict: ...

    def labels(self) -> NDArray[numpy.uint32]: ...

    @property
    def label_count(self) -> int: ...

    def compact(self, dtype: int, threshold: float) -> dict: ...

    def compact_threshold(self, dtype: int, most_bytes: int, threads: int) -> float:
        """
        The smallest threshold at which the weights that may be dropped take at most `most_bytes`; infinity if none may stay.
        """

    @staticmethod
    def load(options: dict, arrays: dict, for_prediction: bool, let_go: object | None = None, check_only: bool = False) -> OnlinePlt:
        """
        Load what `save` returned. `let_go` is called now and then, when the memory of what was read so far may be released. With `check_only` the arrays are only checked, and the result need not keep them.
        """

    def save(self, for_prediction: bool, streamed: bool = False) -> dict:
        """
        Arrays by name. With `streamed`, large arrays are produced while they are written, and the engine must not change until then.
        """

    def size(self) -> dict: ...

    def learn(self, indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], ids: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], values: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], label_indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], labels: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], begin: int, end: int, threads: int, weights: object | None = None, asked: object | None = None, k: int = 0) -> tuple: ...

    @staticmethod
    def on_trees(options: dict, trees: list, label_count: int) -> OnlinePlt:
        """
        Start from given trees with the same labels: (parents, labels) by node for each tree.
        """

    @staticmethod
    def from_batch(options: dict, batch: dict, label_counts: object | None) -> OnlinePlt:
        """Resume learning from a batch model, given its arrays."""

    def restore_inherited(self) -> None: ...

    def thresholds(self) -> NDArray[numpy.float64]: ...

    @property
    def n_trees(self) -> int: ...

class Stopped(KeyboardInterrupt):
    pass

class Progress:
    """See core/include/labelgrove/progress.hpp."""

    def __init__(self) -> None: ...

    def stop(self) -> None: ...

    @property
    def share(self) -> float: ...

def train_batch_plt(options: dict, trees: list, label_count: int, indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], ids: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], values: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], label_indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], labels: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], example_costs: object | None, label_costs: object | None, threads: int, progress: Progress) -> dict:
    """
    Train trees in batch, and return the arrays that CompactPlt loads; see core/include/labelgrove/batch_trainer.hpp.
    """

def train_batch_nodes(options: dict, tree: tuple, nodes: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], label_count: int, indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], ids: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], values: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], label_indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], labels: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], label_costs: object | None, threads: int, progress: Progress, make_room: object | None) -> dict:
    """
    The blocks of some inner nodes of a tree, in the form of `train_batch_plt`. `make_room(bytes)`, if given, returns the arrays of uint8 in which large buffers are stored.
    """

class CompactPlt:
    """Compact label trees; see core/include/labelgrove/compact_plt.hpp."""

    def scope(self, thresholds: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], allowed: object | None = None) -> GroveScope: ...

    def top_k(self, indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], ids: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], values: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], k: int, beam_width: int, allowed: object | None, threads: int, least: object | None = None) -> tuple: ...

    def above_threshold(self, indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], ids: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], values: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], scope: GroveScope, threads: int) -> tuple: ...

    def remove_labels(self, labels: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None: ...

    @property
    def examples_seen(self) -> int: ...

    @property
    def can_learn(self) -> bool: ...

    def explain(self, indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], ids: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], values: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], label: int) -> dict: ...

    def paths(self, indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], ids: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], values: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], label_indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], labels: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], threads: int) -> tuple: ...

    def tree(self) -> dict: ...

    def labels(self) -> NDArray[numpy.uint32]: ...

    @property
    def label_count(self) -> int: ...

    def compact(self, dtype: int, threshold: float) -> dict: ...

    def compact_threshold(self, dtype: int, most_bytes: int, threads: int) -> float:
        """
        The smallest threshold at which the weights that may be dropped take at most `most_bytes`; infinity if none may stay.
        """

    @staticmethod
    def load(options: dict, arrays: dict, for_prediction: bool, let_go: object | None = None, check_only: bool = False) -> CompactPlt:
        """
        Load what `save` returned. `let_go` is called now and then, when the memory of what was read so far may be released. With `check_only` the arrays are only checked, and the result need not keep them.
        """

    def save(self, for_prediction: bool, streamed: bool = False) -> dict:
        """
        Arrays by name. With `streamed`, large arrays are produced while they are written, and the engine must not change until then.
        """

    def size(self) -> dict: ...

    def weights_of(self, node: int) -> tuple:
        """
        The features of an inner node of the first tree, and its (features + 1, children) weights as a flat array, the bias first.
        """

    @property
    def n_trees(self) -> int: ...

    @property
    def link_is_measured(self) -> bool: ...

class EmbeddingPlt:
    """
    Learnt vectors under a label tree; see core/include/labelgrove/embedding_plt.hpp.
    """

    def scope(self, thresholds: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], allowed: object | None = None) -> GroveScope: ...

    def top_k(self, indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], ids: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], values: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], k: int, beam_width: int, allowed: object | None, threads: int, least: object | None = None) -> tuple: ...

    def above_threshold(self, indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], ids: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], values: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], scope: GroveScope, threads: int) -> tuple: ...

    def remove_labels(self, labels: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None: ...

    @property
    def examples_seen(self) -> int: ...

    @property
    def can_learn(self) -> bool: ...

    def explain(self, indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], ids: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], values: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], label: int) -> dict: ...

    def paths(self, indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], ids: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], values: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], label_indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], labels: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], threads: int) -> tuple: ...

    def tree(self) -> dict: ...

    def labels(self) -> NDArray[numpy.uint32]: ...

    @property
    def label_count(self) -> int: ...

    def compact(self, dtype: int, threshold: float) -> dict: ...

    def compact_threshold(self, dtype: int, most_bytes: int, threads: int) -> float:
        """
        The smallest threshold at which the weights that may be dropped take at most `most_bytes`; infinity if none may stay.
        """

    @staticmethod
    def load(options: dict, arrays: dict, for_prediction: bool, let_go: object | None = None, check_only: bool = False) -> EmbeddingPlt:
        """
        Load what `save` returned. `let_go` is called now and then, when the memory of what was read so far may be released. With `check_only` the arrays are only checked, and the result need not keep them.
        """

    def save(self, for_prediction: bool, streamed: bool = False) -> dict:
        """
        Arrays by name. With `streamed`, large arrays are produced while they are written, and the engine must not change until then.
        """

    def size(self) -> dict: ...

    def learn(self, indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], ids: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], values: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], label_indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], labels: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], begin: int, end: int, threads: int, weights: object | None = None, asked: object | None = None, k: int = 0) -> tuple: ...

    @staticmethod
    def on_tree(options: dict, parents: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], labels: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], label_count: int) -> EmbeddingPlt: ...

    def start_with(self, features: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], vectors: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None: ...

    def fit(self, indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], ids: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], values: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], label_indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], labels: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], weights: object | None, epochs: int, threads: int, progress: Progress) -> None: ...

class CompactEmbedding:
    """
    Compact vectors under a label tree; see core/include/labelgrove/compact_embedding.hpp.
    """

    def scope(self, thresholds: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], allowed: object | None = None) -> GroveScope: ...

    def top_k(self, indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], ids: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], values: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], k: int, beam_width: int, allowed: object | None, threads: int, least: object | None = None) -> tuple: ...

    def above_threshold(self, indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], ids: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], values: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], scope: GroveScope, threads: int) -> tuple: ...

    def remove_labels(self, labels: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None: ...

    @property
    def examples_seen(self) -> int: ...

    @property
    def can_learn(self) -> bool: ...

    def explain(self, indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], ids: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], values: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], label: int) -> dict: ...

    def paths(self, indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], ids: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], values: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], label_indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], labels: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], threads: int) -> tuple: ...

    def tree(self) -> dict: ...

    def labels(self) -> NDArray[numpy.uint32]: ...

    @property
    def label_count(self) -> int: ...

    def compact(self, dtype: int, threshold: float) -> dict: ...

    def compact_threshold(self, dtype: int, most_bytes: int, threads: int) -> float:
        """
        The smallest threshold at which the weights that may be dropped take at most `most_bytes`; infinity if none may stay.
        """

    @staticmethod
    def load(options: dict, arrays: dict, for_prediction: bool, let_go: object | None = None, check_only: bool = False) -> CompactEmbedding:
        """
        Load what `save` returned. `let_go` is called now and then, when the memory of what was read so far may be released. With `check_only` the arrays are only checked, and the result need not keep them.
        """

    def save(self, for_prediction: bool, streamed: bool = False) -> dict:
        """
        Arrays by name. With `streamed`, large arrays are produced while they are written, and the engine must not change until then.
        """

    def size(self) -> dict: ...

def check_rows(indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], ids: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], values: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], columns: int) -> tuple[RowFault, int, int] | None:
    """(fault, row, position) of the first fault; None if there is none."""

def row_scale(indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], ids: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], values: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], weights: object | None) -> float:
    """See core/include/labelgrove/row_scale.hpp."""

def parse_sparse_lines(text: bytes, first: FirstField, values_required: bool, features: int, labels: int) -> tuple[NDArray[numpy.int64], NDArray[numpy.int32], NDArray[numpy.int64], NDArray[numpy.int32], NDArray[numpy.float32], list[tuple[int, int, int]]] | None:
    """
    (label_indptr, labels, indptr, ids, values, hard), or None; see core/include/labelgrove/sparse_lines.hpp.
    """

class LabelSums:
    """
    Sums of every label's examples; see core/include/labelgrove/label_sums.hpp.
    """

    def __init__(self, budget: int, max_bytes: int = 0) -> None: ...

    @staticmethod
    def load(arrays: dict, max_bytes: int = 0) -> LabelSums: ...

    def save(self) -> dict: ...

    def add(self, indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], ids: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], values: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], label_indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], labels: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], begin: int, end: int, weights: object | None) -> None: ...

    def forget(self, labels: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None: ...

    def cosines(self, indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], ids: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], values: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], candidates: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], threads: int) -> NDArray[numpy.float32]: ...

    def counts(self, labels: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> NDArray[numpy.int64]:
        """The number of examples that had each of the labels."""

    @property
    def examples(self) -> int: ...

    @property
    def bytes(self) -> int: ...

class Reranking:
    """
    The re-ranking of a second stage; see core/include/labelgrove/reranking.hpp.
    """

    def __init__(self) -> None: ...

    @staticmethod
    def load(numbers: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> Reranking: ...

    def save(self) -> NDArray[numpy.float64]:
        """The complete state: gain, weights and the precision matrix."""

    @property
    def gain(self) -> NDArray[numpy.float64]:
        """The sum of what its ranking would have gained, and the sum of squares."""

    @property
    def weights(self) -> NDArray[numpy.float64]: ...

    def learn(self, probabilities: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], cosines: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], worth: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], right: Annotated[NDArray[numpy.bool_], dict(shape=(None, None), order='C', device='cpu', writable=False)]) -> NDArray[numpy.float64]:
        """
        Learn from the labels of examples, best first; return their log-odds from before.
        """

    def logits(self, probabilities: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], cosines: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> NDArray[numpy.float64]: ...

class ScoreCalibration:
    """
    How often labels of a given score are right; see core/include/labelgrove/score_calibration.hpp.
    """

    def __init__(self, places: int) -> None: ...

    @staticmethod
    def load(numbers: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> ScoreCalibration: ...

    def save(self) -> NDArray[numpy.float64]:
        """The complete state: the weight, the counts, the hits and the losses."""

    def add(self, logits: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], right: Annotated[NDArray[numpy.bool_], dict(shape=(None,), order='C', device='cpu', writable=False)], keeps: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None: ...

    def apply(self, logits: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> NDArray[numpy.float64]:
        """The probabilities of labels that are ranked first."""

    def calibrated(self, probabilities: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], rows: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], best: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)]) -> NDArray[numpy.float32]: ...

    def uncalibrate(self, thresholds: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], place: int) -> NDArray[numpy.float32]: ...

    def uncalibrate_by_place(self, threshold: float, places: int) -> NDArray[numpy.float32]: ...

    def power(self, expected: float) -> float:
        """The power of the odds of labels that compete."""

    def curve(self) -> tuple[float, NDArray[numpy.float64]]:
        """The effect of a place on the log-odds, and the log-odds at the knots."""

def log_odds(probabilities: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> NDArray[numpy.float64]:
    """The log-odds of probabilities."""

class TextFeatures:
    """Turns texts into rows; see core/include/labelgrove/text_features.hpp."""

    def __init__(self, options: dict) -> None: ...

    @staticmethod
    def load(options: dict, arrays: dict) -> TextFeatures: ...

    def save(self) -> dict: ...

    @property
    def documents(self) -> int: ...

    def count(self, texts: list, threads: int) -> tuple:
        """Rows (indptr, ids, values) of raw counts."""

    def transform(self, texts: list, threads: int) -> tuple: ...

    def fit_transform(self, texts: list, threads: int) -> tuple: ...

    def add(self, indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], ids: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], values: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None: ...

    def weighted(self, counts: list, as_next: bool, threads: int) -> tuple:
        """
        Weighted rows of counts, all parts concatenated, as documents already counted or as the next ones.
        """

    def learn(self, indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], ids: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], values: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], threads: int) -> tuple: ...

def words_of(text: str, symbols: bool) -> NDArray[numpy.uint64]:
    """
    Where, in bytes of UTF-8, each word begins and ends, or each two letters in scripts without spaces.
    """

def label_vectors(indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], ids: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], values: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], dimension: int, ends: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], examples: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], threads: int) -> tuple:
    """
    (indptr, ids, values): for each label, the direction of the sum of its examples, each scaled to unit length.
    """

def cluster_labels(indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], ids: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], values: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], dimension: int, frequencies: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], fano_frequencies: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], options: dict, threads: int, fixed: bool) -> tuple:
    """
    (parents, labels): a tree over the rows, numbered level by level, and the labels of its leaves in ascending order of nodes. Without frequencies all labels have the same weight. `fixed` rows, which nothing can change, are not copied.
    """

def visits(parents: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], labels: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], sets: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], frequencies: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> NDArray[numpy.float64]:
    """For every node, the total frequency of the sets with a label below it."""

def cheapest_reduction(parents: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], labels: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], visits: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], block_cost: float) -> tuple:
    """
    (parents, labels) of the cheapest tree that results from removing inner nodes.
    """

def report_leaks(on: bool) -> None:
    """
    Turn the report of objects that outlive the interpreter on or off; for tests.
    """

def kernel_variant() -> str:
    """The instruction set that the kernels in use were compiled for."""

def available_kernels() -> list:
    """The variants that run on this processor, best last."""

def compiler() -> str:
    """The compiler that built the engine."""

def draw(seed: int, stream: int, counter: int, sub: int = 0) -> int:
    """
    The hash behind every random choice; the streams are numbered as in core/include/labelgrove/hash.hpp.
    """

def exp(numbers: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> NDArray[numpy.float64]:
    """
    Exponentials with the same bits on every machine; see core/include/labelgrove/elementary.hpp.
    """

def log(numbers: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> NDArray[numpy.float64]:
    """Logarithms, likewise."""
