"""What holds for every test, those in docstrings included."""

from hypothesis import settings

# A slow example says how busy the machine is; pytest's own timeout catches what hangs.
settings.register_profile("labelgrove", deadline=None)
settings.load_profile("labelgrove")
