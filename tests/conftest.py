"""What tests share; this directory on the import path, for ``from naive import ...``."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """The folder of the real data sets; without it the test is skipped."""
    if "LABELGROVE_DATA" not in os.environ:
        pytest.skip("the data sets are not at hand: LABELGROVE_DATA names their folder")
    return Path(os.environ["LABELGROVE_DATA"])
