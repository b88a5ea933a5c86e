"""Put this directory on the import path, so that tests can say ``from naive import ...``."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
