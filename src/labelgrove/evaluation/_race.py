"""Model selection by a race: candidates are compared on growing samples, and the worst drop out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import clone
from sklearn.utils import _safe_indexing, indexable

from labelgrove._errors import DataError, ParameterError, brief
from labelgrove._parameters import integer, seed_from
from labelgrove.evaluation._observed import observe
from labelgrove.metrics._ranking import match, ndcg_of_rows
from labelgrove.metrics._score import FloatArray

FOLDS = 3
"""Number of folds, and the fewest examples that can race."""
_PLACES = 5
_FIRST = 1000
CLEARLY = 3.0
"""Number of standard errors behind the best at which a model may drop out."""


@dataclass(frozen=True)
class Standing:
    """The result of a model in a round.

    Attributes
    ----------
    name : str
    ndcg : float
        Mean cross-validated nDCG@5 on the examples of the round.
    behind : float
        Difference from the nDCG@5 of the best model.
    error : float
        Standard error of ``behind``, from the paired differences of the examples.
    goes_on : bool
        Whether the model takes part in the next round. It does not if it is clearly behind, by
        more than half as much as in the previous round.
    """

    name: str
    ndcg: float
    behind: float
    error: float
    goes_on: bool


@dataclass(frozen=True)
class Round:
    """A round of the race.

    Attributes
    ----------
    examples : int
    standings : tuple of Standing
        Best first.
    """

    examples: int
    standings: tuple[Standing, ...]


def race(
    models: Mapping[str, Any], X: Any, Y: Any, *, n_examples: int = 4000, random_state: Any = 0
) -> list[Round]:
    """Find the model that suits some data best, without training all models on all data.

    The first round has 1,000 random examples, and each following round has twice as many, up to
    ``n_examples``. In each round every model is cross-validated in three folds. A model drops out
    if its nDCG@5 is more than three standard errors below the best, and the gap is more than half
    of that in the previous round, so none drops out in the first round. The models that remain at
    the end are ranked. Nothing depends on time: the same data and seed give the same result.

    Parameters
    ----------
    models : mapping of str to estimator
        The candidates; they are cloned, not changed.
    X, Y
        As for the estimators' ``fit``: an array, a sparse matrix or a list.
    n_examples : int, default=4000
        Maximum number of examples in the last round, which bounds the work.
    random_state : int, RandomState or None
        Seed of the sample.

    Returns
    -------
    list of Round
        The first standing of the last round is the best model.

    Raises
    ------
    DataError
        If there are too few examples for cross-validation, or X and Y differ in length.
    ParameterError
        If there are no models, or ``n_examples`` is too small.

    Notes
    -----
    Models are compared on a few thousand examples, so one that needs many examples to be good may
    drop out, or be ranked too low.

    Examples
    --------
    >>> from labelgrove import OnlinePLTClassifier
    >>> X, y = [{"meow": 1}, {"bark": 1}, {"moo": 1}] * 40, ["cat", "dog", "cow"] * 40
    >>> models = {"plt": OnlinePLTClassifier(), "blind": OnlinePLTClassifier(learning_rate=1e-9)}
    >>> [one.name for one in race(models, X, y)[-1].standings]
    ['plt', 'blind']
    """
    if not isinstance(models, Mapping) or not models:
        raise ParameterError(
            f"models={brief(models)}: expected a dict of names to one or more models"
        )
    n_examples = integer("n_examples", n_examples, FOLDS)
    try:
        X, Y = indexable(X, Y)
    except ValueError as error:
        raise DataError(f"X and Y: {error}") from error
    n = X.shape[0] if hasattr(X, "shape") else len(X)
    if n < FOLDS:
        found = "1 example" if n == 1 else f"{n} examples"
        raise DataError(f"found {found}; expected at least {FOLDS}, to hold some out")
    order = np.random.default_rng(seed_from(random_state)).permutation(n)[:n_examples]
    left, rounds = list(models), []
    before = dict.fromkeys(models, np.inf)
    size = min(_FIRST, len(order))
    while True:
        gains = {name: _gains(models[name], X, Y, order[:size]) for name in left}
        rounds.append(Round(size, _standings(gains, before)))
        before = {one.name: one.behind for one in rounds[-1].standings}
        left = [one.name for one in rounds[-1].standings if one.goes_on]
        if size == len(order) or len(left) == 1:
            return rounds
        size = min(2 * size, len(order))


def _gains(model: Any, X: Any, Y: Any, rows: npt.NDArray[np.int64]) -> FloatArray:
    """Return the cross-validated nDCG of every row."""
    part = np.arange(len(rows)) % FOLDS
    gains = np.empty(len(rows))
    for fold in range(FOLDS):
        learnt, held = np.sort(rows[part != fold]), rows[part == fold]
        fitted = clone(model).fit(_safe_indexing(X, learnt), _safe_indexing(Y, learnt))
        asked = [(_safe_indexing(X, held), _safe_indexing(Y, held))]
        seen = observe(fitted, asked, k=_PLACES)
        hits = match(seen.truth, seen.ranking, _PLACES)
        gains[part == fold] = ndcg_of_rows(hits, _PLACES, 0.0)
    return gains


def _standings(
    gains: Mapping[str, FloatArray], before: Mapping[str, float]
) -> tuple[Standing, ...]:
    best = max(gains.values(), key=lambda one: float(one.mean()))
    found = []
    for name, own in gains.items():
        less = best - own
        behind, error = float(less.mean()), float(less.std(ddof=1) / np.sqrt(len(less)))
        goes_on = behind <= CLEARLY * error or behind <= before[name] / 2
        found.append(Standing(name, float(own.mean()), behind, error, goes_on))
    return tuple(sorted(found, key=lambda one: one.behind))
