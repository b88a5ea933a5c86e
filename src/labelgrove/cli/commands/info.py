"""``labelgrove info``: facts about a model file, or about this installation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from labelgrove import _numbers
from labelgrove._errors import ModelStateError
from labelgrove._names import on_one_line
from labelgrove._versions import versions
from labelgrove.cli._models import Model, algorithm_of, estimator_of, load_model
from labelgrove.cli._options import JsonOption, settable
from labelgrove.cli._search import distribution, in_words, least_in_words
from labelgrove.cli.streams._console import show_result
from labelgrove.data import Columns
from labelgrove.models import FastXMLClassifier, LdSMClassifier, LOMTreeClassifier, TextClassifier
from labelgrove.models._label_tree import LabelTreeClassifier
from labelgrove.models._plt_options import with_preset
from labelgrove.models.thresholds._tuner import about_thresholds
from labelgrove.vocabulary import Vocabulary

_MOST_FREQUENT = 5
_LONGEST = 60  # characters shown of a label


def info(
    model_file: Annotated[
        str | None, typer.Argument(metavar="MODEL", help="A model file.", show_default=False)
    ] = None,
    json: JsonOption = False,
) -> None:
    """Describe MODEL; without MODEL, list the versions and kernels that LabelGrove runs with."""
    if model_file is None:
        facts: dict[str, Any] = versions()
        pairs = list(facts.items())
    else:
        model = load_model(model_file)
        facts = describe(model, model_file)
        pairs = _for_people(facts, model.vocabulary_)
    show_result(facts, pairs, as_json=json)


def describe(model: Model, path: str) -> dict[str, Any]:
    """Collect the facts about a model."""
    classifier = estimator_of(model)
    size = classifier.size()
    counts = classifier.label_counts_
    frequent = np.argsort(-counts, kind="stable")[:_MOST_FREQUENT]
    names = classifier.classes_[frequent].tolist()
    compaction = getattr(classifier, "compaction_", None)
    return {
        "model": path,
        "algorithm": algorithm_of(classifier),
        "parameters": _parameters(classifier),
        "text": model.text_.to_dict() if isinstance(model, TextClassifier) else None,
        "columns": _columns(model.columns) if isinstance(model, TextClassifier) else None,
        "examples": int(classifier.examples_seen_),
        "labels": int(classifier.n_classes_),
        "most_frequent_labels": dict(zip(map(str, names), counts[frequent].tolist(), strict=True)),
        "names": _names(classifier.vocabulary_),
        "features": int(classifier.n_features_in_),
        **_tree_facts(classifier),
        "thresholds": _threshold_facts(classifier),
        "second_stage": getattr(classifier, "second_stage_", None),
        "weights": int(size["weights"]),
        "bytes": Path(path).stat().st_size,
        "model_bytes": int(size["model_bytes"]),
        "memory_bytes": int(size["memory_bytes"]),
        **({} if compaction is None else {"compaction": asdict(compaction)}),
    }


def _parameters(classifier: Any) -> dict[str, Any]:
    """Return the parameters that the command line can set; they recreate the same model."""
    given: dict[str, Any] = classifier.get_params(deep=False)
    if "preset" in given:
        given = with_preset(given)
    return {name: given[name] for name in settable(type(classifier)) if name in given}


def _columns(columns: Columns | None) -> dict[str, Any] | None:
    if columns is None:
        return None
    return {name: value for name, value in asdict(columns).items() if value not in ((), None)}


def _names(vocabulary: Vocabulary | None) -> dict[str, Any] | None:
    if vocabulary is None:
        return None
    return {"concepts": len(vocabulary), "languages": list(filter(None, vocabulary.languages))}


def _tree_facts(classifier: Any) -> dict[str, Any]:
    if isinstance(classifier, LabelTreeClassifier):
        tree = classifier.tree_
        leaves = np.fromiter(tree.labels, np.int64)
        mean = float(tree.depths[leaves].mean()) if len(leaves) else 0.0
        return {"nodes": int(tree.n_nodes), "depth": int(tree.depth), "mean_depth": mean}
    if not isinstance(classifier, LOMTreeClassifier | FastXMLClassifier | LdSMClassifier):
        return {}
    try:
        statistics: Any = classifier.statistics_
    except ModelStateError:  # saved for prediction
        return {}
    facts = {"nodes": statistics.n_nodes, "depth": statistics.depth}
    if not isinstance(classifier, LOMTreeClassifier):
        leaves = np.isnan(statistics.objective)
        depths, weights = statistics.depths[leaves], statistics.reached[leaves]
        return {**facts, "mean_depth": float(np.average(depths, weights=weights))}
    inner = ~np.isnan(statistics.balance)
    objectives, weights = statistics.objective[inner], statistics.reached[inner]
    return {
        **facts,
        "mean_depth": statistics.mean_depth,
        "entropy": statistics.entropy,
        "root_entropy": statistics.root_entropy,
        "objective": float(np.average(objectives, weights=weights)) if weights.any() else 0.0,
        "swaps": int(statistics.swaps.sum()) // 2,
    }


def _threshold_facts(classifier: Any) -> dict[str, Any] | None:
    values = getattr(classifier, "thresholds_", None)
    if values is None:
        return None
    return {**about_thresholds(classifier), **distribution(values)}


def _second_stage(seen: Mapping[str, Any] | None) -> list[tuple[str, str]]:
    if seen is None:
        return []
    if not seen["examples"]:
        return [("calibrated", "not yet, for lack of examples")]
    examples = _numbers.counted(seen["examples"], "example")
    if seen["tail"] is None:
        return [("calibrated", f"from predictions for {examples}")]
    verdict = "re-ranks the best labels" if seen["reranks"] else "keeps the ranking"
    gain = f"{100 * seen['gain']:+.2f} ± {100 * seen['error']:.2f}"
    return [("second stage", f"{verdict} (gain {gain} points on {examples})")]


def _for_people(facts: Mapping[str, Any], vocabulary: Vocabulary | None) -> list[tuple[str, str]]:
    called = str if vocabulary is None else vocabulary.called
    frequent = [
        f"{on_one_line(called(name), _LONGEST)}: {n:,}"
        for name, n in facts["most_frequent_labels"].items()
    ]
    pairs = [
        ("model", f"{facts['model']} ({_numbers.size(facts['bytes'])})"),
        ("algorithm", facts["algorithm"]),
        ("parameters", _assignments(facts["parameters"])),
        ("reads", "numbered features" if facts["text"] is None else "text"),
    ]
    if facts["text"] is not None:
        pairs.append(("text", _assignments(facts["text"])))
    if facts["columns"]:
        pairs.append(("columns", _assignments(facts["columns"])))
    return [
        *pairs,
        ("examples seen", f"{facts['examples']:,}"),
        ("labels", f"{facts['labels']:,}"),
        ("most frequent", ", ".join(frequent)),
        *([("names", _named(facts["names"]))] if facts["names"] else []),
        ("features", f"up to {facts['features']:,}"),
        *([("tree", _tree(facts))] if "nodes" in facts else []),
        *([("splits", _splits(facts))] if "entropy" in facts else []),
        *([("thresholds", _thresholds(facts["thresholds"]))] if facts["thresholds"] else []),
        *_second_stage(facts["second_stage"]),
        ("weights", f"{facts['weights']:,}"),
        ("in memory", _memory(facts)),
        *([("compact", _held(facts["compaction"]))] if "compaction" in facts else []),
    ]


def _assignments(parameters: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={_word(value)}" for name, value in parameters.items())


def _word(value: Any) -> str:
    """Format a value as ``--set`` reads it."""
    if isinstance(value, list | tuple):
        return ",".join(map(_word, value))
    return str(value).lower() if value is None or isinstance(value, bool) else str(value)


def _tree(facts: Mapping[str, Any]) -> str:
    return (
        f"{facts['nodes']:,} nodes, depth {facts['depth']}, mean leaf depth "
        f"{facts['mean_depth']:.1f}"
    )


def _thresholds(found: Mapping[str, Any]) -> str:
    least = least_in_words(found["least_labels"])
    return f"{in_words(found)}{least}; by {found['method']}, for {found['average']} F1"


def _named(found: Mapping[str, Any]) -> str:
    languages = f" in {', '.join(found['languages'])}" if found["languages"] else ""
    return f"{_numbers.counted(found['concepts'], 'concept')}{languages}"


def _splits(facts: Mapping[str, Any]) -> str:
    return (
        f"entropy {facts['entropy']:.2f} nats left of {facts['root_entropy']:.2f}, mean objective "
        f"J {facts['objective']:.2f}, {_numbers.counted(facts['swaps'], 'swap')}"
    )


def _held(report: Mapping[str, Any]) -> str:
    before = _numbers.size(report["bytes_before"])
    return f"{report['dtype']}, no weight below {report['threshold']:.3g}; {before} before"


def _memory(facts: Mapping[str, Any]) -> str:
    total = _numbers.size(facts["model_bytes"] + facts["memory_bytes"])
    if not facts["memory_bytes"]:
        return total
    return f"{total}, including {_numbers.size(facts['memory_bytes'])} of remembered examples"
