"""Labels in every form that users have them."""

from __future__ import annotations

import copy
import importlib.util
import warnings
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import DataConversionWarning

from contract.kit import (
    Make,
    checkerboard,
    indicator,
    label_sets,
    needs,
    noise,
    same_answers,
    state,
)
from labelgrove import DataError


@needs("sets")
def check_collections_of_strings(make: Make) -> None:
    X, Y = noise()
    expected = state(make().fit(X, Y))
    objects = np.empty(len(Y), object)
    objects[:] = Y
    forms: dict[str, Any] = {
        "tuples": [tuple(row) for row in Y],
        "a tuple": tuple(Y),
        "arrays": [np.array(row, dtype=str) for row in Y],
        "an object array": objects,
        "repeated": [row + row[:1] for row in Y],
        "numpy strings": [[np.str_(name) for name in row] for row in Y],
    }
    for name, given in forms.items():
        assert state(make().fit(X, given)) == expected, name
    in_order = [sorted(row) for row in Y]
    expected = state(make().fit(X, in_order))
    assert state(make().fit(X, [set(row) for row in Y])) == expected
    assert state(make().fit(X, [frozenset(row) for row in Y])) == expected


@needs("sets")
def check_collections_of_integers(make: Make) -> None:
    X, Y = noise()
    numbers = [[7 * int(name[1:]) - 40 for name in row] for row in Y]
    clf = make().fit(X, numbers)
    assert clf.classes_.dtype == np.int64
    arrays = [np.array(row, dtype=np.int16) for row in numbers]
    assert state(make().fit(X, arrays)) == state(clf)
    labels, scores = clf.predict_topk(X, 100)
    assert labels.dtype == np.int64 and (labels[np.isnan(scores)] == -1).all()
    named = make().fit(X, Y)
    assert np.array_equal(named.predict_topk(X)[1], clf.predict_topk(X)[1])


@needs("sets")
def check_a_string_is_a_label_never_its_characters(make: Make) -> None:
    X, _ = noise(n=3)
    clf = make().fit(X, [["tax"], ["law", "tax"], []])
    assert clf.classes_.tolist() == ["law", "tax"] and clf.target_type_ == "multilabel"
    single = make().fit(X, ["tax", "law", "tax"])
    assert single.classes_.tolist() == ["law", "tax"] and single.target_type_ == "multiclass"
    for mixed in (["tax", ["law"], []], [["tax"], "law", []]):
        with pytest.raises(DataError, match="Y, row [01]"):
            make().fit(X, mixed)
    with pytest.raises(DataError):
        make().fit(X, "abc")


def check_one_label_a_row(make: Make) -> None:
    X, y = checkerboard(3)
    plain = make().fit(X, y)
    expected = state(plain)
    forms: dict[str, Any] = {
        "list": y.tolist(),
        "int32": y.astype(np.int32),
        "uint8": y.astype(np.uint8),
        "floats of whole numbers": y.astype(np.float64),
        "objects": y.astype(object),
        "a view": np.repeat(y, 2)[::2],
    }
    for name, given in forms.items():
        assert state(make().fit(X, given)) == expected, name
    with pytest.warns(DataConversionWarning) as caught:
        assert state(make().fit(X, y[:, None])) == expected
    assert {warning.filename for warning in caught} == {__file__}  # not within the package
    names = [f"class {c}" for c in y]
    named = make().fit(X, names)
    assert state(make().fit(X, np.array(names))) == state(named)
    assert state(make().fit(X, np.array(names, dtype=object))) == state(named)
    predicted = named.predict(X)
    assert set(predicted.tolist()) <= set(names)
    assert [f"class {c}" for c in plain.predict(X)] == predicted.tolist()
    truths = make().fit(X, y % 2 == 0)
    assert set(truths.predict(X).tolist()) <= {0, 1}
    if importlib.util.find_spec("pandas") is not None:
        import pandas as pd

        assert state(make().fit(X, pd.Series(y))) == expected


