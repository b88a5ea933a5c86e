"""``explain``: labels and features by name, and where a label was cut off."""

from __future__ import annotations

import json

import numpy as np
import pytest

from labelgrove import (
    DataError,
    LdSMClassifier,
    LOMTreeClassifier,
    NotLearnedError,
    OnlinePLTClassifier,
    ParameterError,
    PLTClassifier,
)
from labelgrove.text import HashedText

SUBJECTS = [f"subject{i}" for i in range(12)]
TEXTS = [f"{subject} and the others" for subject in SUBJECTS] * 6
HASHED = HashedText()


@pytest.fixture(scope="module")
def model() -> OnlinePLTClassifier:
    clf = OnlinePLTClassifier(max_leaves=3)
    return clf.fit(HASHED.transform(TEXTS), [[s, "all"] for s in SUBJECTS * 6])


def test_predicted_labels_are_explained_by_words(model: OnlinePLTClassifier) -> None:
    text = "subject7 and the others"
    X = HASHED.transform([text])
    explained = model.explain(X, k=2, feature_names=HASHED.words(text))
    labels, scores = model.predict_topk(X, 2)
    assert [one.label for one in explained.labels] == labels[0].tolist()
    assert [one.probability for one in explained.labels] == scores[0].tolist()
    assert [one.rank for one in explained.labels] == [1, 2]
    assert all(one.predicted and one.fallen_out is None for one in explained.labels)
    [subject] = [one for one in explained.labels if one.label == "subject7"]
    assert max(subject.path, key=lambda node: node.margin).contributions
    assert subject.path[-1].contributions[0].feature == "subject7"
    tree = model.tree_
    for one in explained.labels:
        nodes = [node.node for node in one.path]
        assert nodes[0] == 0 and tree.labels[nodes[-1]] == one.label
        assert [int(tree.parents[v]) for v in nodes[1:]] == nodes[:-1]


def test_what_is_listed_and_the_rest_add_up_to_the_margin(model: OnlinePLTClassifier) -> None:
    X = HASHED.transform(["subject3 and subject5"])
    for top in (0, 1, 10):
        for node in model.explain(X, "subject5", top=top).labels[0].path:
            assert len(node.contributions) <= top
            parts = [c.contribution for c in node.contributions]
            assert node.margin == pytest.approx(node.bias + node.others + sum(parts))
            assert node.probability == pytest.approx(1 / (1 + np.exp(-node.margin)), abs=1e-5)
            sizes = [abs(part) for part in parts]
            assert sizes == sorted(sizes, reverse=True)
            assert all(
                c.value * c.weight == pytest.approx(c.contribution) for c in node.contributions
            )


def test_where_a_label_fell_out(model: OnlinePLTClassifier) -> None:
    X = HASHED.transform(["subject3 and the others"])
    for arguments in ({"k": 2}, {"threshold": 0.3}):
        explained = model.explain(X, "subject9", **arguments)
        [one] = explained.labels
        fall = one.fallen_out
        assert not one.predicted and one.rank > 2 and fall is not None
        products = [node.product for node in one.path]
        assert fall.needed == pytest.approx(
            model.predict_topk(X, 2)[1][0, 1] if "k" in arguments else 0.3
        )
        assert products[fall.step] == fall.product < fall.needed
        assert all(product >= fall.needed for product in products[: fall.step])
        assert one.path[fall.step].node == fall.node
        assert fall.factor == fall.needed / fall.product
        text = str(explained)
        assert "not predicted" in text and f"falls out at node {fall.node}" in text


def test_thresholds_of_the_labels(model: OnlinePLTClassifier) -> None:
    X = HASHED.transform(["subject3 and the others"])
    thresholds = np.linspace(0.01, 0.9, model.n_classes_)
    explained = model.explain(X, threshold=thresholds)
    found = model.predict_proba(X, threshold=thresholds)
    names = model.classes_[found.indices]
    assert {one.label for one in explained.labels} == set(names) and explained.threshold is None
    for label, needed in zip(model.classes_, thresholds, strict=True):
        [one] = model.explain(X, label, threshold=thresholds).labels
        assert one.predicted == (label in names) == (one.fallen_out is None)
        assert one.fallen_out is None or one.fallen_out.needed == pytest.approx(needed)


def test_the_best_labels_count_as_predicted_if_asked(model: OnlinePLTClassifier) -> None:
    X = HASHED.transform(["subject3 and the others"])
    found, _ = model.predict_topk(X, 2)
    for threshold in (1.0, np.full(model.n_classes_, 1.0)):
        explained = model.explain(X, threshold=threshold, least_labels=2)
        assert [one.label for one in explained.labels] == found[0].tolist()
        assert [(one.rank, one.predicted) for one in explained.labels] == [(1, True), (2, True)]
        assert model.explain(X, threshold=threshold).labels == ()
    least = model.explain(X, threshold=0.0, least_labels=2).labels
    assert [one.label for one in least] == [
        one.label for one in model.explain(X, threshold=0.0).labels
    ]
    assert [one.rank for one in least] == list(range(1, len(least) + 1))


