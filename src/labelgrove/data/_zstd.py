"""The standard library's zstd, which Python has had since version 3.14, or its backport."""

from __future__ import annotations

import sys

__all__ = ["zstd"]

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd
