"""Progressive validation and held-out evaluation, with small predictable models."""

from __future__ import annotations

import json
import math
import pickle
import warnings
from collections import Counter
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import coo_matrix, csc_array, csr_array, csr_matrix, issparse
from sklearn.metrics import f1_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler

from labelgrove import (
    DataError,
    NotLearnedError,
    OnlinePLTClassifier,
    ParameterError,
    PLTClassifier,
    TextClassifier,
    metrics,
)
from labelgrove.evaluation import (
    ProgressPoint,
    StreamRecord,
    evaluate,
    iter_progressive,
    progressive_validation,
    race,
)
from labelgrove.evaluation._race import _standings


class Popular:
    """Predicts the most frequent labels so far, ties in order of arrival; records its calls."""

    def __init__(self) -> None:
        self.counts: Counter[Any] = Counter()
        self.calls: list[str] = []
        self.rows: list[Any] = []

    @property
    def classes_(self) -> np.ndarray:
        return np.array(list(self.counts))

    def partial_fit(self, X: Any, Y: Any) -> Popular:
        assert _height(X) == 1
        self.calls.append("learn")
        self.rows.append((X, Y))
        for labels in _label_lists(Y):
            self.counts.update(labels)
        return self

    def predict_topk(self, X: Any, k: int = 5) -> tuple[np.ndarray, np.ndarray]:
        self.calls.append("predict")
        if not self.counts:
            raise NotLearnedError("nothing learnt yet")
        best = [label for label, _ in self.counts.most_common(k)]
        empty = -1 if isinstance(best[0], int) else None
        row = np.array(best + [empty] * (k - len(best)), dtype=object if empty is None else int)
        score = np.array([1.0 - i / 10 for i in range(len(best))] + [np.nan] * (k - len(best)))
        n = _height(X)
        return np.tile(row, (n, 1)), np.tile(score.astype(np.float32), (n, 1))


def _height(X: Any) -> int:
    return int(X.shape[0]) if hasattr(X, "shape") else len(X)


def _label_lists(Y: Any) -> list[list[Any]]:
    if issparse(Y):
        return [row.indices.tolist() for row in csr_array(Y)]
    return [[y] if isinstance(y, str | int | np.integer) else list(y) for y in Y]


def naive_course(rows: list[list[str]], k: int, window: int) -> Iterator[tuple[Any, ...]]:
    """P@1..k of `Popular` after every example, over all and over the latest."""
    counts: Counter[str] = Counter()
    hits: list[list[bool]] = []
    for labels in rows:
        best = [label for label, _ in counts.most_common(k)]
        hits.append([label in labels for label in best] + [False] * (k - len(best)))
        counts.update(dict.fromkeys(labels, 1))
        recent = hits[-window:]
        yield (
            len(counts),
            [sum(sum(h[:j]) for h in hits) / (j * len(hits)) for j in range(1, k + 1)],
            [sum(sum(h[:j]) for h in recent) / (j * len(recent)) for j in range(1, k + 1)],
        )


ROWS = st.lists(st.lists(st.sampled_from("abcdef"), max_size=4), min_size=1, max_size=40)


@given(ROWS, st.integers(1, 4), st.integers(1, 10))
def test_the_course_is_what_the_definitions_say(rows: list[list[str]], k: int, window: int) -> None:
    points = list(
        iter_progressive(Popular(), (({"x": 1.0}, row) for row in rows), k, window=window, every=1)
    )
    expected = list(naive_course(rows, k, window))
    assert [point.examples for point in points] == list(range(1, len(rows) + 1))
    for point, (n_labels, precision, recent) in zip(points, expected, strict=True):
        assert point.n_labels == n_labels
        assert point.precision == pytest.approx(precision)
        assert point.recent_precision == pytest.approx(recent)
        classes = all(len(set(row)) == 1 for row in rows[: point.examples])
        assert math.isnan(point.entropy_reduction) != classes