def test_the_rank_is_the_place_in_the_full_ranking(model: OnlinePLTClassifier) -> None:
    X = HASHED.transform(["others"])
    ranking = model.predict_topk(X, len(model.classes_))[0][0].tolist()
    for label in ("subject0", "subject8", "all"):
        assert model.explain(X, label).labels[0].rank == ranking.index(label) + 1


def test_dicts_arrays_and_lists_of_names() -> None:
    named = OnlinePLTClassifier().fit([{"bark": 1.0}, {"purr": 2.0, "fur": "red"}] * 3, [0, 1] * 3)
    path = named.explain({"purr": 1.0, "fur": "red"}, 1).labels[0].path
    assert {c.feature for c in path[-1].contributions} == {"purr", "fur=red"}
    dense = OnlinePLTClassifier().fit(np.eye(2), ["a", "b"])
    features = [
        dense.explain(np.array([0.0, 1.0]), "b", feature_names=names)
        .labels[0]
        .path[-1]
        .contributions
        for names in (None, ["first", "second"], {1: "one"})
    ]
    assert [found[0].feature for found in features] == [1, "second", "one"]


def test_nodes_are_those_of_the_tree_after_a_removal(model: OnlinePLTClassifier) -> None:
    clf = OnlinePLTClassifier(max_leaves=2)
    clf.fit(HASHED.transform(TEXTS[:12]), [[s] for s in SUBJECTS]).remove_labels(SUBJECTS[:5])
    tree = clf.tree_
    for label in SUBJECTS[5:]:
        path = clf.explain(HASHED.transform(["all"]), label).labels[0].path
        assert tree.labels[path[-1].node] == label
    with pytest.raises(DataError, match="'subject0' is not known"):
        clf.explain(HASHED.transform(["all"]), "subject0")


def test_everything_is_ready_for_json(model: OnlinePLTClassifier) -> None:
    explained = model.explain(HASHED.transform(["subject1"]), "subject2")
    found = json.loads(json.dumps(explained.to_dict()))
    assert found["labels"][0]["label"] == "subject2"
    assert found["labels"][0]["path"][-1]["product"] == explained.labels[0].probability


def test_paths_of_many_labels_are_those_explained_one_by_one(model: OnlinePLTClassifier) -> None:
    X = HASHED.transform(["subject3 and the others", "all", "subject5"])
    wanted = [["subject3", "nobody", "all"], [], ["subject11"]]
    paths = model.label_paths(X, wanted)
    at = 0
    for row, labels in enumerate(wanted):
        for label in labels:
            part = slice(paths.indptr[at], paths.indptr[at + 1])
            at += 1
            nodes, products = paths.nodes[part].tolist(), paths.products[part].tolist()
            if label == "nobody":
                assert nodes == products == []
                continue
            [one] = model.explain(X[[row]], label).labels
            assert nodes == [node.node for node in one.path]
            assert products == [node.product for node in one.path]
    assert at == len(paths.indptr) - 1
    with pytest.raises(DataError, match="2 rows: expected 3"):
        model.label_paths(X, [[], []])
    # Not the labels "a", "l" and "l".
    with pytest.raises(DataError, match=r"labels\[1\]='all': expected a collection"):
        model.label_paths(X, [["all"], "all", []])


@pytest.mark.parametrize("loss", ["squared_hinge", "log"])
def test_a_batch_tree_explains_itself_by_its_own_link(loss: str) -> None:
    clf = PLTClassifier(loss=loss, max_leaf_size=4, arity=2)
    clf.fit(HASHED.transform(TEXTS), [[s] for s in SUBJECTS * 6])
    text = "subject7 and the others"
    X = HASHED.transform([text])
    explained = clf.explain(X, k=1, feature_names=HASHED.words(text))
    [one] = explained.labels
    assert one.label == "subject7" and len(one.path) > 2
    assert one.path[-1].contributions[0].feature == "subject7"
    assert one.path[-1].product == one.probability == clf.predict_topk(X, 1)[1][0, 0]
    assert [clf.tree_.labels.get(node.node) for node in one.path][-1] == "subject7"
    paths = clf.label_paths(X, [["subject7"]])
    assert paths.products.tolist() == [node.product for node in one.path]


