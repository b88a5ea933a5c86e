"""Raw text: what the settings of the front end are worth, online and in batch."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from time import process_time
from typing import Any

from benchmarks._data import DATA
from benchmarks._measure import fresh
from benchmarks._results import command_line, write
from labelgrove import OnlinePLTClassifier, PLTClassifier, TextClassifier, evaluate
from labelgrove.data import read_examples
from labelgrove.text import HashedText, TextFeatures

DATASETS = (
    "kirjastonhoitaja-yso",
    "stackexchange-text",
    "gutenberg-text",
    "onet-titles",
    "cooking-text",
    "clinc150",
    "cpv-italian",
)
FRONT_ENDS: dict[str, HashedText | TextFeatures] = {
    "HashedText": HashedText(),
    "words": TextFeatures("words"),
    "words+stems": TextFeatures("words+stems"),
    "words+subwords": TextFeatures("words+subwords"),
}
LEARNERS = {"online": OnlinePLTClassifier, "batch": PLTClassifier}

_CHUNK = 1024


def learn_and_test(dataset: str, learner: str, front_end: str) -> dict[str, Any]:
    """Learn in this process, as the command line does, then measure on the test set."""
    train, test = (read_examples(DATA / dataset / f"{one}.jsonl.xz") for one in ("train", "test"))
    texts = train.text or []
    model = TextClassifier(LEARNERS[learner](random_state=0), FRONT_ENDS[front_end])
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
    found = evaluate(model, test.text, test.labels)
    names = [f"{metric}@{k}" for metric in ("p", "psp") for k in (1, 3, 5)]
    return {
        **{name: round(100 * float(found[name]), 2) for name in names},
        "learning_cpu": round(seconds, 2),
        "bytes": size,
    }


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and write ``text-<dataset>.json``."""
    chosen = command_line(__doc__ or "", DATASETS).parse_args(arguments)
    for dataset in chosen.subjects:
        if not (DATA / dataset / "train.jsonl.xz").exists():
            print(f"{dataset}: skipped, it is not in {DATA}")
            continue
        rows = []
        for learner in LEARNERS:
            for name in FRONT_ENDS:
                task = "benchmarks.text:learn_and_test"
                found = fresh(task, dataset=dataset, learner=learner, front_end=name)
                rows.append({"learner": learner, "front_end": name, **found})
                print(f"{dataset}: {learner}, {name}: {found}", flush=True)
        write(chosen.output, "text", dataset, {"rows": rows})


if __name__ == "__main__":
    main()
