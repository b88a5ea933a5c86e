"""The numbers of a report equal those of the model and its explanations."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from labelgrove import OnlinePLTClassifier
from labelgrove.reporting import _sections
from labelgrove.reporting._losses import find_losses
from labelgrove.reporting._measured import measure
from reporting.kit import examples


@pytest.mark.parametrize("thresholds", [None, "tuned"])
def test_answers_are_what_the_model_predicts(models: Any, thresholds: str | None) -> None:
    model = models[0]
    X, labels = examples(60, 2)
    if thresholds:
        model = OnlinePLTClassifier(arity=4, max_leaves=4).fit(*examples(200, 0))
        model.set_thresholds(np.linspace(0.005, 0.6, model.n_classes_))
    observed = measure(model, X, [*labels[:-1], ["unheard of"]])
    ids = {label: i for i, label in enumerate(observed.labels)}
    assert observed.rule == ("thresholds" if thresholds else "threshold")
    columns = [ids[label] for label in model.classes_.tolist()]
    assert (observed.answer[:, columns].toarray() == model.predict(X).toarray()).all()
    best = model.predict_topk(X, 10)[0]
    names = np.array([*ids], dtype=object)
    assert (names[observed.ranking] == best).all()
    assert not observed.known[ids["unheard of"]] and observed.known.sum() == model.n_classes_


def test_what_does_not_count_is_nowhere(models: Any) -> None:
    X, labels = examples(20, 2)
    names = models[0].classes_.tolist()
    excluded = {0: {labels[0][0]}, 7: set(names[1:]), 99: {names[0]}}
    counting = measure(models[0], X, labels)
    without = measure(models[0], X, labels, excluded=excluded)
    assert without.labels == counting.labels
    columns = {label: i for i, label in enumerate(without.labels)}
    for name in ("truth", "answer", "estimates", "best"):
        expected = getattr(counting, name).toarray()
        for row in (0, 7):
            expected[row, [columns[label] for label in excluded[row]]] = 0
        found = getattr(without, name).toarray()
        if name == "best":  # others move up into the places that have become free
            assert (found[[0, 7]] >= expected[[0, 7]]).all()
            expected[[0, 7]] = found[[0, 7]]
        assert (found == expected).all(), name
    everything = models[0].predict_topk(X, len(names))[0]
    for row, ranked in enumerate(everything.tolist()):
        kept = [columns[label] for label in ranked if label not in excluded.get(row, ())]
        places = without.ranking[row].tolist()
        assert places == [*kept, *[-1] * 10][:10]


def test_losses_are_where_explanations_fall_out(models: Any) -> None:
    X, labels = examples(900, 3)
    labels[0] = [*labels[0], "never learnt"]
    observed = measure(models[0], X, labels)
    ids = {label: i for i, label in enumerate(observed.labels)}
    losses = find_losses(models[0], X, observed)
    predicted = models[0].predict(X).toarray()
    column = {label: i for i, label in enumerate(models[0].classes_.tolist())}
    expected = []
    for row, given in enumerate(labels):
        for label in sorted(given, key=ids.__getitem__):
            if label not in column or predicted[row, column[label]]:
                continue
            [one] = models[0].explain(X[[row]], label, threshold=0.5).labels
            assert one.fallen_out is not None
            at_leaf = one.fallen_out.step == len(one.path) - 1
            expected.append((ids[label], one.fallen_out.node, one.fallen_out.step, at_leaf))
    found = zip(losses.labels, losses.nodes, losses.depths, losses.at_leaf, strict=True)
    assert [tuple(int(part) for part in one) for one in found] == expected
    assert len(expected) >= 10
    node, share = losses.main_nodes(len(ids))
    for label in {one[0] for one in expected}:
        nodes = [one[1] for one in expected if one[0] == label]
        counts = {v: nodes.count(v) for v in nodes}
        assert counts[int(node[label])] == max(counts.values())
        assert share[label] == pytest.approx(max(counts.values()) / len(nodes))
    assert losses.by_node(models[0].tree_.n_nodes).sum() == len(expected)


def test_classes_that_exclude_one_another() -> None:
    X = np.eye(6)[np.arange(60) % 6]
    y = np.array(list("abcdef"))[np.arange(60) % 6]
    model = OnlinePLTClassifier(max_leaves=2).fit(X, y)
    y[:6] = y[1:7]
    observed = measure(model, X, y)
    assert observed.rule == "class" and observed.answer.sum() == 60
    scores = _sections.headline(observed)
    assert list(scores) == ["accuracy", "psp@1", "macro_f1", "ece"]
    assert scores["accuracy"] == pytest.approx(model.score(X, y))
    losses = find_losses(model, X, observed)
    for label, row in zip(losses.labels, range(6), strict=True):
        [one] = model.explain(X[row], observed.labels[label], k=1).labels
        assert one.fallen_out is not None
        assert losses.nodes[row] == one.fallen_out.node


def test_f1_of_labels_that_are_not_in_the_test_is_not_told(models: Any) -> None:
    X, labels = examples(5, 4)
    columns = _sections.label_columns(measure(models[0], X, labels), None)
    for support, f1 in zip(columns["support"], columns["f1"], strict=True):
        assert (f1 is None) == (support == 0)
    points, means = _sections.frequency(columns)
    assert len(points) == sum(support > 0 for support in columns["support"])
    assert sum(mean["labels"] for mean in means) == len(points)
