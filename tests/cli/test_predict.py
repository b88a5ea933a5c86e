from __future__ import annotations

import bz2
import gzip
import json
import lzma
import shutil
from pathlib import Path

import numpy as np
import pytest

import labelgrove
from cli.conftest import as_json_lines, run
from labelgrove.data import read_examples


def test_the_best_five_in_order_of_the_file(texts: Path, text_model: Path) -> None:
    found = as_json_lines("predict", text_model, texts)
    examples = read_examples(texts)
    labels, scores = labelgrove.load(text_model).predict_topk(examples.text, k=5)
    assert [row["labels"] for row in found] == labels.tolist()
    np.testing.assert_allclose([row["scores"] for row in found], scores, rtol=1e-5)


def test_integer_labels_are_json_integers(vectors: Path, vector_model: Path) -> None:
    found = as_json_lines("predict", vector_model, vectors, "-k", "2")
    assert len(found) == 300
    assert all(type(label) is int for row in found for label in row["labels"])


def test_all_above_a_threshold(vectors: Path, vector_model: Path) -> None:
    found = as_json_lines("predict", vector_model, vectors, "--threshold", "0.05")
    best = as_json_lines("predict", vector_model, vectors, "-k", "20")
    assert as_json_lines("predict", vector_model, vectors, "-k", 2**31 - 1) == best
    for row, ranking in zip(found, best, strict=True):
        above = [pair for pair in zip(*ranking.values(), strict=True) if pair[1] >= 0.05]
        assert row["scores"] == [score for _, score in above]
        assert sorted(zip(*row.values(), strict=True)) == sorted(above)  # ties in any order
    assert {len(row["labels"]) for row in found} > {1, 2}


def test_a_threshold_with_k_gives_k_at_most(vectors: Path, vector_model: Path) -> None:
    words = ("predict", vector_model, vectors, "--threshold", "0.05")
    every, few = as_json_lines(*words), as_json_lines(*words, "-k", "2")
    assert [row["labels"][:2] for row in every] == [row["labels"] for row in few]


def test_any_number_of_threads_predicts_the_same(texts: Path, text_model: Path) -> None:
    one = run("predict", text_model, texts, "--jobs", "1").stdout
    assert run("predict", text_model, texts, "--jobs", "3").stdout == one


def test_a_list_of_allowed_labels(texts: Path, text_model: Path, tmp_path: Path) -> None:
    allowed = tmp_path / "allowed.txt"
    allowed.write_text("\ufefftopic-03\r\n\ntopic-07\nnowhere\n", encoding="utf-8")
    result = run("predict", text_model, texts, "--labels-file", allowed)
    rows = map(json.loads, result.stdout.splitlines())
    assert {label for row in rows for label in row["labels"]} == {"topic-03", "topic-07"}
    assert result.stderr.startswith("warning: ")
    assert "ignoring 1 label unknown to the model, first 'nowhere'" in result.stderr


def test_allowed_labels_that_are_numbers(vectors: Path, vector_model: Path, tmp_path: Path) -> None:
    allowed = tmp_path / "allowed.txt"
    allowed.write_text("3\n 11 \n")
    found = as_json_lines("predict", vector_model, vectors, "--labels-file", allowed)
    assert {label for row in found for label in row["labels"]} == {3, 11}
    compressed = tmp_path / "allowed.txt.gz"
    compressed.write_bytes(gzip.compress(b"\xef\xbb\xbf3\r\n\r\n11"))
    assert as_json_lines("predict", vector_model, vectors, "--labels-file", compressed) == found
    words = ("predict", vector_model, vectors, "--labels-file", allowed, "--threshold", "0")
    assert all(sorted(row["labels"]) == [3, 11] for row in as_json_lines(*words))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"3\nfour\n", "allowed.txt:2: found 'four'"),
        (b"3\n\xff\n", "allowed.txt:2: byte 1 of the line is not UTF-8"),
        (b"77\n", "the model knows none of the labels in this file (1)"),
        (b"", "the model knows none of the labels in this file (0)"),
    ],
)
def test_a_list_of_labels_that_cannot_be_used(
    vectors: Path, vector_model: Path, tmp_path: Path, content: bytes, message: str
) -> None:
    allowed = tmp_path / "allowed.txt"
    allowed.write_bytes(content)
    result = run("predict", vector_model, vectors, "--labels-file", allowed, status=1)
    assert message in result.stderr


