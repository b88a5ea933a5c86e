"""LabelGrove, measured like the other programs."""

from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

import labelgrove
from benchmarks.programs._side import K, arrays, main
from labelgrove.data import read_examples


class LabelGrove:
    """Options: ``estimator``, its parameters, and ``compact``, arguments of compacting to save."""

    def __init__(self, options: dict[str, Any], threads: int) -> None:
        chosen = dict(options)
        self._compact = chosen.pop("compact", None)
        self._model = getattr(labelgrove, chosen.pop("estimator"))(**chosen, n_jobs=threads)
        self._threads = threads

    def read(self, paths: dict[str, str]) -> Any:
        if "text" in paths:
            examples = read_examples(paths["text"], format="xmlc")
            return examples.X, examples.labels
        X, labels = arrays(paths["arrays"])
        if all(len(row) == 1 for row in labels):
            return sp.csr_array(X), np.array([label for (label,) in labels])
        return sp.csr_array(X), labels

    def learn(self, data: Any, folder: str) -> None:
        self._model.fit(*data)

    def save(self, folder: str) -> None:
        model = self._model if self._compact is None else self._model.compact(**self._compact)
        model.save(Path(folder, "model.lg"), for_prediction=True)

    def load(self, folder: str) -> None:
        self._model = labelgrove.load(Path(folder, "model.lg"))
        self._model.set_params(n_jobs=self._threads)

    def rows(self, X: sp.csr_matrix) -> Any:
        return sp.csr_array(X)

    def predict(self, rows: Any) -> Any:
        return self._model.predict_topk(rows, K)

    def labels(self, found: Any) -> Any:
        return found[0].tolist()


if __name__ == "__main__":
    main(LabelGrove)