@given(st.lists(st.sampled_from("abc"), min_size=1, max_size=40))
def test_multi_class_gives_accuracy_and_entropy_reduction(classes: list[str]) -> None:
    X = np.zeros((len(classes), 2))
    result = progressive_validation(Popular(), (X, classes), 2, every=1)
    guesses: list[str] = []
    for i in range(len(classes)):
        before = Counter(classes[:i]).most_common(1)
        guesses.append(before[0][0] if before else "")
        seen = classes[: i + 1]
        assert result.accuracy[i] == pytest.approx(metrics.accuracy(seen, guesses))
        bits = metrics.entropy_reduction(seen, guesses)
        assert result.entropy_reduction[i] == pytest.approx(bits)


def test_every_example_is_predicted_before_it_is_learnt() -> None:
    clf = Popular()
    progressive_validation(clf, [({"x": 1.0}, ["a"])] * 5)
    assert clf.calls == ["predict", "learn"] * 5


def test_checkpoints_are_powers_of_two_multiples_and_the_end() -> None:
    stream = [({"x": 1.0}, ["a"])] * 21
    assert progressive_validation(Popular(), stream).examples.tolist() == [1, 2, 4, 8, 16, 21]
    result = progressive_validation(Popular(), stream, every=10)
    assert result.examples.tolist() == [1, 2, 4, 8, 10, 16, 20, 21]
    assert progressive_validation(Popular(), stream[:16]).examples.tolist() == [1, 2, 4, 8, 16]


def test_hits_are_extrapolated_to_batches_without_predictions() -> None:
    record = StreamRecord(places=2)
    record.add([["a"], ["b"], ["c"], ["d"]], [["a", "x"], ["a", "b"]])
    record = StreamRecord.resumed(json.loads(json.dumps(record.state())))
    record.add([["a"], ["b"]], None)
    assert record.examples == 6
    assert record.point().precision == (0.5, 0.5)
    record.add([["a"]], [])
    record.add([["a"]], None)
    assert record.point().precision == (3 / 8, 3 / 8)
    for label in "aab":  # a run of single rows
        record.add([[label]], [["a"]])
    record.add([["b"]] * 3, None)
    assert record.point().precision[0] == pytest.approx((3 + 2 + 2) / 14)
    assert record.point().recent_precision == record.point().precision  # of one window
    record.add([], [])
    record.add([["a"]], None)
    assert record.point().precision[0] == pytest.approx((3 + 2 + 2) / 15)


def test_every_place_asked_for_is_measured() -> None:
    result = progressive_validation(Popular(), [({}, list("abcdefg"))] * 2, 7)
    assert result.precision[-1].tolist() == [0.5] * 7


def test_more_predictions_than_rows_are_refused() -> None:
    with pytest.raises(DataError, match="predicted has 2 rows: expected at most 1, as true"):
        StreamRecord().add([["a"]], [["a"], ["b"]])


def test_recent_figures_are_those_of_the_latest_thousand() -> None:
    result = progressive_validation(Popular(), [({}, "a")] * 1001)
    assert result.accuracy[-1] == 1000 / 1001  # nothing was known before the first
    assert result.recent_accuracy[-1] == 1.0


def test_a_place_without_a_score_is_no_prediction_on_a_stream() -> None:
    class Silent(Popular):
        def predict_topk(self, X: Any, k: int = 5) -> Any:
            return np.full((1, k), -1), np.full((1, k), np.nan)

    assert progressive_validation(Silent(), [({}, -1)] * 2).accuracy.tolist() == [0.0, 0.0]


def test_the_model_learns_no_further_than_the_point_that_was_asked_for() -> None:
    clf = Popular()
    points = iter_progressive(clf, [({"x": 1.0}, ["a"])] * 9)
    for n in (1, 2, 4, 8, 9):
        assert next(points).examples == n
        assert clf.calls.count("learn") == n


