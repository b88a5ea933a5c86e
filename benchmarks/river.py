"""Our classifiers and river's own through river's interface, one example at a time."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from river import linear_model, multiclass, naive_bayes, tree

from benchmarks._data import is_there, load
from benchmarks._results import command_line, write
from labelgrove import LOMTreeClassifier
from labelgrove.river import Classifier

DATASETS = ("clinc150-tfidf",)

SEED = 0


def models() -> dict[str, Any]:
    """New classifiers with default settings."""
    return {
        "labelgrove: online PLT": Classifier(),
        "labelgrove: LOMtree": Classifier(LOMTreeClassifier()),
        "river: multinomial naive Bayes": naive_bayes.MultinomialNB(),  # type: ignore[no-untyped-call]
        "river: softmax regression": linear_model.SoftmaxRegression(),
        "river: one logistic regression a class": multiclass.OneVsRestClassifier(
            linear_model.LogisticRegression()
        ),
        "river: Hoeffding tree": tree.HoeffdingTreeClassifier(),
    }


def dicts(dataset: str, rows: int) -> list[tuple[dict[str, float], str]]:
    """The first examples of a shuffled stream, in river's format."""
    stream = load(dataset, "train", shuffle=SEED)
    X, labels = stream.X[:rows], stream.labels[:rows]
    return [
        (
            {f"w{j}": float(v) for j, v in zip(X[[i]].indices, X[[i]].data, strict=True)},
            f"class {labels[i][0]}",
        )
        for i in range(X.shape[0])
    ]


def walk(model: Any, examples: list[tuple[dict[str, float], str]]) -> dict[str, float]:
    """Predict each example, then learn it: accuracy, and processor time per example."""
    right, predicting, learning = 0, 0.0, 0.0
    for x, y in examples:
        begun = time.process_time()
        found = model.predict_one(x)
        between = time.process_time()
        model.learn_one(x, y)
        learning += time.process_time() - between
        predicting += between - begun
        right += found == y
    n = len(examples)
    return {
        "accuracy": right / n,
        "predicting_us": 1e6 * predicting / n,
        "learning_us": 1e6 * learning / n,
    }


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and write ``river-<dataset>.json``."""
    parser = command_line(__doc__ or "", DATASETS)
    parser.add_argument("--rows", type=int, default=1500, help="examples of the stream")
    chosen = parser.parse_args(arguments)
    for dataset in filter(is_there, chosen.subjects):
        examples = dicts(dataset, chosen.rows)
        runs = {name: walk(model, examples) for name, model in models().items()}
        found = {"rows": len(examples), "classes": len({y for _, y in examples}), "runs": runs}
        write(chosen.output, "river", dataset, found)


if __name__ == "__main__":
    main()
