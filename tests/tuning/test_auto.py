"""Thresholds that borrow: agreement with the twin, no harm, and the goals are reached."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from math import inf
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from labelgrove import DataError, ParameterError
from labelgrove.metrics import f_measure
from labelgrove.metrics import precision as precision_of
from labelgrove.metrics import recall as recall_of
from labelgrove.tuning import (
    SetFigures,
    Thresholds,
    _auto,
    cross_fitted,
    set_figures,
    tune_auto,
    tune_ofo,
    tune_sto,
)
from labelgrove.tuning._auto import LEAST, Goal, _Reached, best_single
from labelgrove.tuning._borrowing import Bands, Setting
from naive import thresholds as twins
from tuning.problems import Problem, problems

CANDIDATES = [0.05, 0.125, 0.3, 0.5]
SETTINGS = st.sampled_from(
    [
        Setting(strength, *rest)
        for strength in (1.0, 4.0, inf)
        for rest in ((0.0, None), (1.0, None), (None, 0.2))
    ]
)


def long_tail(seed: int = 0) -> tuple[csr_array, csr_array, np.ndarray]:
    """Few rows, many labels, most of them rare and told apart by chance alone."""
    rng = np.random.default_rng(seed)
    n, m = 200, 1500
    share = 1 / np.arange(1, m + 1)
    Y = rng.random((n, m)) < 4 * share / share.sum()
    noise = 0.1 * rng.random((n, m))
    known = np.where(np.arange(m) < 100, rng.beta(2, 3, (n, m)), noise)
    scores = np.maximum(noise * (rng.random((n, m)) < 0.3), Y * known)
    return csr_array(Y.astype(np.int8)), csr_array(scores), n * 10 * share


@given(problems(), SETTINGS, st.lists(st.integers(0, 300), min_size=4, max_size=4))
def test_labels_borrow_as_the_twin_does(
    problem: Problem, setting: Setting, frequencies: list[int]
) -> None:
    known = frequencies[: problem.Y.shape[1]]
    borrows_as_the_twin(problem.Y, problem.scores, CANDIDATES, known, setting, problem.zero)


@pytest.mark.parametrize("weight", [0.25, 4.0, 16.0])
def test_both_f_weigh_as_in_the_twin(weight: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """With more rows than random problems have, so that both matter."""
    monkeypatch.setattr(_auto, "_TOGETHER", 5)  # labels counted together, of twelve
    rng = np.random.default_rng(0)
    known = rng.integers(1, 200, 12).tolist()
    scores = rng.random((60, 12)) ** 3
    Y = (rng.random(scores.shape) < scores).astype(np.int8)
    candidates = np.linspace(0.05, 0.5, 10).tolist()
    for strength in (4.0, 16.0, inf):
        borrows_as_the_twin(Y, scores, candidates, known, Setting(strength, weight, None), 0.0)


@pytest.mark.parametrize(("weight", "zero"), [(0.25, 0.0), (1.0, 0.0), (4.0, 0.0), (0.25, 1.0)])
def test_labels_without_counts_weigh_both_f_as_in_the_twin(weight: float, zero: float) -> None:
    for seed in range(4):
        rng = np.random.default_rng(seed)
        scores = rng.random((60, 12)) ** 3
        scores[:, [5, 10, 11]] = 0  # neither scored nor true; in two bands, of one frequency each
        Y = (rng.random(scores.shape) < scores).astype(np.int8)
        candidates = np.linspace(0.05, 0.5, 10).tolist()
        setting = Setting(16.0, weight, None)
        borrows_as_the_twin(Y, scores, candidates, [20] * 6 + [200] * 6, setting, zero)


def borrows_as_the_twin(
    Y: np.ndarray,
    scores: np.ndarray,
    candidates: list[float],
    known: list[int],
    setting: Setting,
    zero: float,
) -> None:
    m = Y.shape[1]
    pairs = _Reached(Y, scores, np.array(candidates), zero)
    bands = Bands.of(known, pairs.positives)
    members = [np.flatnonzero(bands.of_label == b).tolist() for b in range(max(bands.of_label) + 1)]
    assert [j for band in members for j in band] == sorted(
        range(m), key=lambda j: (bands.of_label[j], j)
    )
    values = twins.borrowed(Y.tolist(), scores.tolist(), candidates, members, known, setting, zero)
    (own,), (of_band,) = pairs.curves(bands)[0].thresholds([setting])
    chosen = of_band[bands.of_label]
    chosen[pairs.labels] = own
    for j in range(m):
        # Sums in another order may differ in the last bit, and so may the best of near ties.
        assert values[j][chosen[j]] == pytest.approx(max(values[j]), abs=1e-9)


@given(
    st.lists(
        st.tuples(
            st.sampled_from([0, 1, 3, 4, 5, 15, 16, 63, 64, 300, 5000]),
            st.sampled_from([0, 1, 10, 19, 20, 30]),
        ),
        min_size=1,
        max_size=20,
    )
)
def test_bands_span_a_factor_of_four_or_more_if_there_are_few_positives(
    labels: list[tuple[int, int]],
) -> None:
    frequencies, positives = map(list, zip(*labels, strict=True))
    bands: list[list[int]] = [[]]
    for power in range(7):
        if sum(positives[j] for j in bands[-1]) >= 20:
            bands.append([])
        low, high = 4**power if power else 0, 4 ** (power + 1)
        bands[-1] += [j for j, often in enumerate(frequencies) if low <= often < high]
    if len(bands) > 1 and sum(positives[j] for j in bands[-1]) < 20:
        bands[-2:] = [bands[-2] + bands[-1]]
    found = Bands.of(frequencies, np.array(positives)).of_label
    assert [np.flatnonzero(found == b).tolist() for b in range(max(found) + 1)] == [
        sorted(band) for band in bands
    ]


@settings(max_examples=25)
@given(problems(), st.sampled_from(["macro", "micro", "instance"]), st.integers(0, 2))
def test_it_is_never_worse_than_the_best_single_threshold(
    problem: Problem, average: str, least_labels: int
) -> None:
    Y, scores, zero = problem.Y, problem.scores, problem.zero
    options = {"average": average, "lower": 0.05, "zero_division": zero}
    tuned = tune_auto(Y, scores, **options, least_labels=least_labels)
    assert tuned.least_labels == least_labels
    assert tuned.single is not None
    assert tuned.single_figures is not None
    assert tuned.cross_fitted is not None
    if not least_labels:
        assert best_single(Y, scores, average, 0.05, None, zero)[1] == tuned.single_figures
    reached = twins.predict(scores.tolist(), [tuned.single] * Y.shape[1])
    single = np.array(twins.with_best(reached, scores.tolist(), least_labels))
    for name in ("macro", "micro"):
        reached = getattr(tuned.single_figures, name)
        expected = f_measure(csr_array(Y), csr_array(single), average=name, zero_division=zero)
        assert reached == pytest.approx(expected)
        assert getattr(tuned.cross_fitted, name) >= reached
    assert (tuned.values >= 0.05 * (1 - 1e-12)).all()
    assert (tuned.values <= 0.5).all()


def test_the_single_threshold_lies_amid_those_that_are_as_good() -> None:
    Y, scores = np.eye(4, 1, dtype=int), np.array([[0.4], [0.02], [0.02], [0.01]])
    tuned = tune_auto(Y, scores)
    assert tuned.single == pytest.approx(np.sqrt(0.4 * 0.02), rel=0.11)  # between two candidates
    assert tune_auto(Y, scores, least_recall=1).single == pytest.approx(0.4)
    assert tune_auto(Y[::-1], scores * [[1], [1], [1], [0]]).single == 0.5  # nothing is right


@pytest.mark.parametrize("average", ["macro", "micro", "instance"])
def test_what_gains_one_f_and_loses_the_other_is_not_taken(average: str) -> None:
    rng = np.random.default_rng(0)
    scores = rng.random((120, 12)) ** 3
    share = np.array([0.4, 0.3, *([0.03] * 10)])
    Y = (rng.random((120, 12)) < share * (0.2 + 2 * scores)).astype(int)
    tuned = tune_auto(Y, scores, average=average)
    found = best_single(Y, scores, average, LEAST, None, 0.0)
    assert found == (tuned.single, tuned.single_figures)
    assert average == "instance" or tuned.least_labels == 0
    assert tuned.cross_fitted is not None
    assert tuned.single_figures is not None
    assert tuned.cross_fitted.macro >= tuned.single_figures.macro
    assert tuned.cross_fitted.micro >= tuned.single_figures.micro


@given(problems())
def test_for_instance_f_each_row_gets_a_label_if_that_is_better(problem: Problem) -> None:
    def tuned(**options: Any) -> Thresholds:
        return tune_auto(problem.Y, problem.scores, zero_division=problem.zero, **options)

    none, one = (tuned(average="instance", least_labels=k) for k in (0, 1))
    chosen = tuned(average="instance")
    assert chosen.least_labels == int(one.score > none.score)
    assert chosen.values.tolist() == (one if chosen.least_labels else none).values.tolist()


def test_the_best_labels_count_in_every_figure() -> None:
    """As though each row's best label had the score 1."""
    rng = np.random.default_rng(1)
    scores = rng.random((300, 6)) ** 3 / 2
    Y = (rng.random(scores.shape) < scores).astype(int)
    Y[np.arange(300), scores.argmax(axis=1)] = 1
    raised = scores.copy()
    raised[np.arange(300), scores.argmax(axis=1)] = 1.0
    for average in ("macro", "micro", "instance"):
        found = tune_auto(Y, scores, average=average, least_labels=1)
        expected = tune_auto(Y, raised, average=average, least_labels=0)
        assert found.values.tolist() == expected.values.tolist()
        assert found.cross_fitted == expected.cross_fitted
        assert found.single_figures == expected.single_figures
        assert np.array_equal(found.apply(scores).toarray(), expected.apply(raised).toarray())