def test_the_callback_sees_what_the_result_holds() -> None:
    seen: list[ProgressPoint] = []
    rows = [["a"], ["a", "b"], ["b"], [], ["c"]]
    stream = [({"x": 1.0}, row) for row in rows]
    result = progressive_validation(Popular(), stream, 3, window=2, callback=seen.append)
    assert [point.examples for point in seen] == result.examples.tolist()
    assert [point.accuracy for point in seen] == result.accuracy.tolist()
    assert [point.recent_accuracy for point in seen] == result.recent_accuracy.tolist()
    assert [list(point.precision) for point in seen] == result.precision.tolist()
    assert result.precision.shape == result.recent_precision.shape == (4, 3)
    assert result.n_labels.tolist() == [1, 2, 2, 3]
    assert result.seconds[0] > 0
    assert (np.diff(result.seconds) >= 0).all()


def test_a_model_that_knows_something_is_asked_from_the_first_example_on() -> None:
    clf = Popular().partial_fit([{}], [["a"]])
    result = progressive_validation(clf, [({"x": 1.0}, ["a"])], 1)
    assert result.accuracy.tolist() == [1.0]


def test_a_model_that_has_learnt_may_not_say_that_it_has_not() -> None:
    class Forgetful(Popular):
        def predict_topk(self, X: Any, k: int = 5) -> Any:
            raise NotLearnedError("nothing learnt yet")

    with pytest.raises(NotLearnedError):
        progressive_validation(Forgetful(), [({}, ["a"])] * 2)


DENSE = np.array([[1.0, 0.0], [0.0, 2.0], [3.0, 0.0]])
SETS = [[0], [1], [0, 1]]


@pytest.mark.parametrize(
    ("X", "Y"),
    [
        (DENSE, SETS),
        (csr_array(DENSE), SETS),
        (coo_matrix(DENSE), SETS),
        (csr_matrix(DENSE), SETS),
        (csc_array(DENSE), SETS),
        (DENSE.tolist(), SETS),
        ([{"a": 1.0}, {"b": 2.0}, {"a": 3.0}], SETS),
        (DENSE, csr_array([[1, 0], [0, 1], [1, 1]])),
        (DENSE, coo_matrix([[1, 0], [0, 1], [1, 1]])),
        (DENSE, [{0}, {1}, {0, 1}]),
        (DENSE, [np.array([0]), np.array([1]), np.array([0, 1])]),
    ],
)
def test_arrays_of_any_kind_are_cut_into_rows(X: Any, Y: Any) -> None:
    clf = Popular()
    result = progressive_validation(clf, (X, Y), 2)
    assert result.examples.tolist() == [1, 2, 3]
    assert result.precision[-1].tolist() == pytest.approx([1 / 3, 2 / 6])
    assert [_height(y) for _, y in clf.rows] == [1, 1, 1]
    if issparse(X):
        np.testing.assert_array_equal([x.toarray()[0] for x, _ in clf.rows], DENSE)


@pytest.mark.parametrize("y", [[1, 2, 1], np.array([1, 2, 1], dtype=np.int32), ("a", "b", "a")])
def test_single_labels_of_any_kind_are_classes(y: Any) -> None:
    clf = Popular()
    result = progressive_validation(clf, (DENSE, y), 1)
    assert result.n_labels[-1] == 2
    assert all(len(given) == 1 for _, given in clf.rows)


@pytest.mark.parametrize(
    ("x", "labels", "given"),
    [
        (np.array([1.0, 2.0]), "oak", ["oak"]),
        ([1.0, 2.0], np.int64(7), [7]),
        (np.array([[1.0, 2.0]]), ["oak", "elm", "oak"], [["oak", "elm"]]),
        (csr_array([[1.0, 2.0]]), {7}, [[7]]),
        ({"a": 1.0}, (), [[]]),
        ("some text", "oak", ["oak"]),
    ],
)
def test_single_examples_of_any_kind_become_batches_of_one(x: Any, labels: Any, given: Any) -> None:
    clf = Popular()
    progressive_validation(clf, iter([(x, labels)]))
    X, Y = clf.rows[0]
    assert _height(X) == 1
    assert given == Y
    assert progressive_validation(Popular(), ((x, labels), (x, labels))).examples[-1] == 2


