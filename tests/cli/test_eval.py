from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_array

import labelgrove
from cli.conftest import as_json, as_json_lines, run
from labelgrove.data import read_examples, read_filter_pairs
from labelgrove.evaluation import evaluate
from labelgrove.evaluation._observed import observe

METRICS = [f"{name}@{k}" for name in ("p", "r", "ndcg", "psp", "psndcg") for k in (1, 3, 5)]


def test_the_figures_are_those_of_the_library(
    vectors: Path, vector_model: Path, tmp_path: Path
) -> None:
    test = tmp_path / "test.txt"
    # A label never learnt and a row without labels, among known rows.
    test.write_text(vectors.read_text().split("\n", 1)[1].replace("\n3 ", "\n19,77 "))
    found = as_json("eval", vector_model, test, "--format", "xmlc")
    model = labelgrove.load(vector_model)
    examples = read_examples(test, format="xmlc")
    expected = evaluate(
        model,
        examples.X,
        examples.labels,
        label_counts=dict(zip(model.classes_.tolist(), model.label_counts_.tolist(), strict=True)),
        n_train=model.examples_seen_,
    )
    for name in (*METRICS, "classifiers_per_example", "search_depth"):
        assert found[name] == pytest.approx(expected[name]), name
    assert found["unknown_labels"] == expected["unknown_labels"] == 1
    assert found["examples_without_labels"] == 12
    assert 0 < found["unknown_label_share"] < 1


def test_the_keys_and_their_ranges(texts: Path, text_model: Path) -> None:
    found = as_json("eval", text_model, texts)
    assert list(found)[: len(METRICS)] == METRICS
    assert all(0 <= found[name] <= 1 for name in METRICS)
    assert found["p@1"] > 0.9
    assert found["examples"] == 400
    assert found["seconds"] > 0
    assert found["total_seconds"] >= found["seconds"]
    assert found["examples_per_second"] == pytest.approx(400 / found["seconds"], rel=0.05)


def test_other_values_of_k(texts: Path, text_model: Path) -> None:
    found, usual = (as_json("eval", text_model, texts, *words) for words in (("-k", "7,1"), ()))
    assert list(found)[:3] == ["p@1", "p@7", "r@1"] and found["p@1"] == usual["p@1"]
    assert run("eval", text_model, texts, "-k", "2").stdout.splitlines()[0].split() == ["@2"]
    assert "@2 @9" in " ".join(run("eval", text_model, texts, "-k", "9", "-k", "2").stdout.split())
    for wrong in ("0", "1,", "a", "1.5"):
        message = f"-k {wrong}: expected positive integers, such as 1,3,5"
        assert message in run("eval", text_model, texts, "-k", wrong, status=1).stderr


def test_a_table_for_people(texts: Path, text_model: Path) -> None:
    shown = run("eval", text_model, texts).stdout
    assert "@1" in shown
    names = [line.split()[0] for line in shown.splitlines()[2:7]]
    assert names == ["P", "R", "nDCG", "PSP", "PSnDCG"]
    assert "unknown labels" not in shown


def test_a_metrics_file_holds_what_json_says(texts: Path, text_model: Path, tmp_path: Path) -> None:
    path = tmp_path / "metrics.json"
    result = run("eval", text_model, texts, "--json", "--metrics-file", path)
    assert path.read_bytes() == result.stdout_bytes


def test_a_label_that_is_minus_one_is_no_missing_place() -> None:
    X = csr_array(np.eye(2, dtype=np.float32)[[0, 1, 0, 1]])
    labels = [(-1,), (1,), (-1,), (1,)]
    model = labelgrove.OnlinePLTClassifier().partial_fit(X, labels)
    ranking = observe(model, [(X, labels)]).ranking
    assert sorted(ranking[0].tolist()) == [-1, -1, -1, 0, 1]
    assert evaluate(model, X, labels)["r@5"] == 1