def test_a_gain_of_rare_labels_is_not_paid_for_in_micro_f() -> None:
    rng = np.random.default_rng(0)
    Y, scores = np.zeros((240, 18), int), np.zeros((240, 18))
    for j in range(18):  # frequent labels are told from noise, most rare ones are noise
        rows = rng.permutation(240)
        positives, found, score = (24, 240, 0.45) if j < 8 else (5, 20, 0.2)
        Y[rows[:positives], j] = 1
        scores[rows[:found], j] = 0.2
        scores[rows[:positives], j] = score
    tuned = tune_auto(Y, scores)
    assert tuned.cross_fitted == tuned.single_figures
    assert 0.2 < tuned.values.min() == tuned.values.max() < 0.45


def test_rare_labels_do_no_harm() -> None:
    Y, scores, frequencies = long_tail()
    fresh_Y, fresh_scores, _ = long_tail(1)
    tuned = tune_auto(Y, scores, frequencies=frequencies)
    found = set_figures(fresh_Y, tuned.apply(fresh_scores))
    assert found.labels < fresh_Y.nnz / fresh_Y.shape[0]
    for tune in (tune_ofo, tune_sto):
        published = set_figures(fresh_Y, tune(Y, scores, lower=0.01).apply(fresh_scores))
        assert published.labels > 2 * found.labels  # the flaw that auto repairs
        assert published.micro < 0.6 * found.micro
        assert published.macro < found.macro