@pytest.mark.parametrize(
    ("stream", "message"),
    [
        ([], "stream holds no examples"),
        ((np.zeros((0, 2)), []), "stream holds no examples"),
        (7, "stream is a int: expected a pair"),
        ([({}, ["a"]), ({}, ["a"], 1)], r"example 1: expected a pair \(x, labels\)"),
        ([({}, ["a"]), ({}, "a")], "example 1: single labels and collections of labels are mixed"),
        ([({}, [0.5])], r"example 0: .*0\.5"),
        ([({}, None)], "example 0: .*None"),
        ([(np.zeros((2, 2)), ["a"])], r"example 0: x of shape \(2, 2\) found"),
        ((DENSE, [["a"]]), "X has 3 rows and Y has 1"),
        ((DENSE, [["a"], "b", ["c"]]), "Y, row 1: a single label"),
        ((DENSE, "abc"), "Y is a str: expected a 1-D array"),
        ((DENSE, csr_array([[1], [2], [0]])), "Y, row 1, column 0: 2, expected 0 or 1"),
    ],
)
def test_bad_streams_are_named(stream: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        progressive_validation(Popular(), stream)


def test_a_model_that_learns_only_in_batch_is_refused_on_a_stream() -> None:
    for clf in PLTClassifier(), TextClassifier(PLTClassifier()):
        with pytest.raises(ParameterError, match=r"^clf is .*PLTClassifier\(\)\)?, which has no"):
            progressive_validation(clf, [({"a": 1}, ["b"])])


@pytest.mark.parametrize("wrong", [{"k": 0}, {"window": 0}, {"every": 0}, {"every": 2.5}])
def test_parameters_outside_their_domain_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ParameterError, match=next(iter(wrong))):
        progressive_validation(Popular(), [({}, ["a"])], **wrong)


class Fixed:
    """Returns the answers given to its constructor."""

    def __init__(self, labels: Any, scores: Any = None, classes: Any = ()) -> None:
        self.labels = np.asarray(labels)
        self.scores = np.ones(self.labels.shape) if scores is None else np.asarray(scores)
        self.classes_ = np.asarray(classes)

    def predict_topk(self, X: Any, k: int = 5) -> tuple[np.ndarray, np.ndarray]:
        return self.labels[:, :k], self.scores[:, :k]


TREES = Fixed(
    [["oak", "elm", "ash"], ["elm", "oak", None], ["ash", None, None]],
    [[0.9, 0.5, 0.1], [0.4, 0.2, np.nan], [0.3, np.nan, np.nan]],
    ["oak", "elm", "ash"],
)
TRUE = [["oak", "ash"], ["oak", "yew"], ["fir", "yew"]]


def test_held_out_figures_agree_with_the_metrics() -> None:
    found = evaluate(TREES, DENSE, TRUE, ks=(1, 3))
    Y = csr_array([[1, 0, 1, 0, 0], [1, 0, 0, 1, 0], [0, 0, 0, 1, 1]])
    ranking = [[0, 1, 2], [1, 0, -1], [2, -1, -1]]
    expected = metrics.ranking_metrics(Y, ranking, (1, 3))
    for name in ("p@1", "p@3", "r@1", "r@3", "ndcg@1", "ndcg@3"):
        assert found[name] == expected[name], name
    assert found["p@1"] == pytest.approx(1 / 3)
    names = ["p@1", "p@3", "r@1", "r@3", "ndcg@1", "ndcg@3"]
    assert list(evaluate(TREES, DENSE, TRUE, ks=(3, 1, 3)))[:6] == names
    assert found["examples"] == 3
    assert found["examples_without_labels"] == 0
    assert found["labels_in_test"] == 4
    assert found["unknown_labels"] == 2  # yew and fir
    assert found["unknown_label_share"] == 3 / 6
    assert found["examples_per_second"] == pytest.approx(3 / found["seconds"])
    assert not {"psp@1", "accuracy", "classifiers_per_example"} & set(found)


