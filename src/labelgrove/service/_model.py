"""The model of a project: a function of its log, byte for byte.

Neither the number of events applied at a time nor snapshots in between make a difference: the
engine's `partial_fit` and its files guarantee that. Everything that the service adds to a model is
in this module, so that start-up, live updates, replicas and rebuilds behave alike.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import labelgrove
from labelgrove import OnlinePLTClassifier, PLTClassifier, TextClassifier
from labelgrove._errors import DataError, ParameterError
from labelgrove._not_learned import NotLearnedError
from labelgrove._parameters import refuse_unknown
from labelgrove.models._base import check_parameters, known_labels
from labelgrove.models._names import check_names
from labelgrove.models._shared import SharedModel
from labelgrove.service._events import (
    BODIES,
    Deprecation,
    Example,
    Merging,
    Removal,
    Renaming,
    Row,
    ThresholdValues,
    aliased,
    aliases_after,
    body_of,
    thresholds_after,
)
from labelgrove.service._settings import Settings, vocabulary_of
from labelgrove.text import TextFeatures
from labelgrove.text._settings import counts_documents, settings_of
from labelgrove.tuning import Thresholds
from labelgrove.vocabulary import Vocabulary

EMPTY = "0" * 64
"""The fingerprint of a model that has not learnt anything."""

Suggested = tuple[int, list[list[tuple[str, float]]]]
"""The sequence number of the model that answered, and for each text its labels and scores."""

_FEW = 100  # hidden labels that are left out after predicting; more of them, before
_MANY = 1_000  # examples learnt with one call


class _Now(NamedTuple):
    """A model, a sequence number, and how many examples the model had seen there.

    Answers may be computed in the middle of a batch. Examples seen beyond `seen` are then the
    events after `sequence`, unless the model also learns names, which count as examples too.
    """

    shared: SharedModel
    sequence: int
    seen: int

    def at(self, model: Any) -> int:
        """Return the sequence number that the model has reached."""
        if model.names is not None:
            return self.sequence
        return self.sequence + int(model.examples_seen_) - self.seen


class Learner:
    """A project's model at a sequence number.

    One thread changes it; any number of threads may query it meanwhile.

    Parameters
    ----------
    settings : Settings
    controls : iterable of Row
        Events other than examples; those up to `sequence` are already applied.
    sequence : int
        Last event that the model has applied.
    path : Path, optional
        The model's file; by default the model is new.

    Attributes
    ----------
    model : TextClassifier
        The model itself, for callers with exclusive access.
    vocabulary : Vocabulary or None
        Label names.
    deprecated : set of str
        Labels that are not suggested.
    refused : int
        Number of examples that the model could not learn from; they remain in the log.
    """

    def __init__(
        self,
        settings: Settings,
        controls: Iterable[Row] = (),
        sequence: int = 0,
        path: Path | None = None,
    ) -> None:
        self.settings = settings
        self.vocabulary = vocabulary_of(settings)
        self._strangers: frozenset[str] = frozenset()  # known to the model, not to the vocabulary
        self.deprecated: frozenset[str] = frozenset()
        self.thresholds: ThresholdValues | None = None
        self.refused = 0
        self._aliases: dict[str, str] = {}
        for row in controls:
            if row.sequence <= sequence and row.kind in BODIES:
                self._note(body_of(row))
        text = settings_of(TextFeatures.from_dict(settings.text).get_params())
        self._count_bytes = 4 * text["n_features"] if counts_documents(text) else 0
        model = new_model(settings, self.vocabulary) if path is None else labelgrove.load(path)
        self._begin(model, sequence)

    def _begin(self, model: Any, sequence: int) -> None:
        self.model, shared = model, model.shared()
        # Older snapshots have none, and newer ones a copy.
        model.vocabulary = model.vocabulary_ = self.vocabulary
        self._now = _Now(shared, sequence, self.examples_seen)
        self._meet_strangers(self.labels())

    # --- asking --------------------------------------------------------------------------------

    @property
    def sequence(self) -> int:
        """Last event that the model has applied, for the thread that changes it."""
        return self._now.sequence

    @property
    def has_learnt(self) -> bool:
        """Whether there is anything to predict."""
        return self._now.seen > 0

    def suggest(self, texts: Sequence[str], limit: int, *, restricted: bool = False) -> Suggested:
        """Return the most probable labels of every text, best first, without deprecated ones.

        With ``restricted``, labels that the vocabulary lacks are hidden, too.
        """
        now, hidden = self._now, self.deprecated | (self._strangers if restricted else frozenset())
        if not now.seen:
            return now.sequence, [[] for _ in texts]
        return now.shared.read(lambda model: (now.at(model), _best(model, texts, limit, hidden)))

    def explain(self, text: str, label: str | None, limit: int) -> tuple[int, list[Any]]:
        """Explain a label, or those that would be suggested, like `TextClassifier.explain`.

        Also return the sequence number of the model that answered. Raises DataError if the label is
        unknown.
        """
        now = self._now
        if not now.seen:
            return now.sequence, []
        # Once for all labels, and apart: a long text takes a while, and then others may go first.
        sources = now.shared.read(lambda model: model.text_.sources(text))

        def read(model: Any) -> tuple[int, list[Any]]:
            row, classifier, names = model.text_.transform([text]), model.classifier_, [label]
            if label is None:
                hidden = self.deprecated | self._strangers
                names = [name for name, _ in _best(model, [text], limit, hidden)[0]]
            explained = [
                classifier.explain(row, name, top=50, feature_names=sources).labels[0]
                for name in names
            ]
            return now.at(model), explained

        return now.shared.read(read)

    def labels(self) -> dict[str, int]:
        """Map the labels that can be predicted to their numbers of examples."""
        if not self.has_learnt:
            return {}
        return self._now.shared.read(
            lambda model: dict(
                zip(model.classes_.tolist(), model.label_counts_.tolist(), strict=True)
            )
        )

    def label_count(self) -> int:
        """Count the labels that can be predicted."""
        return self._now.shared.read(lambda model: model.n_classes_) if self.has_learnt else 0

    def cut_offs(self) -> dict[str, float]:
        """Return the threshold of each label; empty if labels have no thresholds of their own."""

        def read(model: Any) -> dict[str, float]:
            values = getattr(model, "thresholds_", None)
            if values is None:
                return {}
            return dict(zip(model.classes_.tolist(), values.tolist(), strict=True))

        return self._now.shared.read(read)

    def bytes(self) -> int:
        """Return the memory use of the model, without the counts of its words."""
        if not self.has_learnt:
            return 0
        size = self._now.shared.read(lambda model: model.size())
        return int(size["model_bytes"] + size["memory_bytes"])

    def memory(self) -> int:
        """Return the memory use of the model, with the counts of its words once all are in use."""
        return self.bytes() + self._count_bytes if self.has_learnt else 0

    def fingerprint(self) -> str:
        """Compute the SHA-256 of the model's file, whether it has been written or not."""
        return str(self.model.fingerprint()) if self.has_learnt else EMPTY

    @property
    def examples_seen(self) -> int:
        """Examples that the model has learnt from, for the thread that changes it."""
        try:
            return int(self.model.examples_seen_)
        except (AttributeError, NotLearnedError):
            return 0

    # --- learning ------------------------------------------------------------------------------

    def apply(self, rows: Sequence[Row]) -> None:
        """Learn the examples among the events after `sequence`, and carry out the changes.

        None of the events may be of the kinds in `NEW_BEGINNINGS`.
        """
        for learnt, run in itertools.groupby(rows, key=lambda row: row.kind == "learn"):
            if learnt:
                self._learn([*run])
            else:
                for row in run:
                    self._change(row)

    def as_learnt(self, labels: Sequence[str]) -> list[str]:
        """Return the labels that an example sent with these would get: of merged ones, the new."""
        return aliased(labels, self._aliases)

    def begin_anew(self, row: Row, model: Any) -> None:
        """Apply an event of the kinds in `NEW_BEGINNINGS`, given the model learnt again."""
        self._note(body_of(row))
        self._begin(model, row.sequence)
        if self.thresholds is not None and self.has_learnt:
            model.set_thresholds(_thresholds(model, self.thresholds))

    def _reach(self, sequence: int) -> None:
        self._now = self._now._replace(sequence=sequence, seen=self.examples_seen)

    def _learn(self, rows: Sequence[Row]) -> None:
        bodies = [(row.sequence, body_of(row)) for row in rows]
        examples = [Example(at, one.text, self.as_learnt(one.labels)) for at, one in bodies]
        for example in examples:
            self._meet_strangers(example.labels)
        self.refused += teach(self._now.shared, examples)
        self._reach(rows[-1].sequence)

    def _change(self, row: Row) -> None:
        if row.kind not in {"settings", "forgotten", "forget"}:
            change = body_of(row)
            if self.has_learnt:
                self._change_model(change)
            self._note(change)
        self._reach(row.sequence)

    def _change_model(self, change: Any) -> None:
        """Carry out a change as far as possible; a replay has the same result."""
        if isinstance(change, Renaming):
            known = known_labels(self.model, {*change.names, *change.names.values()})
            names = {old: new for old, new in change.names.items() if old in known and new.strip()}
            if can_rename(names, known):
                self._meet_strangers(names.values())
                self._now.shared.rename_labels(names)
        elif isinstance(change, Removal):
            known = known_labels(self.model, change.labels)
            gone = [label for label in dict.fromkeys(change.labels) if label in known]
            if gone:
                self._now.shared.remove_labels(gone)
        elif isinstance(change, ThresholdValues):
            self._now.shared.set_thresholds(_thresholds(self.model, change))

    def _meet_strangers(self, labels: Iterable[str]) -> None:
        """Record labels that the vocabulary lacks, before the model can suggest them."""
        if self.vocabulary is not None:
            self._strangers |= {label for label in labels if label not in self.vocabulary}

    def _note(self, change: Any) -> None:
        """Record the parts of a change that the model itself does not store."""
        self._aliases = aliases_after(self._aliases, change)
        self.thresholds = thresholds_after(self.thresholds, change)
        if isinstance(change, Renaming):
            self.deprecated = frozenset(change.names.get(one, one) for one in self.deprecated)
        elif isinstance(change, Merging | Removal):
            self.deprecated -= frozenset(change.labels)
        elif isinstance(change, Deprecation):
            marked = frozenset(change.labels)
            self.deprecated = (
                self.deprecated | marked if change.deprecated else self.deprecated - marked
            )


