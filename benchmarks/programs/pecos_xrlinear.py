"""PECOS: XR-Linear on a hierarchical k-means tree over PIFA embeddings."""

import contextlib
import sys
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from pecos.xmc import Indexer, LabelEmbeddingFactory  # type: ignore[import-not-found]
from pecos.xmc.xlinear.model import XLinearModel  # type: ignore[import-not-found]

from benchmarks.programs._side import K, arrays, indicator, main

BEAM = 10


class Pecos:
    """Options go to the indexer; the rest are defaults (arity 16, leaves of 100, C = 1)."""

    def __init__(self, options: dict[str, Any], threads: int) -> None:
        self._options, self._threads = options, threads

    def read(self, paths: dict[str, str]) -> Any:
        X, _ = arrays(paths["arrays"])
        return _unit(X), indicator(paths["arrays"], int(paths["labels"]))

    def learn(self, data: Any, folder: str) -> None:
        X, Y = data
        with contextlib.redirect_stdout(sys.stderr):
            embedding = LabelEmbeddingFactory.create(Y, X, method="pifa")
            chain = Indexer.gen(
                embedding,
                indexer_type="hierarchicalkmeans",
                threads=self._threads,
                seed=0,
                **self._options,
            )
            self._model = XLinearModel.train(X, Y, C=chain, threads=self._threads)

    def save(self, folder: str) -> None:
        self._model.save(folder)

    def load(self, folder: str) -> None:
        self._model = XLinearModel.load(folder, is_predict_only=True)

    def rows(self, X: sp.csr_matrix) -> Any:
        return _unit(X)

    def predict(self, rows: Any) -> Any:
        return self._model.predict(rows, beam_size=BEAM, only_topk=K, threads=self._threads)

    def labels(self, found: Any) -> list[list[int]]:
        return [_best_first(found[i]) for i in range(found.shape[0])]


def _unit(X: sp.csr_matrix) -> sp.csr_matrix:
    """Scale rows to unit length, which the other programs do themselves."""
    unit = X.astype(np.float32)
    length = np.sqrt(unit.multiply(unit).sum(axis=1).A1)
    unit.data /= np.repeat(np.maximum(length, 1e-12), np.diff(unit.indptr))
    return unit


def _best_first(row: sp.csr_matrix) -> list[int]:
    order: npt.NDArray[np.intp] = np.argsort(-row.data, kind="stable")
    labels: list[int] = row.indices[order].tolist()
    return labels


if __name__ == "__main__":
    main(Pecos)