def test_several_trees_show_the_first_and_the_probability_of_all() -> None:
    clf = PLTClassifier(n_trees=3, max_leaf_size=2, arity=2)
    clf.fit(HASHED.transform(TEXTS), [[s] for s in SUBJECTS * 6])
    X = HASHED.transform(["subject7 subject2"])
    for label in SUBJECTS:
        [one] = clf.explain(X, label).labels
        found = clf.predict_topk(X, 1, labels=[label])[1][0, 0]
        assert one.probability == pytest.approx(float(found))
        assert one.path[0].node == 0
        [last] = clf.explain(X, label, k=1).labels
        if (fall := last.fallen_out) is not None:  # other trees may have decided
            assert not last.predicted and last.path[fall.step].product < fall.needed


def test_every_model_answers_in_one_form() -> None:
    X, y = HASHED.transform(TEXTS), SUBJECTS * 6
    shapes = set()
    for clf in (OnlinePLTClassifier(), PLTClassifier(), LOMTreeClassifier(), LdSMClassifier()):
        found = clf.fit(X, y).explain(X[[7]], k=1).to_dict()
        [one] = found["labels"]
        [*_, last] = one["path"]
        [heaviest, *_] = last["contributions"]
        shapes.add((*found, *one, *last, *heaviest))
        for step in one["path"]:
            parts = sum(part["contribution"] for part in step["contributions"])
            assert step["margin"] == pytest.approx(step["bias"] + parts + step["others"])
        if last["probability"] is not None:
            parts = np.cumprod([step["probability"] for step in one["path"]])
            assert [step["product"] for step in one["path"]] == pytest.approx(parts)
    assert len(shapes) == 1


def test_what_cannot_be_used_is_named(model: OnlinePLTClassifier) -> None:
    X = HASHED.transform(["a text"])
    with pytest.raises(NotLearnedError):
        OnlinePLTClassifier().explain(X)
    with pytest.raises(DataError, match="2 rows"):
        model.explain(HASHED.transform(["one", "two"]))
    with pytest.raises(DataError, match="'nobody' is not known"):
        model.explain(X, "nobody")
    with pytest.raises(ParameterError, match="k"):
        model.explain(X, k=0)


def test_words_of_a_text() -> None:
    words = HashedText(ngram_range=(1, 2)).words("Fish SOUP fish")
    assert sorted(words.values()) == ["fish", "fish soup", "soup", "soup fish"]
    assert HASHED.words("") == {}
    crowded = HashedText(n_features=1)
    assert crowded.words("oak elm oak") == {0: "oak / elm"}
    text = "the quick brown fox"
    assert set(HASHED.words(text)) == set(HASHED.transform([text]).indices.tolist())
    with pytest.raises(DataError, match="row 0"):
        HASHED.words(3)  # type: ignore[arg-type]


def test_columns_of_a_data_frame_are_named() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"height": [1.0, 0.0], "weight": [0.0, 1.0]})
    clf = OnlinePLTClassifier().fit(frame, ["tall", "heavy"])
    [tall] = clf.explain(frame.iloc[:1], "tall").labels
    assert tall.path[-1].contributions[0].feature == "height"


@pytest.mark.parametrize("names", [5, "ab"])
def test_names_are_a_collection(names: object) -> None:
    clf = OnlinePLTClassifier().fit([[1.0, 0.0]], [["x"]])
    with pytest.raises(ParameterError, match="expected a name for each column"):
        clf.explain([1.0, 0.0], feature_names=names)  # type: ignore[arg-type]


def test_a_series_is_a_row() -> None:
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"a": [1.0, 0.0], "b": [0.0, 1.0]})
    clf = OnlinePLTClassifier().fit(frame.to_numpy(), [["x"], ["y"]])
    assert clf.explain(frame.iloc[0]) == clf.explain(frame.to_numpy()[:1])
    assert clf.explain([1.0, 0.0]) == clf.explain([[1.0, 0.0]]) == clf.explain(frame.iloc[0])
    named = OnlinePLTClassifier().fit(frame, [["x"], ["y"]])
    assert named.explain(frame.iloc[0]) == named.explain(frame.iloc[:1])
    with pytest.raises(DataError, match="order"):
        named.explain(frame.iloc[0][["b", "a"]])


def test_features_of_one_name_may_cancel_out() -> None:
    clf = OnlinePLTClassifier().fit([[1, -1], [-0.5, 1]] * 20, [["a"], ["b"]] * 20)
    named = clf.explain([[1, -1]], "a", feature_names={0: ["x"], 1: ["x"]}).labels[0].path[-1]
    (x,) = named.contributions
    assert (x.feature, x.value, x.weight) == ("x", 0, 0)
    apart = clf.explain([[1, -1]], "a").labels[0].path[-1]
    assert x.contribution == pytest.approx(sum(one.contribution for one in apart.contributions))
    assert x.contribution != 0
