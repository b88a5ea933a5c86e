"""omikuji: Parabel- and Bonsai-like trees."""

from itertools import pairwise
from typing import Any

import scipy.sparse as sp
from omikuji import Model, _ThreadPoolHandle  # type: ignore[import-not-found]
from omikuji._libomikuji import ffi, lib  # type: ignore[import-not-found]

from benchmarks.programs._side import K, main

BEAM = 10


class Omikuji:
    """Options are fields of its hyper-parameters; the rest are omikuji's defaults."""

    def __init__(self, options: dict[str, Any], threads: int) -> None:
        self._hyper = Model.default_hyper_param()
        for name, value in options.items():
            setattr(self._hyper, name, value)
        self._pool = _ThreadPoolHandle(threads, initialize=True)

    def read(self, paths: dict[str, str]) -> Any:
        """Do the first half of `Model.train_on_data`: parsing must not count as learning."""
        data = lib.load_omikuji_data_set(ffi.new("char[]", paths["text"].encode()), self._pool.ptr)
        if data == ffi.NULL:
            raise RuntimeError(f"omikuji cannot read {paths['text']}")
        return ffi.gc(data, lib.free_omikuji_data_set)

    def learn(self, data: Any, folder: str) -> None:
        """Do the second half of `Model.train_on_data`."""
        model = lib.train_omikuji_model(data, self._hyper, self._pool.ptr)
        if model == ffi.NULL:
            raise RuntimeError("omikuji cannot learn")
        self._model = Model(model, self._pool)

    def save(self, folder: str) -> None:
        self._model.save(folder)

    def load(self, folder: str) -> None:
        self._model = Model.load(folder)
        self._model._thread_pool = self._pool

    def rows(self, X: sp.csr_matrix) -> Any:
        """Lists of pairs, created in advance."""
        ends, ids, values = X.indptr.tolist(), X.indices.tolist(), X.data.tolist()
        return [list(zip(ids[i:j], values[i:j], strict=True)) for i, j in pairwise(ends)]

    def predict(self, rows: Any) -> Any:
        """Predict row by row; omikuji has no batch prediction."""
        return [self._model.predict(row, beam_size=BEAM, top_k=K) for row in rows]

    def labels(self, found: Any) -> list[list[int]]:
        return [[label for label, _ in row] for row in found]


if __name__ == "__main__":
    main(Omikuji)
