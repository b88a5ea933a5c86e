"""scikit-learn's tf-idf of words, or of words and runs of letters, with omikuji's trees."""

from __future__ import annotations

import json
import sys
import tempfile
from itertools import pairwise
from pathlib import Path
from typing import Any

from omikuji import Model  # type: ignore[import-not-found]
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import FeatureUnion

from benchmarks.programs.texts import Cpu, K, read


def vectorizer(letters: bool) -> Any:
    """The vectoriser that omikuji's users commonly put before it."""
    words = TfidfVectorizer(sublinear_tf=True, min_df=2)
    if not letters:
        return words
    runs = TfidfVectorizer(sublinear_tf=True, min_df=2, analyzer="char_wb", ngram_range=(3, 5))
    return FeatureUnion([("words", words), ("letters", runs)])


def pairs(X: Any) -> list[list[tuple[int, float]]]:
    """The rows in omikuji's format."""
    ends, ids, values = X.indptr.tolist(), X.indices.tolist(), X.data.tolist()
    return [list(zip(ids[i:j], values[i:j], strict=True)) for i, j in pairwise(ends)]


def main(train: str, test: str, letters: bool, trees: int) -> dict[str, Any]:
    """Learn from ``train``, predict ``test``."""
    part, asked = read(train), read(test)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "train.txt")
        with Cpu() as clock:
            text = vectorizer(letters)
            X = text.fit_transform(part.texts).tocsr()
        n_labels = 1 + max(label for row in part.labels for label in row)
        with path.open("w", encoding="ascii") as file:
            file.write(f"{X.shape[0]} {X.shape[1]} {n_labels}\n")
            for row, features in zip(part.labels, pairs(X), strict=True):
                if not features:  # omikuji rejects a file with an empty row
                    features = [(0, 1e-6)]
                pairs_text = " ".join(f"{column}:{value:.6g}" for column, value in features)
                file.write(f"{','.join(map(str, row))} {pairs_text}\n")
        with clock:
            hyper = Model.default_hyper_param()
            hyper.n_trees = trees
            model = Model.train_on_data(str(path), hyper, n_threads=1)
        saved = Path(folder, "model")
        model.save(str(saved))
        size = sum(one.stat().st_size for one in saved.rglob("*") if one.is_file())
    rows = pairs(text.transform(asked.texts).tocsr())
    found = [model.predict(row, top_k=K) if row else [] for row in rows]
    return {
        "predicted": [[label for label, _ in row] for row in found],
        "learning_cpu": clock.seconds,
        "bytes": size,
    }


if __name__ == "__main__":
    print(json.dumps(main(**json.loads(sys.argv[1]))))
