"""napkinXC: batch PLT on its own balanced 2-means tree."""

from typing import Any

import numpy as np
import scipy.sparse as sp
from napkinxc.datasets import load_libsvm_file  # type: ignore[import-not-found]
from napkinxc.models import PLT  # type: ignore[import-not-found]

from benchmarks.programs._side import K, arrays, main


class NapkinXC:
    """Options are model parameters; the rest are napkinXC's defaults (LIBLINEAR, log loss)."""

    def __init__(self, options: dict[str, Any], threads: int) -> None:
        self._options = {"threads": threads, "seed": 1, "verbose": 0, **options}

    def read(self, paths: dict[str, str]) -> Any:
        return load_libsvm_file(paths["text"]) if "text" in paths else arrays(paths["arrays"])

    def learn(self, data: Any, folder: str) -> None:
        """Fit, which in napkinXC includes writing the model."""
        self._model = PLT(folder, **self._options)
        self._model.fit(*data)

    def save(self, folder: str) -> None:
        pass

    def load(self, folder: str) -> None:
        self._model = PLT(folder, **self._options)
        self._model.load()

    def rows(self, X: sp.csr_matrix) -> Any:
        return X.astype(np.float32)

    def predict(self, rows: Any) -> Any:
        return self._model.predict(rows, top_k=K)

    def labels(self, found: Any) -> Any:
        return found


if __name__ == "__main__":
    main(NapkinXC)
