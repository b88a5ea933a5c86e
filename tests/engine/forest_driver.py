"""Grow the compiled forest and its twin from the same examples, and read the saved forest."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from engine.driver import Array, labels_of, rows
from engine.driver import example as engine_example
from labelgrove import _core
from labelgrove.models._fastxml import FastXMLClassifier, FastxmlOptions
from labelgrove.models._ldsm import LdSMClassifier, LdsmOptions
from naive import fastxml
from naive.ldsm import Example, Node, Settings, Tree
from naive.learners import BIAS, Instance

LEAF = 0xFFFFFFFF


def single(x: Instance) -> Instance:
    """Round the instance's values to what the engine can hold."""
    return {f: float(np.float32(value)) for f, value in x.items()}


def options(settings: Settings, trees: int, share: str) -> dict[str, Any]:
    """Translate the twin's settings for the engine."""
    parameters = LdSMClassifier(
        n_estimators=trees,
        arity=settings.M,
        max_nodes=settings.T_max,
        epochs_per_node=settings.E,
        lambda1=settings.lambda1,
        lambda2=settings.lambda2,
        learner=settings.learner,
        learning_rate=settings.rate,
        initial_spread=settings.spread,
        min_samples_split=settings.min_examples,
        min_feature_count=settings.min_count,
        leaf_share=share,
        shuffle=settings.shuffle,
        normalize=False,
        random_state=settings.seed,
    ).get_params()
    return LdsmOptions.from_parameters(parameters).to_dict()


def grow(
    settings: Settings,
    data: Sequence[Example],
    *,
    trees: int = 1,
    share: str = "examples",
    threads: int = 1,
) -> _core.Forest:
    """Return the engine's LdSM forest."""
    return _grown(options(settings, trees, share), data, None, threads)


def grow_fastxml(
    settings: fastxml.Settings, data: Sequence[Example], *, trees: int, gain: Mapping[int, float]
) -> _core.Forest:
    """Return the engine's FastXML forest, with hyperplanes learnt to convergence."""
    parameters = FastXMLClassifier(
        n_estimators=trees,
        max_leaf_size=settings.MaxLeaf,
        C=settings.C_delta,
        C_rank=settings.C_r,
        bias=settings.bias,
        tol=1e-7,
        max_rounds=settings.rounds,
        normalize=False,
        random_state=settings.seed,
    ).get_params()
    return _grown(FastxmlOptions.from_parameters(parameters).to_dict(), data, gain, 1)


def _grown(
    parameters: dict[str, Any],
    data: Sequence[Example],
    gain: Mapping[int, float] | None,
    threads: int,
) -> _core.Forest:
    examples = [engine_example(e.x, e.y) for e in data]
    weights = np.array([e.weight for e in data], np.float32)
    labels = 1 + max((k for e in data for k in e.y), default=0)
    gains = np.array([gain[k] for k in range(labels)]) if gain else None
    engine = _core.Forest(parameters)
    engine.grow(
        *rows(examples), *labels_of(examples), weights, gains, labels, threads, _core.Progress()
    )
    return engine


def twins(settings: Settings, data: Sequence[Example], trees: int = 1) -> list[Tree]:
    """Return the plain trees, with the engine's own random numbers."""
    return [Tree(settings, data, _core.draw, number) for number in range(trees)]


def nodes(saved: dict[str, Array], planes: int) -> Iterator[list[dict[str, Any]]]:
    """Give, tree by tree, every node as it is saved, with its weights by feature."""
    inner = leaf = feature = weight = at = 0
    for size in saved["tree.nodes"].tolist():
        tree = []
        for v in range(at, at + size):
            node: dict[str, Any] = {
                "first_child": int(saved["node.first_child"][v]),
                "examples": int(saved["node.examples"][v]),
            }
            end = leaf + int(saved["node.labels"][v])
            node["shares"] = dict(
                zip(
                    saved["leaf.label"][leaf:end].tolist(),
                    saved["leaf.share"][leaf:end].tolist(),
                    strict=True,
                )
            )
            leaf = end
            if node["first_child"] != LEAF:
                count = int(saved["block.features"][inner])
                ids = saved["weights.feature"][feature : feature + count].tolist()
                cells = saved["weights.value"][weight : weight + (count + 1) * planes]
                node["weights"] = dict(
                    zip([BIAS, *ids], cells.reshape(-1, planes).tolist(), strict=True)
                )
                for name in ("objective", "balance", "purity"):
                    if f"split.{name}" in saved:
                        node[name] = float(saved[f"split.{name}"][inner])
                if "split.course" in saved:
                    course = saved["split.course"].reshape(len(saved["block.features"]), -1)
                    node["course"] = course[inner].tolist()
                inner, feature, weight = inner + 1, feature + count, weight + len(cells)
            tree.append(node)
        at += size
        yield tree


def first_child(tree: Tree, v: Node) -> int:
    """Return the number of the twin's first child, as the engine numbers nodes."""
    return LEAF if v.is_leaf else next(i for i, u in enumerate(tree.nodes) if u is v.ch[0])
