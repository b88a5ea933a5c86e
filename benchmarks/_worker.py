"""The new process behind `benchmarks._measure.fresh`."""

import json
import sys
from importlib import import_module

module, _, function = sys.argv[1].partition(":")
print(json.dumps(getattr(import_module(module), function)(**json.loads(sys.argv[2]))))
