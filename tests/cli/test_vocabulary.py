"""``--vocabulary``: names are kept in the model and shown beside labels."""

from __future__ import annotations

from pathlib import Path

import pytest

import labelgrove
from cli.conftest import as_json, as_json_lines, run


@pytest.fixture
def named(texts: Path, tmp_path: Path) -> Path:
    names = "".join(f"topic-{i:02d}\tsubject {i:02d}\n" for i in range(60))
    (tmp_path / "names.tsv").write_text(names)
    run("train", texts, "-o", tmp_path / "m.lg", "--vocabulary", tmp_path / "names.tsv")
    return tmp_path / "m.lg"


def test_predict_names_labels(named: Path, texts: Path, tmp_path: Path) -> None:
    rows = as_json_lines("predict", named, texts, "-k", "2")
    for row in rows:
        assert row["names"] == [label.replace("topic-", "subject ") for label in row["labels"]]
    other = tmp_path / "other.csv"
    other.write_text("id,label_fi,label_en\n" + rows[0]["labels"][0] + ",aihe,theme\n")
    words = ("-k", "2", "--vocabulary", other, "--language", "en")
    assert as_json_lines("predict", named, texts, *words)[0]["names"] == ["theme", None]


def test_a_language_of_the_stored_names_may_be_chosen(
    texts: Path, named: Path, tmp_path: Path
) -> None:
    rows = "".join(f"topic-{i:02d},aihe {i:02d},theme {i:02d}\n" for i in range(60))
    (tmp_path / "two.csv").write_text(f"id,label_fi,label_en\n{rows}")
    run("train", texts, "-o", tmp_path / "two.lg", "--vocabulary", tmp_path / "two.csv")
    text = ("--text", "topic3w0 topic3w1")

    def shown(*words: str) -> str:
        return str(run(words[0], tmp_path / "two.lg", *words[1:]).stdout)

    assert "aihe " in shown("predict", *text)
    assert "theme " in shown("predict", *text, "--language", "en")
    assert "theme " in shown("explain", *text, "--language", "en")
    tree = run("tree", "show", tmp_path / "two.lg", "--levels", "9", "--language", "en")
    assert "theme " in tree.stdout
    failed = run("predict", tmp_path / "two.lg", *text, "--language", "sv", status=1)
    assert "has no names in 'sv'; expected one of 'en', 'fi'" in failed.stderr
    run("train", texts, "-o", tmp_path / "bare.lg")
    failed = run("predict", tmp_path / "bare.lg", *text, "--language", "fi", status=1)
    assert "holds no vocabulary; expected --vocabulary as well" in failed.stderr


def test_a_label_is_explained_by_its_name(named: Path) -> None:
    words = ("explain", named, "--text", "topic3w0", "--label")
    by_name, by_id = (as_json(*words, label) for label in ("subject 03", "topic-03"))
    assert by_name == by_id and by_id["labels"][0]["label"] == "topic-03"


def test_explain_tree_and_info_name_labels(named: Path) -> None:
    text = ("--text", "topic3w0 topic3w1", "-k", "1")
    assert "subject " in run("explain", named, *text).stdout
    [label] = as_json("explain", named, *text)["labels"]
    assert label["name"] == label["label"].replace("topic-", "subject ")
    assert "subject " in run("tree", "show", named, "--levels", "9").stdout
    shown = run("info", named).stdout
    assert "60 concepts" in shown
    assert "(topic-" in next(line for line in shown.splitlines() if "most frequent" in line)


def test_learning_on_keeps_names_and_may_take_others(
    named: Path, texts: Path, tmp_path: Path
) -> None:
    run("learn", named, texts)
    assert len(labelgrove.load(named).vocabulary_) == 60
    (tmp_path / "few.tsv").write_text("topic-1\tonly this\n")
    run("learn", named, texts, "--vocabulary", tmp_path / "few.tsv")
    assert len(labelgrove.load(named).vocabulary_) == 1


