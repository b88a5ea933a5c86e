"""Examples whose words indicate their labels; some labels need escaping."""

from __future__ import annotations

import random
from typing import Any

from labelgrove.text import HashedText

HASHED = HashedText()
HOSTILE = "</script><script>document.title='x'</script>"
LABELS = [f"topic {i:02d}" for i in range(38)] + [HOSTILE, '& “quotes"']


def examples(n: int, seed: int) -> tuple[Any, list[list[str]]]:
    """Texts that indicate their labels; later labels are rarer."""
    chance = random.Random(seed)
    texts, labels = [], []
    for _ in range(n):
        chosen = sorted({int(len(LABELS) * chance.random() ** 2) for _ in range(2)})
        words = [f"word{one}x{chance.randrange(3)}" for one in chosen for _ in range(2)]
        texts.append(" ".join([*words, f"common{chance.randrange(9)}"]))
        labels.append([LABELS[one] for one in chosen])
    return HASHED.transform(texts), labels
