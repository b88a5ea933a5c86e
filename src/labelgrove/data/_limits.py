"""Limits of the formats, shared by readers and writers."""

from __future__ import annotations

#: Feature and label ids run from 0 to MAX_ID: they and their count fit a signed 32-bit integer.
MAX_ID = 2**31 - 2

#: A longer line (in a binary file, or with a lost line break) is an error, raised before it fills
#: the memory.
MAX_LINE_BYTES = 1 << 25

#: Number of bytes to read, decompress and parse at once. The parser's temporary arrays then stay
#: within the processor's caches: 1 MiB was faster than 4 MiB and 16 MiB.
BLOCK_BYTES = 1 << 20

#: Number of compressed bytes passed to a decoder at once.
COMPRESSED_BYTES = 1 << 15

#: Memory limit of the xz decoder. `xz -9` needs 65 MiB.
XZ_MEMORY_BYTES = 1 << 28

#: The smallest float64 that rounds to infinity as a float32.
FLOAT32_OVERFLOW = float.fromhex("0x1.ffffffp127")