def _best(
    model: Any, texts: Sequence[str], limit: int, hidden: Collection[str]
) -> list[list[tuple[str, float]]]:
    """Return the most probable labels of every text, best first, and their scores."""
    labels, k = None, limit + len(hidden)
    if len(hidden) > _FEW:
        labels, k = [one for one in model.classes_.tolist() if one not in hidden], limit
    names, scores = model.predict_topk(texts, k=k, labels=labels)
    return [
        [
            (name, float(score))
            for name, score in zip(*both, strict=True)
            if name is not None and name not in hidden
        ][:limit]
        for both in zip(names.tolist(), scores.tolist(), strict=True)
    ]


def can_rename(names: Mapping[str, str], known: Collection[str]) -> bool:
    """Whether labels can get these names: all different, and none taken by another label."""
    others = set(known) - set(names)
    return (
        bool(names) and len(set(names.values())) == len(names) and others.isdisjoint(names.values())
    )


def _thresholds(model: Any, change: ThresholdValues) -> Thresholds | None:
    """Return the thresholds that were set, in the order of the model's labels, or None."""
    if change.values is None:
        return None
    labels = model.classes_.tolist()
    values = np.array([change.values.get(label, change.default) for label in labels], np.float64)
    return Thresholds(values, change.default, "given", "macro", math.nan)