def test_a_label_that_is_nowhere_true_has_the_threshold_of_others_as_frequent() -> None:
    rng = np.random.default_rng(2)
    n = 400
    truth = np.zeros((n, 41), int)
    scores = np.zeros((n, 41))
    for j in range(40):  # frequent labels score high, true or not, and rare ones low
        frequent = j < 20
        of = rng.random(n) < (0.3 if frequent else 0.02)
        truth[:, j] = of
        scores[:, j] = (0.3 if frequent else 0.06) * of + (0.3 if frequent else 0.05) * rng.random(
            n
        )
    frequencies = [1200] * 20 + [80] * 21
    tuned = tune_auto(truth, scores, frequencies=frequencies)
    assert tuned.values[40] < 0.1 < tuned.values[:20].min()
    assert tuned.values[40] in tuned.values[20:40]
    assert tuned.default == tuned.values[40]  # a label to come is one of the rarest


def test_memory_does_not_grow_with_labels_times_candidates() -> None:
    n, m = 2_000, 50_000
    rng = np.random.default_rng(0)
    entries = (rng.random(10 * n), (np.repeat(np.arange(n), 10), rng.integers(m, size=10 * n)))
    scores = csr_array(entries, shape=(n, m))
    scores.sum_duplicates()
    scores.data = np.minimum(scores.data, 1.0)
    Y = csr_array(scores > 0.7).astype(np.int8)
    tracemalloc.start()
    try:
        tune_auto(Y, scores)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    curve = m * 40 * 8  # of one count for every label and candidate
    assert peak < curve


