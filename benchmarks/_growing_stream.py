"""A synthetic stream with an endless supply of new labels, determined by a seed.

Labels belong to topics of ten. A topic has four words of its own and each of its labels has two. An
example has five labels of one topic and always 20 features: the words of the topic and of the
labels, and 6 of 96 noise words. A new topic arrives with five examples: two that divide its labels
between them and three with any five of them, shuffled with those of all topics that arrive at the
same time. Only the number of labels grows: the labels and features per example, the examples per
label and the difficulty of telling labels apart stay constant.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from benchmarks._data import CHUNK, Chunk

LABELS = 5
NONZEROS = 20
TOPIC_LABELS = 10
_TOPIC_EXAMPLES = 5
_TOPIC_WORDS = 4
_LABEL_WORDS = 2
_WORDS = _TOPIC_WORDS + TOPIC_LABELS * _LABEL_WORDS
_NOISE_WORDS = 96
_NOISE_SHOWN = NONZEROS - _TOPIC_WORDS - LABELS * _LABEL_WORDS

Numbers = npt.NDArray[np.int64]


class GrowingStream:
    """Examples of the labels 0, 1, 2, … that have arrived so far.

    Parameters
    ----------
    seed : int
    """

    def __init__(self, seed: int) -> None:
        self._rng = np.random.default_rng(seed)
        self._n_topics = 0

    def arrivals(self, n_labels: int) -> Iterator[Chunk]:
        """Let topics arrive up to `n_labels` (a multiple of ten); yield all their examples."""
        topics = np.repeat(np.arange(self._n_topics, n_labels // TOPIC_LABELS), _TOPIC_EXAMPLES)
        order = self._distinct(len(topics), TOPIC_LABELS, TOPIC_LABELS)
        second = np.arange(len(topics)) % _TOPIC_EXAMPLES == 1
        # The second example of a topic has the labels that the first one lacks.
        order[second] = np.roll(order[np.flatnonzero(second) - 1], LABELS, axis=1)
        shuffled = self._rng.permutation(len(topics))
        self._n_topics = n_labels // TOPIC_LABELS
        for begin in range(0, len(topics), CHUNK):
            chosen = shuffled[begin : begin + CHUNK]
            yield self._examples(topics[chosen], order[chosen, :LABELS])

    def known(self, n: int) -> Chunk:
        """`n` examples of topics that have arrived, all equally likely."""
        topics = self._rng.integers(self._n_topics, size=n)
        return self._examples(topics, self._distinct(n, TOPIC_LABELS, LABELS))

    def _examples(self, topics: Numbers, members: Numbers) -> Chunk:
        n = len(topics)
        of_topic = np.tile(np.arange(_TOPIC_WORDS), (n, 1))
        of_labels = _TOPIC_WORDS + members[:, :, None] * _LABEL_WORDS + np.arange(_LABEL_WORDS)
        words = np.hstack([of_topic, of_labels.reshape(n, -1)])
        words += _NOISE_WORDS + _WORDS * topics[:, None]
        ids = np.hstack([self._distinct(n, _NOISE_WORDS, _NOISE_SHOWN), words])
        ids.sort(axis=1)
        values = np.full(ids.size, NONZEROS**-0.5, np.float32)
        indptr = np.arange(0, ids.size + 1, NONZEROS)
        shape = (n, _NOISE_WORDS + _WORDS * self._n_topics)
        X = sp.csr_array((values, ids.astype(np.int32).ravel(), indptr), shape=shape)
        labels = topics[:, None] * TOPIC_LABELS + members
        return X, list(map(tuple, labels.tolist()))

    def _distinct(self, n: int, among: int, count: int) -> Numbers:
        """`n` rows of `count` distinct random numbers below `among`."""
        keys = self._rng.random((n, among), dtype=np.float32)
        return np.argsort(keys, axis=1)[:, :count]