def test_propensities_come_from_the_training_labels() -> None:
    Y_train = [["oak"], ["oak", "elm"], ["oak", "ash"], ["elm"]]
    found = evaluate(TREES, DENSE, TRUE, ks=[1, 3], Y_train=Y_train, A=0.6, B=2.6)
    q = metrics.inverse_propensity([3, 2, 1, 0, 0], n_examples=4, A=0.6, B=2.6)
    Y = csr_array([[1, 0, 1, 0, 0], [1, 0, 0, 1, 0], [0, 0, 0, 1, 1]])
    ranking = [[0, 1, 2], [1, 0, -1], [2, -1, -1]]
    assert found["psp@1"] == metrics.psp_at_k(Y, ranking, q, 1)
    assert found["psndcg@3"] == metrics.psndcg_at_k(Y, ranking, q, 3)
    counts = {"oak": 3, "elm": 2, "ash": 1}
    again = evaluate(TREES, DENSE, TRUE, ks=[1, 3], label_counts=counts, n_train=4, A=0.6, B=2.6)
    assert again["psp@3"] == found["psp@3"]
    usual = metrics.inverse_propensity([3, 2, 1, 0, 0], n_examples=4)
    found = evaluate(TREES, DENSE, TRUE, ks=[1], Y_train=Y_train)
    assert found["psp@1"] == metrics.psp_at_k(Y, ranking, usual, 1)


@pytest.mark.parametrize(
    "model",
    [
        PLTClassifier(solver="adagrad", max_iter=3),
        OnlinePLTClassifier(epochs=3),
        TextClassifier(OnlinePLTClassifier(epochs=3)),
    ],
)
def test_propensities_count_examples_once_whatever_the_passes(model: Any) -> None:
    texts = ["oak", "oak elm", "oak ash", "elm"] * 3
    X: Any = texts if isinstance(model, TextClassifier) else [[len(text), 1] for text in texts]
    Y = [text.split() for text in texts]
    model.fit(X, Y)
    found, given = evaluate(model, X, Y, ks=[1]), evaluate(model, X, Y, ks=[1], Y_train=Y)
    assert found["psp@1"] == given["psp@1"]
    if hasattr(model, "partial_fit"):
        model.partial_fit(X[:5], Y[:5]).partial_fit(X[:5], Y[:5], again=True)
        model = pickle.loads(pickle.dumps(model))
        found = evaluate(model, X, Y, ks=[1])
        given = evaluate(model, X, Y, ks=[1], Y_train=[*Y, *Y[:5]])
        assert found["psp@1"] == given["psp@1"] and model.examples_seen_ == 3 * len(Y) + 10


def test_integer_labels_matrices_and_classes() -> None:
    clf = Fixed([[2, 0], [1, -1]], [[0.5, 0.4], [0.3, np.nan]], [1, 2, 0])
    Y = csr_array([[1, 0, 1, 0], [0, 0, 0, 1]])
    found = evaluate(clf, csr_array((2, 9)), Y, ks=[1, 2], Y_train=csr_array(np.eye(4)))
    assert (found["p@1"], found["p@2"], found["unknown_labels"]) == (0.5, 0.5, 1)
    assert found["psp@2"] > 0
    found = evaluate(clf, [{}, {}], np.array([2, 1]), ks=[1])
    assert found["accuracy"] == found["p@1"] == 1.0


