"""What holds for every test, those in docstrings included."""

import signal
from importlib.util import find_spec

from hypothesis import settings

# The only module that cannot be imported without an optional package.
collect_ignore = [] if find_spec("river") else ["src/labelgrove/river.py"]

# A slow example says how busy the machine is; pytest's own timeout catches what hangs.
settings.register_profile("labelgrove", deadline=None)
settings.load_profile("labelgrove")

# A shell starts its background jobs with Ctrl-C ignored, and Python keeps to that: the tests that
# interrupt something would fail there.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