def test_names_are_learnt_where_that_is_asked_for(named: Path, texts: Path) -> None:
    words = ("train", texts, "-o", named)
    names = ("--vocabulary", named.parent / "names.tsv", "--learn-names")
    found = as_json(*words, *names, "all")
    assert (found["examples"], found["labels"]) == (400, 60)
    assert labelgrove.load(named).names == "all"
    failed = run(*words, "--learn-names", "maybe", status=2)
    assert "--learn-names maybe: expected one of met, all (see" in failed.stderr
    failed = run(*words, "--learn-names", "met", status=1)
    assert "--learn-names met: expected a --vocabulary" in failed.stderr
    failed = run(*words, "--language", "fi", status=1)
    assert "--language fi: expected --vocabulary as well" in failed.stderr


@pytest.mark.parametrize("names", [(), ("--learn-names", "all"), ("--learn-names", "met")])
def test_a_vocabulary_of_other_labels_is_reported(
    named: Path, texts: Path, tmp_path: Path, names: tuple[str, ...]
) -> None:
    (tmp_path / "uris.tsv").write_text("<http://a/topic-01>\tone\n<http://a/topic-02>\ttwo\n")
    train = ("train", texts, "-o", named, *names, "--vocabulary")
    warned = run(*train, tmp_path / "uris.tsv").stderr
    assert "warning: the vocabulary names none of the labels learnt, such as 'topic-00'" in warned
    assert "its ids are such as 'http://a/topic-01'" in warned
    (tmp_path / "few.tsv").write_text("topic-01\tone\n")
    assert "warning" not in run(*train, tmp_path / "few.tsv").stderr


def test_names_in_the_files_of_a_folder_become_ids(tmp_path: Path) -> None:
    """Annif's NAME.key holds names, in any language of the vocabulary."""
    folder = tmp_path / "texts"
    folder.mkdir()
    for name, text, labels in (("a", "herring", "fishes\nno subject\n"), ("b", "nets", "verkot\n")):
        (folder / f"{name}.txt").write_text(text)
        (folder / f"{name}.key").write_text(labels)
    subjects = tmp_path / "subjects.jsonl"
    subjects.write_text(
        '{"id": "p17", "prefLabel": {"fi": "kalat", "en": "fishes"}}\n'
        '{"id": "p5", "prefLabel": {"fi": "verkot"}}\n'
    )
    plain = tmp_path / "plain.jsonl"
    plain.write_text('{"text": "salmon", "labels": ["fishes"]}\n')
    run("convert", folder, "-o", tmp_path / "converted")
    run("convert", tmp_path / "converted", plain, "-o", tmp_path / "twice")
    for n_rows, data in ((2, folder), (2, tmp_path / "converted"), (3, tmp_path / "twice")):
        model = tmp_path / "model.lg"
        run("train", data, "-o", model, "--vocabulary", subjects)
        assert labelgrove.load(model).classes_.tolist() == ["no subject", "p17", "p5"]
        found = as_json("eval", model, data)
        assert (found["examples"], found["unknown_labels"]) == (n_rows, 0)
        small = tmp_path / "small.lg"
        told = as_json("compact", model, "--data", data, "-o", small)
        assert told["precision_before"][0] == 1
    batch = ("train", "--algorithm", "plt", "-o", model)
    run(*batch, tmp_path / "twice", "--vocabulary", subjects)
    assert labelgrove.load(model).classes_.tolist() == ["no subject", "p17", "p5"]
    in_pieces = (*batch, tmp_path / "twice", "--memory", "500MB")
    refused = run(*in_pieces, "--vocabulary", subjects, status=1)
    assert "gives the label 'p17' by its name, 'fishes'; expected ids with" in refused.stderr
    run(*in_pieces)
    assert labelgrove.load(model).classes_.tolist() == ["fishes", "no subject", "verkot"]


def test_labels_in_other_files_are_what_they_are(tmp_path: Path) -> None:
    subjects, data = tmp_path / "subjects.tsv", tmp_path / "data.jsonl"
    subjects.write_text("p17\tfishes\n")
    data.write_text('{"text": "salmon", "labels": ["fishes"]}\n')
    run("convert", data, "-o", tmp_path / "converted")
    assert "labels_may_be_names" not in (tmp_path / "converted" / "dataset.json").read_text()
    for path in (data, tmp_path / "converted"):
        run("train", path, "-o", tmp_path / "model.lg", "--vocabulary", subjects)
        assert labelgrove.load(tmp_path / "model.lg").classes_.tolist() == ["fishes"]