def test_classes_have_an_error_with_its_margin_and_the_bits_gained() -> None:
    y, best = [0, 1, 1, 2, 2], [0, 1, 1, 2, 0]
    clf = Fixed([[label] for label in best], classes=[0, 1, 2])
    found = evaluate(clf, np.zeros((5, 1)), y, ks=[1])
    assert found["accuracy"] == 4 / 5
    assert found["error"] == pytest.approx(1 / 5)
    assert found["error_margin"] == pytest.approx(metrics.binomial_margin(1 / 5, 5))
    assert found["entropy_reduction"] == metrics.entropy_reduction(y, best) == pytest.approx(1.0)
    assert evaluate(clf, np.zeros((5, 1)), [2, 2, 0, 0, 2], ks=[1])["entropy_reduction"] is None


def test_classes_have_the_macro_f1_of_the_best_label_whatever_reaches_a_threshold() -> None:
    X, y = np.eye(4)[[0, 1, 2, 3, 0]], [0, 1, 1, 2, 2]
    clf = OnlinePLTClassifier().fit(X[:4], [[0], [1], [2], [3]])
    best = clf.predict_topk(X, 1)[0].ravel().tolist()
    found = evaluate(clf, X, [[label] for label in y], threshold=1.0, interval=0.9)
    assert found["macro_f1"] == 0.0
    true = f1_score(y, best, labels=[0, 1, 2], average="macro")
    assert found["best_macro_f1"] == pytest.approx(true) and true > 0
    assert found["best_macro_f1"].interval is not None
    assert "best_macro_f1" not in evaluate(clf, X, [[0], [0, 1], [1], [2], [2]])


def test_a_place_without_a_score_is_empty_even_where_minus_one_is_a_label() -> None:
    clf = Fixed([[-1, 5], [5, -1]], [[0.5, 0.4], [0.5, np.nan]], [-1, 5])
    found = evaluate(clf, DENSE[:2], [[-1], [-1]], ks=[2])
    assert found["r@2"] == 0.5


def test_what_the_search_reports_is_passed_on() -> None:
    class Reporting(Fixed):
        def predict_topk(self, X: Any, k: int = 5, *, return_stats: bool = False) -> Any:
            stats = SimpleNamespace(classifiers=np.array([4, 6, 8]), depth=np.array([1, 2, 2]))
            return (*super().predict_topk(X, k), stats)[: 3 if return_stats else 2]

    found = evaluate(Reporting(TREES.labels, TREES.scores), DENSE, TRUE, ks=[1], interval=0.9)
    assert found["classifiers_per_example"] == 6.0
    assert found["search_depth"] == pytest.approx(5 / 3)
    assert found["unknown_labels"] == 4
    assert found["p@1"].interval is not None  # type: ignore[attr-defined]


def test_rows_without_labels_and_models_without_classes() -> None:
    clf = Fixed([[None], [None]], [[np.nan], [np.nan]])
    found = evaluate(clf, DENSE[:2], [[], []], ks=[1], zero_division=1)
    assert (found["p@1"], found["r@1"], found["unknown_labels"]) == (0.0, 1.0, 0)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"ks": []}, ParameterError, "ks is empty"),
        ({"ks": 5}, ParameterError, "ks=5: expected a list of integers"),
        ({"ks": [0]}, ParameterError, "k=0: expected an integer from 1"),
        ({"Y": TRUE[:2]}, DataError, "X has 3 rows and Y has 2"),
        ({"X": [], "Y": []}, DataError, "there are no examples"),
        ({"ks": [4]}, DataError, r"labels of shape \(3, 3\) .* expected \(3, 4\) for both"),
        ({"label_counts": {}}, ParameterError, "expected both or neither"),
        ({"n_train": 7}, ParameterError, "expected both or neither"),
        (
            {"label_counts": {"a": 1}, "n_train": "9"},
            ParameterError,
            "n_train='9': expected an integer",
        ),
        ({"Y_train": TRUE, "n_train": 7}, ParameterError, "Y_train is given"),
        ({"Y_train": [["a"], 1.5]}, DataError, "Y_train, row 1: a single label"),
        ({"Y_train": [[1], [2]]}, DataError, "Y_train: found labels such as 1, .* strings in both"),
        ({"label_counts": {1: 5}, "n_train": 9}, DataError, "label_counts: found labels such as 1"),
    ],
)
def test_bad_calls_are_named(
    arguments: dict[str, Any], error: type[Exception], message: str
) -> None:
    call = {"X": DENSE, "Y": TRUE, "ks": [1]} | arguments
    with pytest.raises(error, match=message):
        evaluate(TREES, **call)


