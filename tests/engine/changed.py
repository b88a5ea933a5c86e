"""Model files changed on purpose, with correct checksums."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

import labelgrove
from labelgrove import LabelTree, ModelFileError, OnlinePLTClassifier, PLTClassifier
from labelgrove.persistence import read_model, write_model

Arrays = dict[str, np.ndarray]
Header = dict[str, Any]

KINDS = {
    "all": {"replay": 1, "thresholds": "ofo"},
    "bounded": {"learner": "adagrad", "replay": 2, "replay_memory": 3, "normalize": False},
    "sgd": {"learner": "sgd", "policy": "complete"},
    "from batch": {"replay": 1},
    "two trees": {"n_trees": 2, "replay": 1},
    "staged": {"second_stage": "tail", "replay": 1},
    "cpet": {"policy": "cpet", "replay": 1},
    "lean": {},
    "lean sgd": {"learner": "sgd"},
    "compact float32": {},
    "compact int8": {"learner": "sgd"},
    "on a tree": {"policy": "fixed", "tree": LabelTree.flat([f"l{j}" for j in range(25)])},
}


def data(seed: int, n: int = 40) -> tuple[sp.csr_array, list[list[str]]]:
    rng = np.random.default_rng(seed)
    X = sp.random_array((n, 15), density=0.3, rng=rng, dtype=np.float32, format="csr")
    return X, [[f"l{int(j)}" for j in rng.integers(0, 25, rng.integers(0, 4))] for _ in range(n)]


@cache
def model(kind: str, folder: Path) -> tuple[Header, Arrays]:
    """A small model with removed labels, one reused place, and everything else a file can hold."""
    shape: dict[str, Any] = {"arity": 2, "max_leaves": 4, **KINDS[kind]}
    if kind == "from batch":
        batch = PLTClassifier(arity=2, max_leaf_size=4).fit(*data(0))
        clf = OnlinePLTClassifier.from_batch(batch, **shape)
    else:
        clf = OnlinePLTClassifier(**shape).partial_fit(*data(0))
    clf.remove_labels(clf.classes_[1:5])
    X, Y = data(1)
    known = [[name for name in row if name in clf.classes_] for row in Y]
    clf.partial_fit(X, known if kind == "on a tree" else Y)
    if kind.startswith("compact"):
        clf = clf.compact(dtype=kind.split()[1])
    clf.save(folder / "good.lg", for_prediction=kind.startswith("lean"))
    stored = read_model(folder / "good.lg")
    return dict(stored.header), {name: np.array(array) for name, array in stored.arrays.items()}


def check(header: Header, arrays: Arrays, folder: Path) -> bool:
    """Whether the model loads; if so, it must work and survive being saved again.

    The check of a newly written file, which does not load it, must come to the same result.
    """
    path = folder / "changed.lg"
    write_model(path, header, arrays)
    refused = None
    try:
        stored = read_model(path)
        with stored.checking():
            OnlinePLTClassifier()._restore(stored, check_only=True)
    except ModelFileError as error:
        refused = error
    try:
        clf = labelgrove.load(path)
    except ModelFileError as error:
        assert len(str(error)) > 20 and str(error) == str(refused)
        return False
    assert refused is None
    X, Y = data(2)
    exercise(clf, X)
    if header["for_prediction"] is True:
        return True
    if header["engine"]["policy"] == 0:
        Y = [[name for name in row if name in clf.classes_] for row in Y]
    elif clf.target_type_ == "multilabel":
        Y[0] = ["new", "newer", *Y[0]]
    clf.partial_fit(X, Y)
    exercise(clf, X)
    clf.save(path)
    again = labelgrove.load(path)
    again.partial_fit(X, Y)
    clf.partial_fit(X, Y)
    mine, theirs = clf.predict_topk(X), again.predict_topk(X)
    assert all(a.tolist() == b.tolist() for a, b in zip(mine[:1], theirs[:1], strict=True))
    return True


def exercise(clf: OnlinePLTClassifier, X: Any) -> None:
    classes = set(clf.classes_.tolist())
    labels, scores = clf.predict_topk(X, 7)
    assert set(labels.ravel().tolist()) <= classes | {None, -1}
    there = ~np.isnan(scores)
    assert ((scores[there] >= 0) & (scores[there] <= 1)).all()
    assert (np.diff(np.nan_to_num(scores, nan=-1.0), axis=1) <= 0).all()
    clf.predict_topk(X, 3, beam_width=2, labels=clf.classes_[::2].tolist())
    assert np.isfinite(clf.predict_proba(X, threshold=0.01).data).all()
    assert clf.tree_.n_labels <= len(classes)
    assert clf.size()["weights"] > 0
    assert clf.label_counts_.min(initial=0) >= 0