def test_several_passes_bend_neither_the_propensities_nor_the_second_stage(
    vectors: Path, vector_model: Path, tmp_path: Path
) -> None:
    # Each row gets one label more than its features indicate, so that the figures are not perfect.
    rows = vectors.read_text().splitlines()
    more = [f"{i % 20},{row}" if row[0] != " " else row for i, row in enumerate(rows[1:])]
    vectors.write_text("\n".join([rows[0], *more]))
    calibrated = ("--set", "second_stage=calibrate")
    run("train", vectors, "-o", vector_model, *calibrated)
    run("train", vectors, "-o", tmp_path / "three.lg", "--passes", "3", *calibrated)
    once, model = labelgrove.load(vector_model), labelgrove.load(tmp_path / "three.lg")
    assert model.examples_seen_ == 900 == 3 * once.examples_seen_
    assert (model.label_counts_ == once.label_counts_).all()
    assert model.second_stage_ == once.second_stage_
    examples = read_examples(vectors)
    counts = dict(zip(once.classes_.tolist(), once.label_counts_.tolist(), strict=True))
    expected = evaluate(model, examples.X, examples.labels, label_counts=counts, n_train=300)
    found = as_json("eval", tmp_path / "three.lg", vectors)
    assert found["psp@3"] == pytest.approx(expected["psp@3"])


def test_fewer_labels_than_places(tmp_path: Path) -> None:
    data = tmp_path / "d.txt"
    data.write_text("".join(f"{i % 2} {i % 2}:1\n" for i in range(10)))
    run("train", data, "-o", tmp_path / "m.lg", "--format", "xmlc")
    found = as_json("eval", tmp_path / "m.lg", data, "--format", "xmlc")
    assert (found["p@1"], found["p@5"], found["r@5"]) == (1, 0.2, 1)


def test_too_few_examples_for_propensities(tmp_path: Path) -> None:
    data = tmp_path / "d.txt"
    data.write_text("0 0:1\n1 1:1\n")
    run("train", data, "-o", tmp_path / "m.lg", "--format", "xmlc")
    found = as_json("eval", tmp_path / "m.lg", data, "--format", "xmlc")
    assert "psp@1" not in found
    assert "–" in run("eval", tmp_path / "m.lg", data, "--format", "xmlc").stdout


def test_a_beam_evaluates_fewer_classifiers(vectors: Path, tmp_path: Path) -> None:
    words = ("--set", "arity=2", "--set", "max_leaves=2", "--set", "alpha=0.1")
    run("train", vectors, "-o", tmp_path / "deep.lg", *words)
    exact = as_json("eval", tmp_path / "deep.lg", vectors)
    beam = as_json("eval", tmp_path / "deep.lg", vectors, "--beam", "1")
    assert beam["classifiers_per_example"] < exact["classifiers_per_example"]


def test_labels_must_be_there(text_model: Path) -> None:
    result = run("eval", text_model, "-", input='{"text": "a b"}\n', status=1)
    assert "labels" in result.stderr


@pytest.fixture
def sparse(tmp_path: Path) -> Path:
    """A model of three labels that ranks label i first for row i, and its data."""
    data = tmp_path / "t.txt"
    data.write_text("3 3 3\n0,1 0:1\n1 1:1\n2 2:1\n")
    run("train", data, "-o", tmp_path / "m.lg", "--passes", "20", "--set", "replay=0")
    return data


def test_filter_pairs_count_neither_as_true_nor_as_predicted(sparse: Path) -> None:
    model, pairs = sparse.parent / "m.lg", sparse.parent / "filter.txt"
    before = as_json("eval", model, sparse)
    assert before["p@1"] == 1
    # Row 1 has no other label; row 0 keeps label 1, which comes second.
    pairs.write_text("0 0\n1 1\n")
    after = as_json("eval", model, sparse, "--filter-pairs", pairs)
    assert after["examples_without_labels"] == 1
    best = as_json_lines("predict", model, sparse, "-k", "2")[0]["labels"]
    first = next(label for label in best if label != 0)
    assert after["p@1"] == pytest.approx((1 + (first == 1)) / 3)
    examples, excluded = read_examples(sparse), read_filter_pairs(pairs)
    found = evaluate(labelgrove.load(model), examples.X, examples.labels, excluded=excluded)
    assert found["p@1"] == pytest.approx(after["p@1"])
    pairs.write_text("0 x\n")
    failed = run("eval", model, sparse, "--filter-pairs", pairs, status=1)
    assert "filter.txt:1: found '0 x'; expected a row and a label" in failed.stderr