@needs("sets")
def check_indicators(make: Make) -> None:
    X, Y = indicator()
    plain = make().fit(X, Y)
    expected = state(plain)
    explicit = Y.copy().astype(np.float32)
    explicit.resize(Y.shape)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sp.SparseEfficiencyWarning)
        explicit[0, 5] = explicit[0, 5]  # perhaps a zero that is stored
    dense: dict[str, Any] = {
        "dense": Y.toarray(),
        "truth values": Y.toarray().astype(bool),
        "floats": Y.toarray().astype(np.float64),
        "columns first": np.asfortranarray(Y.toarray()),
    }
    as_array = make().fit(X, Y.toarray())
    for name, given in dense.items():
        assert state(make().fit(X, given)) == state(as_array), name
    assert same_answers(as_array, plain, X)
    for found, sparse in (
        (as_array.predict(X), plain.predict(X)),
        (as_array.predict_proba(X), plain.predict_proba(X)),
    ):
        assert isinstance(found, np.ndarray)  # as the targets were
        assert np.array_equal(found, sparse.toarray())
    assert sp.issparse(as_array.predict_proba(X, top_k=2))
    loaded = copy.deepcopy(as_array)
    assert np.array_equal(loaded.predict(X), as_array.predict(X))
    forms: dict[str, Any] = {
        "csc": Y.tocsc(),
        "coo matrix": sp.coo_matrix(Y),
        "lil": sp.lil_array(Y),
        "stored zeros": explicit,
    }
    for name, given in forms.items():
        assert state(make().fit(X, given)) == expected, name
    assert plain.classes_.tolist() == list(range(9))
    assert plain.predict(X).shape == plain.predict_proba(X).shape == Y.shape
    assert plain.target_type_ == "multilabel"
    assert plain.label_counts_.tolist() == Y.sum(axis=0).tolist()


def check_what_can_be_learnt_can_be_scored(make: Make) -> None:
    X, y = checkerboard(1)
    clf = make()
    for form in (y, [[label] for label in y], sp.csr_array(np.eye(12, dtype=int)[y])):
        try:
            clf.fit(X, form)
        except DataError:
            assert "sets" not in make.kind.traits
        else:
            assert clf.score(X, form) == np.mean(clf.predict_topk(X, 1)[0].ravel() == y)


@needs("online", "sets")
def check_targets_stay_of_one_kind(make: Make) -> None:
    X, y = checkerboard(2)
    kinds: list[Any] = [y, label_sets(y), sp.csr_array(np.eye(12, dtype=int)[y])]
    for first in kinds:
        clf = make().fit(X, first)
        before = state(clf)
        for other in kinds:
            if other is not first:
                with pytest.raises(DataError, match="the model has learnt"):
                    clf.partial_fit(X, other)
                with pytest.raises(DataError, match="the model has learnt"):
                    clf.score(X, other)
        assert state(clf) == before
    for first, other in ((y, [str(c) for c in y]), ([str(c) for c in y], y)):
        clf = make().fit(X, first)
        before = state(clf)
        with pytest.raises(DataError, match="other type"):
            clf.partial_fit(X, other)
        assert state(clf) == before


@needs("sets")
def check_any_characters_may_name_a_label(make: Make) -> None:
    X, _ = noise(n=4)
    strange = ["\u200b", " a\tb\n", "Größe 🌳", "\x00", "None", "-1", "a,b;c"]
    clf = make().fit(X, [strange[:3], strange[3:], [], ["a", "A"]])
    assert clf.classes_.tolist() == sorted([*strange, "a", "A"])
    assert state(clf)  # it can be saved
    for blank in ("", " \t"):
        with pytest.raises(DataError, match="row 1: label '.*' is blank; expected a name"):
            make().fit(X, [["a"], [blank], [], []])
    with pytest.raises(DataError, match="surrogate"):
        make().fit(X, [["\ud800"], [], [], []])