def test_output_to_files(texts: Path, text_model: Path, tmp_path: Path) -> None:
    shown = run("predict", text_model, texts).stdout_bytes
    for name, read in (
        ("p.jsonl", bytes),
        ("p.jsonl.gz", gzip.decompress),
        ("p.bz2", bz2.decompress),
        ("p.xz", lzma.decompress),
    ):
        result = run("predict", text_model, texts, "-o", tmp_path / name)
        assert result.stdout == ""
        assert read((tmp_path / name).read_bytes()) == shown


@pytest.mark.parametrize("first", ["1984", " ", "{curly} braces"])
def test_plain_text_may_begin_like_anything(text_model: Path, first: str) -> None:
    for others in ("", "2012\n"):
        lines = f"{first}\n{others}"
        found = as_json_lines("predict", text_model, "-", input=lines)
        assert len(found) == lines.count("\n")
        assert run("explain", text_model, "-", "--row", 1, input=lines).stdout


def test_numbers_are_told_from_text_by_the_first_line(vector_model: Path) -> None:
    result = run("predict", vector_model, "-", input="3 1:1\nwords\n", status=1)
    assert "<stdin>:2: 'words' is not a label" in result.stderr


def test_what_is_no_file_may_be_a_text(text_model: Path) -> None:
    told = run("predict", text_model, "the topic", status=1).stderr
    assert told == "error: the topic: no such file; expected DATA, or a text given by --text\n"
    assert "no such file or directory" in run("predict", text_model, "topic", status=1).stderr
    long = "the topic " * 500  # longer than the name of a file may be
    assert "given by --text" in run("predict", text_model, long, status=1).stderr
    assert "unexpected extra argument" in run("predict", text_model, "the", long, status=2).stderr


def test_a_second_file_has_a_command_of_its_own(text_model: Path, texts: Path) -> None:
    spaced = shutil.copy(texts, texts.with_name("my own texts.jsonl"))
    for words in (["predict", text_model], ["train", "-o", text_model]):
        for more in ([texts], [texts, texts], [spaced], [spaced, spaced]):
            told = run(*words, texts, *more, status=2).stderr
            assert "labelgrove convert joins several files into one DATA (see" in told
    assert "joins" not in run(*words, texts, "no file", status=2).stderr
    assert "joins" not in run("info", text_model, texts, status=2).stderr


def test_texts_without_labels_will_do(text_model: Path) -> None:
    lines = '{"text": "topic03w1 topic03w2"}\n{"text": "…"}\n'.encode()
    found = as_json_lines("predict", text_model, "-", input=lines)
    assert found[0]["labels"][0] == "topic-03"
    assert len(found) == 2


def test_labels_are_written_as_they_are(tmp_path: Path) -> None:
    data = tmp_path / "d.jsonl"
    label = 'Käse "frisch"\n\u2028 🧀'
    data.write_text(json.dumps({"text": "milk and rennet", "labels": [label]}) + "\n")
    run("train", data, "-o", tmp_path / "m.lg")
    output = run("predict", tmp_path / "m.lg", data).stdout_bytes
    assert output.count(b"\n") == 1
    assert json.loads(output)["labels"] == [label]
    assert "🧀".encode() in output


@pytest.mark.parametrize(
    ("words", "status", "message"),
    [
        (["--beam", "0"], 2, "--beam"),
        (["--beam", "9", "--threshold", "0.5"], 1, "--beam: expected -k"),
        (["-k", "0"], 2, "-k"),
        (["--threshold", "1.5"], 2, "--threshold"),
        (["--limit", "0"], 2, "--limit"),
        (["--labels-file", "nowhere.txt"], 1, "nowhere.txt: no such file"),
        (["-o", "no/where.jsonl"], 1, "no: no such folder"),
    ],
)
def test_what_cannot_be_asked(
    vectors: Path, vector_model: Path, words: list[str], status: int, message: str
) -> None:
    result = run("predict", vector_model, vectors, *words, status=status)
    assert message in result.stderr
    assert result.stderr.count("\n") == 1


def test_a_text_needs_no_file(text_model: Path, vector_model: Path, vectors: Path) -> None:
    asked = ["word1 word2", "word3"]
    found = as_json_lines("predict", text_model, "--text", asked[0], "--text", asked[1], "-k", 2)
    labels, _ = labelgrove.load(text_model).predict_topk(asked, k=2)
    assert [row["labels"] for row in found] == labels.tolist()
    plain = as_json_lines("predict", text_model, "-", "-k", 2, input="word1 word2\n\nword3\n")
    assert plain == found
    for words in ((), ("--text", "a", "b.jsonl")):
        assert "expected either DATA (- for" in run("predict", text_model, *words, status=1).stderr
    assert "numbered features" in run("predict", vector_model, "--text", "a", status=1).stderr