def test_a_model_without_rankings_is_named() -> None:
    pipeline = make_pipeline(MaxAbsScaler(), OnlinePLTClassifier()).fit(np.eye(2), ["a", "b"])
    with pytest.raises(ParameterError, match="^Pipeline has no predict_topk; expected an est"):
        evaluate(pipeline, np.eye(2), ["a", "b"])
    assert evaluate(pipeline[-1], pipeline[:-1].transform(np.eye(2)), ["a", "b"])["p@1"] == 1


class Knows:
    """Says of a row its first number, unless that is below what it does not know."""

    def __init__(self, unknown: float = 0.0) -> None:
        self.unknown = unknown

    def get_params(self, deep: bool = True) -> dict[str, float]:
        return {"unknown": self.unknown}

    def fit(self, X: Any, y: Any) -> Knows:
        self.classes_ = np.unique(y)
        return self

    def predict_topk(self, X: Any, k: int = 5) -> Any:
        share = np.asarray(X)[:, 1]
        ranking = np.tile(np.arange(100, 100 + k), (len(share), 1))
        ranking[share >= self.unknown, 0] = np.asarray(X)[share >= self.unknown, 0]
        return ranking, np.ones(ranking.shape)


def test_in_a_race_those_clearly_behind_drop_out() -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 5, 9000)
    X = np.column_stack([y, rng.random(len(y))])
    models = {"half": Knows(0.5), "all": Knows(), "all but few": Knows(0.002)}
    rounds = race(models, X, y, n_examples=5000)
    assert [one.examples for one in rounds] == [1000, 2000, 4000, 5000]
    assert [one.name for one in rounds[0].standings] == ["all", "all but few", "half"]
    assert [one.name for one in rounds[1].standings if not one.goes_on] == ["half"]
    assert rounds[0].standings[2].behind == pytest.approx(0.5, abs=0.05)
    assert rounds[0].standings[2].error == pytest.approx(0.5 / 1000**0.5, rel=0.05)
    assert {one.name for one in rounds[-1].standings} == {"all", "all but few"}
    assert race(models, X, y, n_examples=5000) == rounds
    equal = race({"all": Knows(), "as good": Knows()}, X, y)
    assert [one.examples for one in equal] == [1000, 2000, 4000]
    alone = race({"half": Knows(0.5)}, X, y)
    assert (len(alone), alone[0].standings[0].behind) == (1, 0.0)


@pytest.mark.parametrize(
    ("missed", "before", "goes_on"),
    [(5, 0.0, True), (6, 1.0, False), (6, 1.1, True), (6, np.inf, True)],
)
def test_who_drops_out_is_three_standard_errors_behind_and_does_not_catch_up(
    missed: int, before: float, goes_on: bool
) -> None:
    right = np.ones(11)
    gains = {"a": np.where(np.arange(11) < missed, 0.0, right), "best": right}
    first, second = _standings(gains, {"a": before, "best": 0.0})
    assert (first.name, first.goes_on) == ("best", True)
    assert (second.name, second.goes_on) == ("a", goes_on)


def test_a_race_is_scored_by_the_first_five_places() -> None:
    class Late(Knows):
        def fit(self, X: Any, y: Any) -> Knows:
            assert (np.diff(X[:, 0]) > 0).all()  # examples are learnt in their order
            return super().fit(X, y)

        def predict_topk(self, X: Any, k: int = 5) -> Any:
            ranking, scores = super().predict_topk(X, k)
            return ranking[:, [*range(1, 5), 0]], scores

    rows = np.arange(20)
    [[only]] = [
        one.standings for one in race({"late": Late()}, np.column_stack([rows, rows]), rows)
    ]
    assert only.ndcg == pytest.approx(1 / math.log2(6))
    blank = race({"plt": PLTClassifier()}, np.eye(6), [["a"], []] * 3)
    assert blank[0].standings[0].ndcg == 0.5  # without labels, nothing can be right


