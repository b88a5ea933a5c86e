"""Labels that arrive late in a stream: how many of their examples it takes to find them.

Twenty labels are kept out of the first nine tenths of a stream. Then each has 1 to 30 examples,
mixed with the rest of the stream. For comparison, a batch model learns all these examples anew.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from benchmarks._data import Stream, is_there, load, precisions
from benchmarks._results import command_line, write
from labelgrove import OnlinePLTClassifier, PLTClassifier

DATASETS = (
    "clinc150-tfidf",
    "onet-titles",
    "cooking-tfidf",
    "stackexchange-tfidf",
    "eurlex57k-tfidf",
    "bibtex",
)
MODELS = (OnlinePLTClassifier, PLTClassifier)
LATE = 20
"""Number of late labels."""
EXAMPLES = (1, 3, 10, 30)
"""Examples of each late label."""
BEFORE = 0.9
"""Share of the other examples that come before the late labels."""


def chosen_labels(train: Stream, test: Stream, rng: np.random.Generator) -> list[int]:
    """Draw late labels with enough examples to learn from, and some to test on."""
    learnt, tested = (
        np.bincount([label for row in part.labels for label in row], minlength=1 << 20)
        for part in (train, test)
    )
    enough = (learnt >= 2 * max(EXAMPLES)) & (learnt < len(train.labels) / LATE) & (tested >= 3)
    return [int(label) for label in rng.choice(np.flatnonzero(enough), LATE, replace=False)]


def rows_of(stream: Stream, rows: Sequence[int]) -> Stream:
    """Some rows of a stream, in this order."""
    return Stream(stream.X[list(rows)], [stream.labels[row] for row in rows])


def measure(name: str) -> list[dict[str, object]]:
    """Learn with every model and every number of examples."""
    rng = np.random.default_rng(0)
    train, test = load(name, "train"), load(name, "test")
    late = set(chosen_labels(train, test, rng))
    own = [late.intersection(row) for row in train.labels]
    order = rng.permutation(len(own)).tolist()
    others = [row for row in order if not own[row]]
    cut = int(BEFORE * len(others))
    of_label = {label: [row for row in order if own[row] == {label}] for label in sorted(late)}
    about = [row for row, labels in enumerate(test.labels) if late.intersection(labels)]
    asked = rows_of(test, about)
    rest = rows_of(test, [row for row in range(len(test.labels)) if not late & {*test.labels[row]}])
    found: list[dict[str, object]] = []
    for model in MODELS:
        recall = []
        for n in EXAMPLES:
            end = [*others[cut:], *(row for rows in of_label.values() for row in rows[:n])]
            rng.shuffle(end)
            begun, added = (rows_of(train, some) for some in (others[:cut], end))
            if model is PLTClassifier:
                whole = rows_of(train, others[:cut] + end)
                learnt = model().fit(whole.X, whole.labels)
            else:
                learnt = model().partial_fit(begun.X, begun.labels)
                learnt.partial_fit(added.X, added.labels)
            best = learnt.predict_topk(asked.X, 5)[0].tolist()
            hits = [
                label in five
                for five, labels in zip(best, asked.labels, strict=True)
                for label in late.intersection(labels)
            ]
            recall.append(round(100 * float(np.mean(hits)), 1))
        others_p1 = precisions(learnt.predict_topk(rest.X, 5)[0], rest.labels)[0]
        row = {"data": name, "model": model.__name__, "recall": recall, "others": others_p1}
        print(row, flush=True)
        found.append(row)
    return found


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and write ``late-all.json``."""
    chosen = command_line(__doc__ or "", DATASETS).parse_args(arguments)
    rows = [row for name in chosen.subjects if is_there(name) for row in measure(name)]
    write(chosen.output, "late", "all", {"examples": EXAMPLES, "rows": rows})


if __name__ == "__main__":
    main()