def test_what_is_asked_for_comes_first() -> None:
    rng = np.random.default_rng(3)
    scores = rng.random((800, 12)) ** 4
    Y = csr_array((rng.random(scores.shape) < scores).astype(np.int8))
    tune, fresh = slice(0, 400), slice(400, 800)
    for n_labels in (1.0, 3.0, 5.0):
        tuned = tune_auto(Y[tune], scores[tune], labels_per_row=n_labels)
        assert tuned.apply(scores[fresh]).nnz / 400 == pytest.approx(n_labels, rel=0.15)
    before = 0.0
    for least in (0.5, 0.7, 0.9):
        tuned = tune_auto(Y[tune], scores[tune], least_recall=least)
        assert tuned.cross_fitted is not None
        assert tuned.cross_fitted.recall >= least
        found = tuned.apply(scores[fresh])
        assert recall_of(Y[fresh], found, average="micro") == pytest.approx(least, abs=0.06)
        told = tuned.cross_fitted.precision
        assert precision_of(Y[fresh], found, average="micro") == pytest.approx(told, abs=0.06)
        assert before != told
        before = told


@pytest.mark.parametrize(
    "score", [lambda u: u, lambda u: 0.9 + 0.1 * u, lambda u: 1 - 1e-6 * (1 - u), lambda u: u**6]
)
@pytest.mark.parametrize("goal", [{"labels_per_row": 1}, {"least_recall": 0.25}])
def test_goals_are_met_wherever_the_scores_lie(
    score: Callable[[np.ndarray], np.ndarray], goal: dict[str, Any]
) -> None:
    rng = np.random.default_rng(0)
    known = rng.permuted(np.where(np.arange(20) < 4, rng.random((500, 20)), 0), axis=1)
    scores = np.where(known > 0, score(known), 0)
    Y = (rng.random(scores.shape) < known).astype(int)
    tuned = tune_auto(Y, scores, **goal, lower=1e-4)
    predicted = tuned.apply(scores)
    assert tuned.single_figures is not None
    if "labels_per_row" in goal:
        assert tuned.single_figures.labels == pytest.approx(1, rel=0.01)
        assert predicted.sum() / 500 == pytest.approx(1, rel=0.1)
    else:
        assert tuned.single_figures.recall == pytest.approx(0.25, abs=1 / Y.sum())
        assert recall_of(csr_array(Y), predicted, average="micro") == pytest.approx(0.25, abs=0.03)


@settings(max_examples=50)
@given(problems(), st.floats(0.1, 4.0), st.floats(0.0, 1.0))
def test_goals_are_met_as_closely_as_a_single_threshold_can(
    problem: Problem, n_labels: float, least: float
) -> None:
    Y, scores = problem.Y, problem.scores
    thresholds = np.unique(scores[scores >= 0.01])
    singles = [set_figures(Y, (scores >= at).astype(int)) for at in thresholds]
    most = max((found.labels for found in singles), default=0.0)
    if most < n_labels * 0.95:
        with pytest.raises(DataError, match=r"^labels_per_row=.*: there are only .* labels per"):
            tune_auto(Y, scores, labels_per_row=n_labels)
    elif most > n_labels * 0.96:
        tuned = tune_auto(Y, scores, labels_per_row=n_labels).cross_fitted
        assert tuned is not None
        closest = min(abs(np.log(found.labels / n_labels)) for found in singles)
        assert abs(np.log(tuned.labels / n_labels)) < closest + 0.05
    reached = [found for found in singles if found.recall >= least]
    if reached:
        tuned = tune_auto(Y, scores, least_recall=least).cross_fitted
        assert tuned is not None
        assert tuned.recall >= least
        assert tuned.precision >= reached[-1].precision  # of the highest threshold


def test_among_numbers_of_labels_that_differ_little_the_better_f_counts() -> None:
    goal = Goal.of("macro", 2.0, None)
    exact, near, far = (
        goal.value(SetFigures(labels, 0.0, micro, 0.0, 0.0, 0.0))
        for labels, micro in ((2.0, 0.3), (2.05, 0.4), (2.2, 0.9))
    )
    assert far < exact < near


def test_a_recall_that_is_just_reached_is_reached() -> None:
    tuned = tune_auto([[1], [1], [0]], [[0.4], [0.1], [0.2]], least_recall=0.5)
    assert tuned.single_figures is not None
    assert (tuned.single_figures.recall, tuned.single_figures.precision) == (0.5, 1.0)


def test_without_a_goal_the_average_asked_for_counts() -> None:
    found = SetFigures(1.0, 0.25, 0.5, 0.375, 0.0, 0.0)
    for average, value in (("macro", 0.125), ("micro", 0.5), ("instance", 0.375)):
        assert Goal.of(average, None, None).value(found) == (value,)


def test_a_number_of_labels_that_no_threshold_reaches_is_refused() -> None:
    message = r"labels_per_row=2: there are only 0.5 labels per row even at the smallest"
    with pytest.raises(DataError, match=message):
        tune_auto([[0, 1], [1, 0]], [[0, 0.4], [0.001, 0]], labels_per_row=2)