def test_what_cannot_race_is_refused() -> None:
    for models, y, n, says in (
        ({}, [1, 2, 3], 9, "models={}: expected a dict"),
        ([Knows()], [1, 2, 3], 9, "expected a dict"),
        ({"all": Knows()}, [1, 2], 9, "found 2 examples"),
        ({"all": Knows()}, [1], 9, "found 1 example; expected at least 3"),
        ({"all": Knows()}, [1, 2, 3], 2, "n_examples=2"),
        ({"all": Knows()}, [1, 2, 3], 4.5, "n_examples=4.5: expected an integer"),
    ):
        with pytest.raises(ValueError, match=says):
            race(models, np.zeros((len(y), 2)), y, n_examples=n)
    with pytest.raises(DataError, match="X and Y: .*inconsistent numbers of samples"):
        race({"all": Knows()}, np.zeros((4, 2)), [1, 2, 3])


def test_any_sparse_matrix_may_race() -> None:
    X, y = coo_matrix(np.eye(3)), list("aba")
    models = {"plt": PLTClassifier()}
    assert race(models, X, y)[-1].examples == 3


def test_a_model_of_classes_predicts_classes_whatever_the_form_of_the_labels() -> None:
    X = [[1.0, 0.0], [0.0, 1.0]] * 3
    sets, classes = [["a"], ["b"]] * 3, ["a", "b"] * 3
    names = ("accuracy", "macro_f1", "labels_per_example")
    for learnt in (sets, classes):
        for asked in (sets, classes):
            clf = PLTClassifier().fit(X, learnt)
            found = evaluate(clf, X, asked, ks=[1, 3], interval=0.9)
            assert [found[name] for name in names] == [1.0] * 3
            assert found["accuracy"].interval == (1.0, 1.0)
            assert found["search_depth"].interval is not None


def test_a_threshold_decides_on_the_sets() -> None:
    X, Y = [[1.0, 0.0], [0.0, 1.0]] * 3, [["a"], ["b", "c"]] * 3
    clf = PLTClassifier().fit(X, Y)
    for threshold in (0.3, [0.9, 0.2, 0.7]):
        found = evaluate(clf, X, Y, ks=[1], threshold=threshold)
        truth = csr_array([[1, 0, 0], [0, 1, 1]] * 3)
        expected = metrics.set_metrics(truth, clf.predict_proba(X, threshold=threshold) > 0)
        for name in ("macro_f1", "micro_f1", "instance_f1"):
            assert found[name] == expected[name]


def test_the_f1_of_an_example_with_nothing_true_and_nothing_predicted_is_what_one_says() -> None:
    X = [[1.0, 0.0], [0.0, 1.0]]
    clf = PLTClassifier().fit(X, [["a"], ["b", "c"]])
    for zero in (0, 1):
        found = evaluate(clf, X, [["a"], []], ks=[1], threshold=2.0, zero_division=zero)
        assert found["instance_f1"] == zero / 2


def test_strings_are_no_numbers() -> None:
    clf = PLTClassifier().fit([[1.0, 0.0], [0.0, 1.0]], [["1"], ["2"]])
    with pytest.raises(DataError, match="such as 1, but the model has labels such as '1'"):
        evaluate(clf, [[1.0, 0.0]], [[1]], ks=[1])
    assert evaluate(clf, [[1.0, 0.0]], [["3"]], ks=[1])["p@1"] == 0.0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert evaluate(clf, [[1.0, 0.0]], [[]], ks=[1])["p@1"] == 0.0
