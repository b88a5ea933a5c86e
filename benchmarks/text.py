"""Raw text: the effect of the front end's settings, and a comparison with other programs."""

from __future__ import annotations

import json
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from time import perf_counter, process_time
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import FeatureUnion

from benchmarks._environments import FASTTEXT, OMIKUJI_TEXTS, run
from benchmarks._measure import fresh
from benchmarks._results import command_line, earlier, write
from benchmarks.names import LEARNERS, are_there, examples_of, vocabulary_of
from benchmarks.programs import texts as programs
from labelgrove import TextClassifier, evaluate
from labelgrove.metrics import inverse_propensity, precision_at_k, psp_at_k
from labelgrove.text import TextFeatures

DATASETS = (
    "cooking-text",
    "clinc150",
    "onet-titles",
    "cpv-italian",
    "kirjastonhoitaja-yso",
    "stackexchange-text",
    "gutenberg-text",
    "eurlex57k-text",
)
SETTINGS: dict[str, dict[str, Any]] = {
    "words": {"preset": "words", "idf": False},
    "+ idf": {"preset": "words"},
    "+ subwords": {"preset": "words+subwords"},
    "default": {},
    "default + embeddings": {"embeddings": "wordllama"},
    "default + names": {},
}
PEERS = ("fastText hs", "fastText ova", "tf-idf + omikuji", "tf-idf, letters + omikuji")

_CODES = ("cpv-italian", "kirjastonhoitaja-yso")
"""Data sets whose labels are codes without names."""

_CHUNK = 1024
_HELD_OUT = 10
_MOST_FOR_OVA = 5 * 10**7
"""Largest number of rows times labels for fastText's one-versus-all, which computes all."""
_MOST_FOR_LETTERS = 10**8
"""Most characters for runs of letters, which take fifteen times as many bytes."""
_MOST_FOR_PASSES = 10**7
"""Most characters for fastText's runs of letters, which its tuning reads 150 times."""


def learn_and_test(dataset: str, learner: str, setting: str) -> dict[str, Any]:
    """Learn in this process, as the command line does, then measure on the test set."""
    train, test = examples_of(dataset, "train"), examples_of(dataset, "test")
    texts = train.text or []
    named: dict[str, Any] = {}
    if setting.endswith("names"):
        named = {"names": "met", "vocabulary": vocabulary_of(dataset)}
    model: Any = TextClassifier(
        LEARNERS[learner](random_state=0), TextFeatures(**SETTINGS[setting]), **named
    )
    begin = process_time()
    if learner == "batch":
        model.fit(texts, train.labels)
    else:
        for row in range(0, len(texts), _CHUNK):
            model.partial_fit(texts[row : row + _CHUNK], train.labels[row : row + _CHUNK])
    seconds = process_time() - begin
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.lg")
        model.save(path)
        size = path.stat().st_size
    counts = Counter(label for row in train.labels for label in row)
    found = evaluate(model, test.text, test.labels, label_counts=counts, n_train=len(texts))
    names = [f"{metric}@{k}" for metric in ("p", "psp") for k in (1, 3, 5)]
    return {
        **{name: round(100 * float(found[name]), 2) for name in names},
        "learning_cpu": round(seconds, 2),
        "bytes": size,
    }


def ask_peer(dataset: str, peer: str, rows: list[dict[str, Any]]) -> dict[str, Any] | None:
    """Let another program learn and predict; None if that would take too long."""
    train, test = examples_of(dataset, "train"), examples_of(dataset, "test")
    texts = train.text or []
    ids: dict[Any, int] = {}
    for part in (train, test):
        for row in part.labels:
            for label in row:
                ids.setdefault(label, len(ids))
    y_train, y_test = (
        [[ids[label] for label in row] for row in one.labels] for one in (train, test)
    )
    characters = sum(map(len, texts))
    if peer == "fastText ova" and len(texts) * len(ids) > _MOST_FOR_OVA:
        return None
    if "letters" in peer and characters > _MOST_FOR_LETTERS:
        return None
    with tempfile.TemporaryDirectory() as folder:
        paths = {one: str(Path(folder, one)) for one in ("train", "test", "kept", "held")}
        programs.write(Path(paths["train"]), texts, y_train)
        programs.write(Path(paths["test"]), test.text or [], y_test)
        if peer.startswith("fastText"):
            held = [i % _HELD_OUT == 0 for i in range(len(texts))]
            for name, which in (("kept", False), ("held", True)):
                chosen = [i for i in range(len(texts)) if held[i] == which]
                part_texts = [texts[i] for i in chosen]
                programs.write(Path(paths[name]), part_texts, [y_train[i] for i in chosen])
            loss = peer.removeprefix("fastText ")
            tuned = [row["options"] for row in rows if row["setting"] == "fastText hs"]
            options = tuned[0] if loss == "ova" and tuned else None
            letters = characters <= _MOST_FOR_PASSES
            call: dict[str, Any] = {**paths, "loss": loss, "letters": letters, "options": options}
            found = run(FASTTEXT, "fasttext_texts", **call)
        else:
            call = {"train": paths["train"], "test": paths["test"], "trees": 1}
            call["letters"] = "letters" in peer
            found = run(OMIKUJI_TEXTS, "omikuji_texts", **call)
    predicted = found.pop("predicted")
    if predicted is None:
        return None
    return {**_figures(predicted, y_train, y_test, len(ids)), **found}