# --- models --------------------------------------------------------------------------------------


def check_lasting(settings: Settings) -> None:
    """Refuse parameters that a model which follows from a log cannot have."""
    given = settings.estimator
    if given.get("random_state", 0) is None:
        raise ParameterError(
            "random_state=None: a replayed log must give the same model; expected a number"
        )
    if given.get("warm_start_size") is not None:
        raise ParameterError(
            "warm_start_size: a project learns from single examples; expected None"
        )
    for entry in settings.vocabulary or ():
        if not entry.id.strip():
            raise ParameterError(f"vocabulary: the id {entry.id!r:.80} is blank; expected a label")


def new_model(settings: Settings, vocabulary: Vocabulary | None = None) -> TextClassifier:
    """Create a new model, given the vocabulary of its settings if that was made before.

    Raises ParameterError if a parameter of the settings is unknown or out of range.
    """
    refuse_unknown(settings.estimator, OnlinePLTClassifier())
    classifier = OnlinePLTClassifier(**settings.estimator)  # type: ignore[arg-type]
    check_parameters(classifier)
    if vocabulary is None:
        vocabulary = vocabulary_of(settings)
    check_names(settings.names, vocabulary)
    return TextClassifier(
        classifier, TextFeatures.from_dict(settings.text), vocabulary, settings.names
    )


def batch_model(settings: Settings, examples: Sequence[Example]) -> TextClassifier:
    """Learn a model from all examples at once; it can continue learning online."""
    n_trees = OnlinePLTClassifier(**settings.estimator).n_trees  # type: ignore[arg-type]
    batch = TextClassifier(
        PLTClassifier(online_ready=True, random_state=0, n_trees=n_trees),
        TextFeatures.from_dict(settings.text),
        vocabulary_of(settings),
        settings.names,
    )
    batch.fit([one.text for one in examples], [one.labels for one in examples])
    online = OnlinePLTClassifier.from_batch(batch.classifier_, **settings.estimator)
    return batch.with_classifier(online)


def learnt_anew(
    settings: Settings, examples: Iterable[Example], upto: int = 0, built: Path | None = None
) -> TextClassifier:
    """Learn a model again from the first example.

    Parameters
    ----------
    settings : Settings
    examples : iterable of Example
        In order, with the current names of their labels.
    upto : int
        Examples up to this sequence number are learnt in batch, later ones online.
    built : Path, optional
        File of the batch model, if it exists.
    """
    model = new_model(settings)
    for in_batch, run in itertools.groupby(examples, key=lambda one: one.sequence <= upto):
        if not in_batch:
            while some := list(itertools.islice(run, _MANY)):
                teach(model, some)
        else:
            learnt = None if built is None else _loaded(built)
            model = batch_model(settings, list(run)) if learnt is None else learnt
    return model


def _loaded(built: Path) -> TextClassifier | None:
    try:
        model: TextClassifier = labelgrove.load(built)
    except FileNotFoundError:  # just removed
        return None
    return model


def teach(model: Any, examples: Sequence[Example]) -> int:
    """Teach a model some examples; return how many it could not learn from.

    An example that the model refuses is skipped, whichever examples share its batch.
    """
    try:
        model.partial_fit([one.text for one in examples], [one.labels for one in examples])
    except DataError:  # nothing has been learnt
        if len(examples) == 1:
            return 1
        return sum(teach(model, [one]) for one in examples)
    return 0
