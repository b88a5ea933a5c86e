"""``--algorithm auto``: race all algorithms, and ways to read texts, on a sample of the data."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from labelgrove._errors import DataError, ParameterError
from labelgrove._numbers import counted
from labelgrove._validation import MAX_MAGNITUDE
from labelgrove.cli._models import ALGORITHMS, Model, inputs_of
from labelgrove.cli.streams._console import say, say_warning
from labelgrove.cli.streams._source import Source, joined, rows
from labelgrove.data import Examples
from labelgrove.evaluation import race
from labelgrove.evaluation._race import CLEARLY, FOLDS, Round, Standing
from labelgrove.models import LOMTreeClassifier

#: Value of ``--algorithm`` that lets a race choose.
AUTO = "auto"

#: Default number of examples in the last round.
TRIAL = 4000

#: With fewer examples, differences of several points may be chance.
_ENOUGH = 200

#: Forests of fifty trees would take as long as all other algorithms together.
_SETTINGS = {"ldsm": ["n_estimators=10"], "fastxml": ["n_estimators=10"]}

#: With so many labels one-versus-rest takes a few times as long as a tree; with fewer it is one.
_FLAT, _FLAT_LABELS = ["tree=flat"], range(201, 1001)

#: If each row has one class, classes may compete, and rows of numbers keep their lengths as well.
_SOFTMAX = ["link=softmax"]
_SOFTMAX_LENGTHS = [*_SOFTMAX, "normalize=false"]

#: With its default, LdSM does not split a node where one class prevails: docs/papers/ldsm.md.
_SPLITTING = "lambda1=0.5"

_PAIRS, _SUBWORDS = "text.preset=words+pairs", "text.preset=words+subwords"

#: Ways to read texts, each after its rank by what it costs: words and their beginnings; pairs of
#: words, or parts of words, instead of beginnings.
_READINGS: tuple[tuple[int, list[str]], ...] = (
    (0, []),
    (1, [_PAIRS]),
    (2, [_SUBWORDS]),
    (2, [_SUBWORDS, "text.subwords=1,4"]),
)


def candidates(
    n_labels: int, *, of_classes: bool, texts: bool, lengths: bool
) -> dict[str, tuple[str, list[str]]]:
    """Map the name of each candidate to its algorithm and what it sets, as for ``--set``.

    ``n_labels`` is the number of labels of the sample; ``of_classes`` says that every example has
    exactly one, ``lengths`` that rows may be learnt as long as they are.
    """
    found = {
        name: (name, _SETTINGS.get(name, []))
        for name, estimator in ALGORITHMS.items()
        if of_classes or estimator is not LOMTreeClassifier
    }
    variants = [_FLAT] if n_labels in _FLAT_LABELS else []
    if of_classes:
        variants += [_SOFTMAX, _SOFTMAX_LENGTHS] if lengths else [_SOFTMAX]
        if not texts:
            found[f"ldsm {_SPLITTING}"] = "ldsm", [*_SETTINGS["ldsm"], _SPLITTING]
    return found | {" ".join(["plt", *settings]): ("plt", settings) for settings in variants}


def rank(candidate: str) -> int:
    """Return 0 for algorithms with their defaults; others have to be clearly better to win.

    Softmax and one-versus-rest take up to four times as long to learn as ``plt``, and a memory tree
    many times as long to predict as any other.
    """
    return 2 if candidate == "memory-tree" else int(candidate.startswith("plt "))


def chosen_algorithm(
    source: Source,
    make: Callable[[str, list[str]], Model],
    given: list[str],
    size: int,
    seed: int,
) -> tuple[str, list[str]]:
    """Race all algorithms, and report standings and winner on standard error.

    ``make(algorithm, assignments)`` creates a model; ``size`` examples are drawn for the race.
    Returns the winning algorithm and the ``--set`` options it ran with, the ``given`` ones first.
    Softmax, one-versus-rest and a memory tree win only if they are clearly better. If texts are to
    be learnt, and no option says how, the winner also tries several ways to read them, and the
    cheapest that is not clearly behind the best is chosen.
    """
    source.refuse_pipe("--algorithm auto")
    sample, of_classes, largest = _sample(source, size, seed)
    if sample.n_rows < FOLDS:
        raise DataError(
            f"--algorithm auto: {source.path} holds {counted(sample.n_rows, 'example')}; expected "
            f"at least {FOLDS}, to hold some out"
        )
    racing = candidates(
        len(set().union(*sample.labels)),
        of_classes=of_classes,
        texts=source.is_text,
        lengths=not source.is_text and largest <= MAX_MAGNITUDE,
    )
    models = {}
    for name, (algorithm, settings) in racing.items():
        try:
            models[name] = make(algorithm, [*given, *settings])
        except ParameterError as error:  # of an option that all algorithms get
            raise ParameterError(f"--algorithm auto, {name}: {error}") from None
    X = inputs_of(next(iter(models.values())), sample, source.path)

    def run(models: dict[str, Model]) -> tuple[Standing, ...]:
        rounds = race(models, X, sample.labels, n_examples=size, random_state=seed)
        for one in rounds:
            say(_standings(one))
        return rounds[-1].standings

    best = cheapest(run(models), rank)
    algorithm, settings = racing[best]
    chosen = [*given, *settings]
    if source.is_text and not any(one.startswith("text.") for one in given):
        readings = {" ".join([best, *more]): (cost, more) for cost, more in _READINGS}
        standings = run(
            {name: make(algorithm, [*chosen, *more]) for name, (_, more) in readings.items()}
        )
        reading = cheapest(standings, lambda name: readings[name][0])
        chosen += readings[reading][1]
    if sample.n_rows < _ENOUGH:
        say_warning(
            f"{counted(sample.n_rows, 'example')} are too few for a reliable choice; expected at "
            f"least {_ENOUGH}"
        )
    options = "".join(f" --set {one}" for one in chosen[len(given) :])
    say(f"chosen: --algorithm {algorithm}{options}")
    return algorithm, chosen


def cheapest(standings: Sequence[Standing], cost: Callable[[str], int]) -> str:
    """Return the cheapest of those not clearly behind the best, the best one of equal cost."""
    near = [one.name for one in standings if one.behind <= CLEARLY * one.error]
    found = min(near, key=cost)
    if found != near[0]:
        say(f"{near[0]} is not clearly better than {found}, a cheaper or simpler choice")
    return found


def _sample(source: Source, size: int, seed: int) -> tuple[Examples, bool, float]:
    """Draw ``size`` examples at random, in file order.

    Also say whether all in the file have one label, and return its largest absolute value.
    """
    random = np.random.default_rng(seed)
    of_classes, largest = True, 0.0
    kept: list[Examples] = []
    keys = np.zeros(0)
    for part in source.chunks():
        of_classes = of_classes and all(len(row) == 1 for row in part.labels)
        if part.X is not None:
            largest = max(largest, float(np.abs(part.X.data).max(initial=0)))
        keys = np.append(keys, random.random(part.n_rows))
        chosen = np.sort(np.argsort(keys)[:size])
        kept, keys = [rows(joined([*kept, part]), chosen)], keys[chosen]
    return kept[0], of_classes, largest


def _standings(one: Round) -> str:
    places = []
    for standing in one.standings:
        says = f"{standing.name} {100 * standing.ndcg:.1f}"
        if standing.behind > 0:
            says += f" ({100 * standing.behind:.1f} ± {100 * standing.error:.1f} behind"
            says += ")" if standing.goes_on else ", out)"
        places.append(says)
    return f"trial on {one.examples:,} examples, nDCG@5: {', '.join(places)}"
