"""Write the small models that every release adds, with their correct answers.

    python tests/formats/write.py [FOLDER]

By default the folder is named after the version, next to this file. A released folder is never
rewritten.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from labelgrove import (
    EmbeddingClassifier,
    FastXMLClassifier,
    LdSMClassifier,
    LOMTreeClassifier,
    OnlinePLTClassifier,
    PLTClassifier,
    TextClassifier,
    __version__,
)
from labelgrove.text import HashedText, TextFeatures

FRUITS = ["apple", "fig", "Öl", "kiwi", "lime", "pear", "plum", "日本", "sloe", "yuzu"]
N_QUESTIONS = 6
MARGIN = 1e-3


@dataclass(frozen=True)
class Old:
    """A model to keep, and the rows to predict."""

    name: str
    model: Any
    questions: list[Any]
    for_prediction: bool = False


def numbers() -> np.ndarray:
    """32 rows of 12 columns, a third of them 0, in steps of 1/8, which text holds exactly."""
    rng = np.random.default_rng(0)
    X = rng.integers(1, 9, (32, 12)) / 8 * (rng.random((32, 12)) < 2 / 3)
    X[np.arange(32), np.arange(32) % 10] += 2
    return X


def sets() -> list[list[str]]:
    """One or two labels per row; the largest column determines the first."""
    return [
        list(dict.fromkeys([FRUITS[i % 10], FRUITS[i * i % 7]])) if i % 11 else [FRUITS[i % 10]]
        for i in range(32)
    ]


def named(X: np.ndarray) -> list[dict[str, float]]:
    """The same rows as dicts of named columns."""
    return [{f"column {c}": value for c, value in enumerate(row) if value} for row in X.tolist()]


def sentences() -> list[str]:
    """Texts whose words say what their labels are."""
    return [f"a {' and a '.join(row)}, number {i % 5}" for i, row in enumerate(sets())]


def models() -> Iterator[Old]:
    """Learn one of every kind."""
    X, Y = numbers(), sets()
    classes = [row[0] for row in Y]
    ask = X.tolist()
    small: dict[str, Any] = {"arity": 2, "max_leaves": 3}

    def old(name: str, model: Any, questions: list[Any] = ask, **how: Any) -> Old:
        return Old(name, model, questions, **how)

    online = OnlinePLTClassifier(**small).fit(X, Y)
    yield old("online", online)
    yield old("online-for-prediction", online, for_prediction=True)
    for dtype in ("float32", "float16", "int8"):
        yield old(f"online-compact-{dtype}", online.compact(dtype=dtype), for_prediction=True)
    yield old("online-compact-cut", online.compact(threshold=0.05, X=X, y=Y), for_prediction=True)
    yield old("online-removed", OnlinePLTClassifier(**small).fit(X, Y).remove_labels(["fig"]))
    yield old("online-paper", OnlinePLTClassifier(preset="paper", max_leaves=3).fit(X, Y))
    yield old(
        "online-sgd",
        OnlinePLTClassifier(learner="sgd", policy="random", replay_memory=4, **small).fit(X, Y),
    )
    yield old(
        "online-ofo", OnlinePLTClassifier(thresholds="ofo", ofo_a=5.0, ofo_b=9.0, **small).fit(X, Y)
    )
    tuned = OnlinePLTClassifier(**small).fit(X, Y)
    place = {label: i for i, label in enumerate(sorted(FRUITS))}
    tuned.set_thresholds([0.2 + 0.05 * place[label] for label in tuned.classes_.tolist()])
    yield old("online-tuned", tuned)
    yield old("online-tuned-for-prediction", tuned, for_prediction=True)
    # With replay="auto", the default since then.
    yield old("online-three-trees", OnlinePLTClassifier(n_trees=3, **small).fit(X, Y))
    yield old("online-sparse", OnlinePLTClassifier(**small).fit(sp.csr_array(X), Y))
    yield old("online-named", OnlinePLTClassifier(**small).fit(named(X), Y), named(X))
    text = TextClassifier(OnlinePLTClassifier(**small), HashedText(n_features=2**16)).fit(
        sentences(), Y
    )
    yield old("online-text", text, sentences())
    features = TextFeatures("words+subwords", n_features=2**12)
    weighted = TextClassifier(OnlinePLTClassifier(**small), features)
    yield old("online-text-features", weighted.partial_fit(sentences(), Y), sentences())
    yield old(
        "online-integers", OnlinePLTClassifier(**small).fit(X, [10**12 - len(c) for c in classes])
    )
    indicator = sp.csr_array([[int(label in row) for label in FRUITS] for row in Y])
    yield old("online-indicator", OnlinePLTClassifier(**small).fit(X, indicator))

    yield old("batch", PLTClassifier(max_leaf_size=3, arity=2).fit(X, Y))
    yield old("batch-flat-log", PLTClassifier(tree="flat", loss="log").fit(X, Y))
    yield old("batch-cubic", PLTClassifier(link="cubic_hinge", max_leaf_size=3).fit(X, Y))
    yield old("batch-adagrad", PLTClassifier(tree="huffman", arity=3, solver="adagrad").fit(X, Y))
    yield old(
        "batch-three-trees",
        PLTClassifier(tree="random", n_trees=3, arity=3, max_leaf_size=4).fit(X, Y),
    )
    yield old("batch-softmax", PLTClassifier(link="softmax", max_leaf_size=3).fit(X, classes))
    yield old(
        "batch-online-ready",
        PLTClassifier(online_ready=True, arity=2, max_leaf_size=3).fit(X, Y),
    )
    yield old(
        "batch-second-stage",
        PLTClassifier(second_stage="tail", arity=2, max_leaf_size=3).fit(X, Y),
    )
    yield old(
        "batch-compact-int8",
        PLTClassifier(max_leaf_size=3).fit(X, Y).compact(dtype="int8"),
        for_prediction=True,
    )

    lom = LOMTreeClassifier(max_nodes=12, epochs=2).fit(X, classes)
    yield old("lomtree", lom)
    yield old("lomtree-for-prediction", lom, for_prediction=True)
    yield old(
        "lomtree-squared",
        LOMTreeClassifier(learner="adagrad", loss="squared", max_nodes=12).fit(X, classes),
    )

    yield from forests(X, Y)
    yield from embeddings(X, Y)


def forests(X: np.ndarray, Y: list[list[str]]) -> Iterator[Old]:
    """Grow ensembles of trees."""

    def old(name: str, model: Any, **how: Any) -> Old:
        return Old(name, model, X.tolist(), **how)

    few: dict[str, Any] = {"n_estimators": 4, "min_samples_split": 4, "min_feature_count": 1}
    ldsm = LdSMClassifier(**few).fit(X, Y)
    yield old("ldsm", ldsm)
    yield old("ldsm-for-prediction", ldsm, for_prediction=True)
    yield old("ldsm-tail", LdSMClassifier(tail_weight=0.3, **few).fit(X, Y))
    yield old(
        "ldsm-nag", LdSMClassifier(arity=2, learner="nag", learning_rate=0.05, **few).fit(X, Y)
    )
    fastxml = FastXMLClassifier(n_estimators=4, C=8.0, max_leaf_size=3).fit(X, Y)
    yield old("fastxml", fastxml)
    yield old("fastxml-for-prediction", fastxml, for_prediction=True)


def embeddings(X: np.ndarray, Y: list[list[str]]) -> Iterator[Old]:
    """Learn vectors of features."""
    few: dict[str, Any] = {"dimension": 3, "arity": 2, "max_leaf_size": 2, "max_iter": 20}
    model = EmbeddingClassifier(**few).fit(X, Y).partial_fit(X[:1], [["kiwi"]])
    yield Old("embedding", model, X.tolist())
    yield Old("embedding-for-prediction", model, X.tolist(), for_prediction=True)
    competing = EmbeddingClassifier(loss="softmax", learner="sgd", **few)
    yield Old("embedding-softmax", competing.fit(X, [row[0] for row in Y]), X.tolist())


def answers(model: Any, questions: Any) -> dict[str, Any]:
    """All answers of a model in a canonical order, as JSON values."""
    labels, scores = model.predict_topk(questions, len(model.classes_))
    said = {
        "classes": sorted(model.classes_.tolist()),
        "counts": by_label(model.classes_.tolist(), model.label_counts_.tolist()),
        "scores": [
            by_label(row, values)
            for row, values in zip(labels.tolist(), scores.tolist(), strict=True)
        ],
        "predicted": predicted(model, questions),
    }
    thresholds = getattr(model, "thresholds_", None)
    if thresholds is not None:
        said["thresholds"] = by_label(model.classes_.tolist(), thresholds.tolist())
    if isinstance(model, PLTClassifier) and model.online_ready:
        online = OnlinePLTClassifier.from_batch(model)
        said["online"] = answers(online, questions)["scores"]
    return said


def by_label(labels: list[Any], values: list[float]) -> list[list[Any]]:
    """Pairs in the order of the labels, without missing labels and scores of 0."""
    return [
        [label, value]
        for label, value in sorted(zip(labels, values, strict=True), key=lambda pair: str(pair[0]))
        if value > 0
    ]


def predicted(model: Any, X: Any) -> list[Any]:
    """The answer of ``predict``: a class per row, or the labels of every row."""
    found = model.predict(X)
    if model.target_type_ == "multiclass":
        return found.tolist()
    names = model.classes_.tolist()
    return [sorted(names[column] for column in row.nonzero()[0]) for row in found.toarray()]


def clear(said: dict[str, Any], row: int, threshold: float) -> bool:
    """Whether rounding cannot change the answer: no score is near its threshold or the best."""
    scores = said["scores"][row]
    thresholds = dict(said.get("thresholds", []))
    best = sorted((score for _, score in scores), reverse=True)
    return (len(best) < 2 or best[0] - best[1] > MARGIN) and all(
        abs(score - thresholds.get(label, threshold)) > MARGIN for label, score in scores
    )


def write(folder: Path) -> None:
    """Write all models, each with its queries and answers."""
    folder.mkdir(parents=True, exist_ok=True)
    for old in models():
        path = folder / f"{old.name}.lg"
        old.model.save(path, for_prediction=old.for_prediction)
        said = answers(old.model, old.questions)
        asked = [
            old.questions[row]
            for row in range(len(old.questions))
            if clear(said, row, old.model.threshold)
        ][:N_QUESTIONS]
        document = {"questions": asked, "answers": answers(old.model, asked)}
        path.with_suffix(".json").write_text(
            json.dumps(document, ensure_ascii=False) + "\n", encoding="utf-8"
        )


if __name__ == "__main__":
    write(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / __version__)
