"""Label frequencies, against the paper's Algorithms 1 and 2."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from labelgrove import ParameterError
from labelgrove.trees import fano_frequencies, label_frequencies

Data = tuple[list[list[int]], list[int]]


@st.composite
def data(draw: st.DrawFn) -> Data:
    """Return a label matrix and the frequencies of its contexts, small integers."""
    n, n_labels = draw(st.integers(1, 12)), draw(st.integers(1, 6))
    row = st.lists(st.integers(0, 1), min_size=n_labels, max_size=n_labels)
    Y = draw(st.lists(row, min_size=n, max_size=n))
    return Y, draw(st.lists(st.integers(0, 3), min_size=n, max_size=n))


def counted(Y: list[list[int]], p: list[int]) -> list[int]:
    return [
        sum(y[label] * weight for y, weight in zip(Y, p, strict=True)) for label in range(len(Y[0]))
    ]


def algorithm_1(Y: list[list[int]], p: list[int]) -> list[int]:
    p, f_tilde = list(p), [0] * len(Y[0])
    while any(f := counted(Y, p)):
        label = f.index(max(f))
        f_tilde[label] = f[label]
        for i, y in enumerate(Y):
            if y[label]:
                p[i] = 0
    return f_tilde


def algorithm_2(Y: list[list[int]], p: list[int]) -> list[int]:
    f, f_tilde = counted(Y, p), [0] * len(Y[0])
    for y, weight in zip(Y, p, strict=True):
        relevant = [label for label in range(len(f)) if y[label]]
        if relevant:
            f_tilde[max(relevant, key=lambda label: (f[label], -label))] += weight
    return f_tilde


@settings(max_examples=80)
@given(data())
def test_frequencies_are_those_of_the_paper(given_: Data) -> None:
    Y, p = given_
    assert label_frequencies(Y, context_frequencies=p).tolist() == counted(Y, p)
    marginal = fano_frequencies(Y, context_frequencies=p)
    assert marginal.tolist() == algorithm_2(Y, p)
    assert fano_frequencies(Y, method="greedy", context_frequencies=p).tolist() == algorithm_1(Y, p)
    half = fano_frequencies(Y, softness=0.5, context_frequencies=p)
    assert half.tolist() == [(a + b) / 2 for a, b in zip(marginal, counted(Y, p), strict=True)]
    assert fano_frequencies(Y, softness=1, context_frequencies=p).tolist() == counted(Y, p)


@settings(max_examples=30)
@given(data())
def test_contexts_count_once_unless_told_otherwise(given_: Data) -> None:
    Y, _ = given_
    ones = [1] * len(Y)
    assert label_frequencies(sp.csc_array(Y)).tolist() == counted(Y, ones)
    for method, twin in (("marginal", algorithm_2), ("greedy", algorithm_1)):
        assert fano_frequencies(sp.coo_matrix(Y), method=method).tolist() == twin(Y, ones)


def test_fractions_of_contexts_do_as_well() -> None:
    random = np.random.default_rng(0)
    Y, p = (random.random((200, 30)) < 0.1).astype(int), random.random(200)
    greedy = fano_frequencies(Y, method="greedy", context_frequencies=p)
    assert greedy.sum() == pytest.approx(p[Y.any(axis=1)].sum())
    assert (greedy <= label_frequencies(Y, context_frequencies=p) + 1e-12).all()


@pytest.mark.parametrize(
    ("given_", "message"),
    [
        ({"method": "all"}, "method='all': expected one of 'marginal', 'greedy'"),
        ({"softness": 1.5}, "softness=1.5: expected a number from 0 to 1"),
        ({"method": "greedy", "softness": 0.5}, "softness=0.5: expected 0 with method='greedy'"),
        ({"context_frequencies": [1]}, "context_frequencies: expected one number for each of 2"),
        ({"context_frequencies": [1, "x"]}, "context_frequencies: expected numbers"),
        ({"context_frequencies": [1, -2]}, "found -2.0 for example 1; expected a finite number"),
    ],
)
def test_wrong_parameters_are_named(given_: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        fano_frequencies([[1, 0], [0, 1]], **given_)