def test_filter_pairs_of_labels_that_are_no_numbers(
    texts: Path, text_model: Path, tmp_path: Path
) -> None:
    (tmp_path / "pairs.txt").write_text("0 3\n1 5\n")
    result = run("eval", text_model, texts, "--filter-pairs", tmp_path / "pairs.txt")
    assert "warning:" in result.stderr and "knows none of their labels" in result.stderr


def test_filter_pairs_are_left_out_of_predictions_and_of_tuning(sparse: Path) -> None:
    model, pairs = sparse.parent / "m.lg", sparse.parent / "filter.txt"
    pairs.write_text("0 0\n1 1\n1 2\n")

    def predicted(*words: str) -> list[list[int]]:
        lines = as_json_lines("predict", model, sparse, *words, "--filter-pairs", pairs)
        return [line["labels"] for line in lines]

    assert [row[0] for row in predicted("-k", "1")] == [1, 0, 2]
    assert [len(row) for row in predicted("-k", "2")] == [2, 1, 2]
    assert [set(row) for row in predicted("--threshold", "0")] == [{1, 2}, {0}, {0, 1, 2}]
    tuned = as_json("tune", model, sparse, "--filter-pairs", pairs, "-o", model)
    # Of the four true labels, those of rows 0 and 1 do not count.
    assert tuned["true_labels"] == 2


def test_official_propensities_and_those_of_other_parameters(sparse: Path) -> None:
    model, file = sparse.parent / "m.lg", sparse.parent / "inv_prop.txt"
    file.write_text("1\n4\n1\n")
    found = as_json("eval", model, sparse, "--inverse-propensities", file)
    # By the definition: row 0 hits label 0, of weight 1, or label 1, of weight 4.
    assert found["psp@3"] == pytest.approx(1.0)
    assert found["psp@1"] in (pytest.approx((1 + 4 + 1) / 9), pytest.approx((4 + 4 + 1) / 9))
    file.write_text("1\n4\n")
    failed = run("eval", model, sparse, "--inverse-propensities", file, status=1)
    assert "inv_prop.txt: there is none for label 2" in failed.stderr
    file.write_text("1\n0.5\n")
    failed = run("eval", model, sparse, "--inverse-propensities", file, status=1)
    assert "inv_prop.txt:2: found '0.5'; expected a number of at least 1" in failed.stderr
    failed = run("eval", model, sparse, "--propensity", "0.5", status=1)
    assert "--propensity 0.5: expected two numbers" in failed.stderr


@pytest.mark.parametrize("command", ["eval", "predict", "learn", "tune"])
def test_the_examples_before_the_model_are_noticed(
    texts: Path, tmp_path: Path, command: str
) -> None:
    model = tmp_path / "m.lg"
    run("train", texts, "-o", model, "--limit", "9")
    swapped = f"{texts} is not a model, but {model} is; expected MODEL before DATA"
    for words, message in (
        ((command, texts, model), swapped),
        ((command, model, model), f"{model}:1: the content is a model; expected examples"),
        (("info", texts), f"{texts}: this is not a model of LabelGrove"),
    ):
        assert run(*words, status=1).stderr == f"error: {message}\n"


def test_a_table_of_labels_with_their_names(sparse: Path) -> None:
    folder = sparse.parent
    (folder / "names.tsv").write_text("0\tred\n2\tblue\tignored\n")
    table = folder / "labels.tsv"
    run(
        *("eval", folder / "m.lg", sparse, "--per-label", table),
        *("--vocabulary", folder / "names.tsv", "--threshold", "0.01"),
    )
    header, *rows = (line.split("\t") for line in table.read_text().splitlines())
    assert header[:4] == ["label", "name", "support", "TP"]
    assert {row[0]: row[1] for row in rows} == {"0": "red", "1": "", "2": "blue"}
    assert {row[0]: row[2] for row in rows} == {"0": "1", "1": "2", "2": "1"}
