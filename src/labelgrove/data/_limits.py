"""Limits of the formats, the same for readers and writers."""

from __future__ import annotations

#: Feature and label ids run from 0 to MAX_ID: they and their count fit a signed 32-bit integer.
MAX_ID = 2**31 - 2

#: No line is longer than this; one that is (a binary file, a lost line break) is an error before
#: it fills the memory.
MAX_LINE_BYTES = 1 << 25

#: How much is read, decompressed and parsed at once. The temporary arrays of the parser then
#: stay within the processor's caches: 1 MiB measured faster than 4 MiB and than 16 MiB.
BLOCK_BYTES = 1 << 20

#: How much compressed content is given to a decoder at once.
COMPRESSED_BYTES = 1 << 15

#: What an xz file may ask for as its dictionary. `xz -9` needs 65 MiB.
XZ_MEMORY_BYTES = 1 << 28

#: The smallest float64 that rounds to infinity as a float32.
FLOAT32_OVERFLOW = float.fromhex("0x1.ffffffp127")