def _figures(
    predicted: list[list[int]], train: list[list[int]], test: list[list[int]], n_labels: int
) -> dict[str, float]:
    """The figures of `evaluate`, for the predictions of another program."""
    counts = np.bincount([label for row in train for label in row], minlength=n_labels)
    weights = inverse_propensity(counts, n_examples=len(train))
    ends = np.cumsum([0, *map(len, test)])
    flat = [label for row in test for label in row]
    truth = csr_array((np.ones(len(flat)), flat, ends), shape=(len(test), n_labels))
    best = np.array([([*row, *[-1] * programs.K])[: programs.K] for row in predicted])
    found = {}
    for k in (1, 3, 5):
        found[f"p@{k}"] = round(100 * float(precision_at_k(truth, best, k)), 2)
        found[f"psp@{k}"] = round(100 * float(psp_at_k(truth, best, weights, k)), 2)
    return found


def speed(dataset: str, times: int) -> dict[str, Any]:
    """Time to vectorise all training texts, with ours and scikit-learn's in turns."""
    texts = examples_of(dataset, "train").text or []
    runs = {"analyzer": "char_wb", "ngram_range": (3, 5)}
    options: dict[str, Any] = {"sublinear_tf": True, "min_df": 2}
    both = [("words", TfidfVectorizer(**options)), ("letters", TfidfVectorizer(**options, **runs))]
    tried: dict[str, Any] = {
        "words": TextFeatures("words"),
        "words, two threads": TextFeatures("words", n_jobs=2),
        "words, scikit-learn": TfidfVectorizer(**options),
        "words+stems": TextFeatures(),
        "words+subwords": TextFeatures("words+subwords"),
        "words+subwords, two threads": TextFeatures("words+subwords", n_jobs=2),
        "words+subwords, scikit-learn": FeatureUnion(both),
    }
    clocks: dict[str, list[tuple[float, float]]] = {name: [] for name in tried}
    for turn in range(times):
        for name, one in tried.items():
            if turn and isinstance(one, FeatureUnion):
                continue
            wall, cpu = perf_counter(), process_time()
            one.fit_transform(texts)
            clocks[name].append((perf_counter() - wall, process_time() - cpu))
    model = TextClassifier().fit(texts[:2000], [[str(i % 50)] for i in range(2000)])
    row = " ".join(" ".join(texts[:50]).split()[:50])
    single = []
    for _ in range(1000):
        begin = perf_counter()
        model.predict_topk([row])
        single.append(perf_counter() - begin)
    return {
        "texts": len(texts),
        "characters": sum(map(len, texts)),
        "seconds": {
            name: {
                "wall": round(median(wall for wall, _ in found), 3),
                "cpu": round(median(cpu for _, cpu in found), 3),
            }
            for name, found in clocks.items()
        },
        "one_row_ms": round(1e3 * median(single), 3),
    }


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and write ``text-<dataset>.json``."""
    parser = command_line(__doc__ or "", DATASETS)
    parser.add_argument("--peers", action="store_true", help="measure the peers (installs them)")
    parser.add_argument("--go-on", action="store_true", help="keep existing rows")
    parser.add_argument("--speed", action="store_true", help="time the front ends alone")
    chosen = parser.parse_args(arguments)
    for dataset in chosen.subjects:
        if not are_there(dataset):
            continue
        if chosen.speed:
            write(chosen.output, "text_speed", dataset, speed(dataset, times=15))
        else:
            _measure(dataset, chosen.output, peers=chosen.peers, go_on=chosen.go_on)


def _measure(dataset: str, output: Path, *, peers: bool, go_on: bool) -> None:
    # Keep the rows of other programs unless these are to be measured.
    rows = [
        row
        for row in earlier(output, "text", dataset).get("rows", [])
        if go_on or (row["learner"] == "peer" and not peers)
    ]
    wanted = [(learner, setting) for learner in LEARNERS for setting in SETTINGS]
    if dataset in _CODES:
        wanted = [one for one in wanted if not one[1].endswith("names")]
    wanted += [("peer", peer) for peer in PEERS] if peers else []
    for learner, setting in wanted:
        if any((row["learner"], row["setting"]) == (learner, setting) for row in rows):
            continue
        if learner == "peer":
            found = ask_peer(dataset, setting, rows)
        else:
            task = "benchmarks.text:learn_and_test"
            found = fresh(task, dataset=dataset, learner=learner, setting=setting)
        print(f"{dataset}: {learner}, {setting}: {json.dumps(found)}", flush=True)
        if found is not None:
            rows.append({"learner": learner, "setting": setting, **found})
            rows.sort(key=lambda row: row["learner"] == "peer")
            write(output, "text", dataset, {"rows": rows})


if __name__ == "__main__":
    main()