def test_cross_fitting_shows_what_over_fits() -> None:
    Y, scores, _ = long_tail()

    def tune(truth: csr_array, found: csr_array) -> Thresholds:
        return tune_sto(truth, found, lower=0.01)

    flattered = set_figures(Y, tune(Y, scores).apply(scores))
    honest = set_figures(Y, cross_fitted(Y, scores, tune))
    assert honest.macro < 0.8 * flattered.macro
    # Row 7 is in the third fold: it is predicted by thresholds from all others.
    others = np.arange(Y.shape[0]) % 5 != 2
    expected = tune(Y[others], scores[others]).apply(scores[[7]])
    assert (cross_fitted(Y, scores, tune)[[7]] != expected).nnz == 0


@given(problems())
def test_figures_are_those_of_the_metrics(problem: Problem) -> None:
    predicted = csr_array((problem.scores >= 0.3).astype(np.int8))
    Y = csr_array(problem.Y)
    found = set_figures(Y, predicted, problem.zero)
    for average in ("macro", "micro", "instance"):
        expected = f_measure(Y, predicted, average=average, zero_division=problem.zero)
        assert getattr(found, average) == pytest.approx(expected)
    assert found.labels == predicted.nnz / Y.shape[0]
    assert found.precision == pytest.approx(precision_of(Y, predicted, average="micro"))
    assert found.recall == pytest.approx(recall_of(Y, predicted, average="micro"))


def test_bounds_hold_exactly() -> None:
    Y, scores = np.eye(2, dtype=int), np.array([[0.65, 0.55], [0.55, 0.65]])
    assert tune_auto(Y, scores, lower=0.7).values.tolist() == [0.5, 0.5]  # empty: the upper one
    for upper in (0.3, 0.7, 1.0):
        tuned = tune_auto(np.zeros((4, 2)), np.zeros((4, 2)), upper=upper)
        assert tuned.values.tolist() == [upper, upper]
    goals: list[dict[str, Any]] = [{"labels_per_row": 1}, {"least_recall": 0.5}]
    for goal in goals:  # which only a threshold above 0.3 meets exactly
        tuned = tune_auto(Y, scores, **goal, upper=0.3)
        assert tuned.single == 0.3
        assert tuned.values.tolist() == [0.3, 0.3]
    high = np.full((4, 2), 1.0)
    for upper, n_labels in ((1.0, 2.0), (np.inf, 0.0)):
        tuned = tune_auto(np.zeros((4, 2)), high, upper=upper, zero_division=1, average="instance")
        assert tuned.single_figures is not None
        assert tuned.single_figures.labels == n_labels


def test_an_f_of_nothing_is_0_if_nothing_is_said() -> None:
    assert tune_auto(np.zeros((4, 2)), np.zeros((4, 2))).score == 0.0


@pytest.mark.parametrize("shape", [(0, 0), (0, 3), (4, 0), (4, 3)])
def test_nothing_to_tune_on(shape: tuple[int, int]) -> None:
    tuned = tune_auto(np.zeros(shape), np.zeros(shape))
    assert tuned.values.tolist() == [0.5] * shape[1]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"labels_per_row": 0}, "labels_per_row=0"),
        ({"least_recall": 1.5}, "least_recall=1.5"),
        ({"least_recall": 0.5, "labels_per_row": 2}, "exclude each other"),
        ({"frequencies": [1.0]}, "frequencies: expected 2 numbers of 0 or more"),
        ({"frequencies": [1.0, -1.0]}, "frequencies: expected 2 numbers of 0 or more"),
        ({"frequencies": [1.0, inf]}, "frequencies: expected 2 numbers of 0 or more"),
        ({"average": "weighted"}, "average='weighted'"),
        ({"upper": 0}, "upper=0"),
        ({"lower": -1}, "lower=-1"),
        ({"least_labels": -1}, "least_labels=-1: expected an integer"),
        ({"least_labels": 0.5}, "least_labels=0.5: expected an integer"),
    ],
)
def test_parameters_outside_their_domain(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        tune_auto([[0, 1]], [[0.3, 0.2]], **arguments)


def test_a_recall_that_no_threshold_reaches_is_refused() -> None:
    with pytest.raises(DataError, match=r"the recall is only 0.5 even at the smallest"):
        tune_auto([[0, 1], [1, 0]], [[0, 0.4], [0.001, 0]], least_recall=0.9)
