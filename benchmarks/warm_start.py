"""OPLT with a warm start, as in Tables 7 and 8 of Jasinska-Kobus et al. (2021).

Every stream is shuffled once, as in the paper. The hyper-parameters are the paper's
(``preset="paper"``), so that only the trees differ. Batch PLT is included for comparison.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any

from benchmarks._data import Stream, is_there, load, precisions
from benchmarks._measure import Clock, fresh
from benchmarks._results import command_line, write
from benchmarks.batch import DATASETS
from labelgrove import OnlinePLTClassifier, PLTClassifier
from labelgrove.trees import kmeans_tree, label_embeddings, label_indicator

ALPHAS = (0.25, 0.5, 0.75, 0.875)
SHARES = (0.05, 0.1, 0.15)
SEED = 1

VARIANTS: dict[str, dict[str, Any]] = {
    "OPLT, RANDOM": {"policy": "random"},
    **{f"OPLT, BEST-GREEDY, α = {alpha:g}": {"alpha": alpha} for alpha in ALPHAS},
    **{f"OPLT-W, {share:.0%}": {"warm_start_size": share} for share in SHARES},
    **{f"IPLT, {share:.0%} alone": {"sample": share, "rest": False} for share in SHARES},
    **{f"IPLT-U, {share:.0%}": {"sample": share, "rest": True} for share in SHARES},
    "IPLT": {"sample": 1.0, "rest": True},
    "batch PLT": {"batch": True},
}
"""IPLT variants learn on a k-means tree over a sample and skip labels missing from it."""


def learn_and_test(dataset: str, variant: str, passes: int) -> dict[str, Any]:
    """Learn and test in this process."""
    stream, test = load(dataset, "train", SEED), load(dataset, "test")
    options = dict(VARIANTS[variant])
    with Clock() as learning:
        if options.pop("batch", False):
            model: Any = PLTClassifier(arity=2, random_state=SEED).fit(stream.X, stream.labels)
        elif "sample" in options:
            model = _on_given_tree(stream, passes, **options)
        else:
            model = OnlinePLTClassifier(preset="paper", random_state=SEED, **options)
            _learn(model.fit(stream.X, stream.labels), stream, passes - 1)
    with Clock() as testing:
        best, _ = model.predict_topk(test.X, 5)
    return {
        "precision": precisions(best, test.labels),
        "learning": learning.to_dict(),
        "testing": testing.to_dict(),
        "rows": len(test.labels),
        "labels": model.n_classes_,
        "depth": model.tree_.depth,
    }


def _on_given_tree(stream: Stream, passes: int, sample: float, rest: bool) -> OnlinePLTClassifier:
    n = round(sample * len(stream.labels))
    Y, names = label_indicator(stream.labels[:n])
    tree = kmeans_tree(label_embeddings(stream.X[:n], Y), labels=names, random_state=SEED)
    known = set(names)
    kept = [tuple(label for label in row if label in known) for row in stream.labels]
    learnt = Stream(stream.X, kept) if rest else Stream(stream.X[:n], kept[:n])
    return _learn(OnlinePLTClassifier(preset="paper", policy="fixed", tree=tree), learnt, passes)


def _learn(model: OnlinePLTClassifier, stream: Stream, passes: int) -> OnlinePLTClassifier:
    for _ in range(passes):
        model.partial_fit(stream.X, stream.labels)
    return model


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and write ``warm_start-<dataset>.json``."""
    parser = command_line(__doc__ or "", DATASETS)
    parser.add_argument("--passes", type=int, default=1, help="over the stream; the paper has 3")
    chosen = parser.parse_args(arguments)
    for dataset in filter(is_there, chosen.subjects):
        labels = set(chain.from_iterable(load(dataset, "train").labels))
        variants = []
        for variant in VARIANTS:
            task = "benchmarks.warm_start:learn_and_test"
            found = fresh(task, dataset=dataset, variant=variant, passes=chosen.passes)
            variants.append({"variant": variant, **found})
            precision, seconds = found["precision"], found["learning"]["cpu"]
            print(f"{dataset}: {variant}: {precision}, {seconds:.2f} s", flush=True)
        about_set = {"passes": chosen.passes, "labels": len(labels)}
        write(chosen.output, "warm_start", dataset, {**about_set, "variants": variants})


if __name__ == "__main__":
    main()
