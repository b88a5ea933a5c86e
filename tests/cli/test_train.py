from __future__ import annotations

import json
import signal
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import labelgrove
from cli.conftest import as_json, as_json_lines, run, write_jsonl
from labelgrove.data import read_examples
from labelgrove.evaluation._race import Round, Standing


def test_training_on_text_is_the_text_classifier(texts: Path, tmp_path: Path) -> None:
    run("train", texts, "-o", tmp_path / "m.lg", "--seed", "5", "--set", "alpha=0.5")
    examples = read_examples(texts)
    expected = labelgrove.TextClassifier(labelgrove.OnlinePLTClassifier(alpha=0.5, random_state=5))
    expected.partial_fit(examples.text, examples.labels)
    found = labelgrove.load(tmp_path / "m.lg")
    assert found.classifier_.get_params() == expected.classifier.get_params()
    for ours, theirs in zip(
        found.predict_topk(examples.text), expected.predict_topk(examples.text), strict=True
    ):
        np.testing.assert_array_equal(ours, theirs)


def test_the_result_says_what_was_learnt(texts: Path, tmp_path: Path) -> None:
    result = run("train", texts, "-o", tmp_path / "m.lg", "--json")
    found = json.loads(result.stdout)
    assert found["model"] == str(tmp_path / "m.lg")
    assert found["bytes"] == (tmp_path / "m.lg").stat().st_size
    assert (found["examples"], found["passes"], found["interrupted"]) == (400, 1, False)
    assert (found["labels"], found["new_labels"]) == (40, 40)
    assert (found["algorithm"], found["settings"]) == ("online-plt", [])
    assert 0.3 < found["progressive_p@1"] < 1
    assert found["examples_per_second"] > 0
    assert result.stderr == ""


def test_people_get_a_table_without_trailing_blanks(texts: Path, tmp_path: Path) -> None:
    shown = run("train", texts, "-o", tmp_path / "m.lg").stdout
    assert "400 in " in shown
    assert "P@1 while learning" in shown
    assert all(line == line.rstrip() for line in shown.splitlines())


def test_shuffling_gives_other_orders_for_other_seeds(texts: Path, tmp_path: Path) -> None:
    orders = set()
    for seed in ("1", "2"):
        run("train", texts, "-o", tmp_path / "m.lg", "--shuffle", "--seed", seed)
        arrived = labelgrove.load(tmp_path / "m.lg")._learned.labels.names
        orders.add(tuple(arrived.tolist()))
    assert len(orders) == 2
    assert {tuple(sorted(order)) for order in orders} == {tuple(sorted(orders.pop()))}


def test_several_passes_learn_every_example_as_often(texts: Path, tmp_path: Path) -> None:
    found = as_json("train", texts, "-o", tmp_path / "m.lg", "--passes", "3")
    once = as_json("train", texts, "-o", tmp_path / "m.lg")
    assert (found["examples"], found["passes"]) == (1200, 3)
    # Later passes repeat examples and must not flatter the progressive figure.
    assert found["progressive_p@1"] == once["progressive_p@1"]


def test_a_limit_takes_the_first_examples(texts: Path, tmp_path: Path) -> None:
    lines = texts.read_text().splitlines(keepends=True)
    (tmp_path / "first.jsonl").write_text("".join(lines[:70]))
    run("train", texts, "-o", tmp_path / "a.lg", "--limit", "70")
    run("train", tmp_path / "first.jsonl", "-o", tmp_path / "b.lg")
    assert (tmp_path / "a.lg").read_bytes() == (tmp_path / "b.lg").read_bytes()


def test_a_limit_comes_before_shuffling(texts: Path, tmp_path: Path) -> None:
    words = ("-o", tmp_path / "m.lg", "--limit", "70", "--shuffle")
    assert as_json("train", texts, *words)["examples"] == 70
    first = {label for row in read_examples(texts).labels[:70] for label in row}
    assert set(labelgrove.load(tmp_path / "m.lg").classes_) == first


def test_text_parameters_are_stored_with_the_model(texts: Path, tmp_path: Path) -> None:
    run(
        *("train", texts, "-o", tmp_path / "m.lg"),
        *("--set", "text.n_features=512", "--set", "text.words=1,2"),
    )
    model = labelgrove.load(tmp_path / "m.lg")
    assert model.text_.to_dict()["n_features"] == 512
    assert model.text_.to_dict()["words"] == [1, 2]
    assert model.classifier_.n_features_in_ == 512


def test_standard_input_is_read(texts: Path, tmp_path: Path) -> None:
    run("train", texts, "-o", tmp_path / "a.lg")
    run("train", "-", "-o", tmp_path / "b.lg", input=texts.read_bytes())
    assert (tmp_path / "a.lg").read_bytes() == (tmp_path / "b.lg").read_bytes()


def test_standard_input_is_read_once_unless_kept(texts: Path, tmp_path: Path) -> None:
    words = ("train", "-", "-o", tmp_path / "m.lg", "--passes", "2")
    result = run(*words, input=texts.read_bytes(), status=1)
    assert "standard input can be read only once" in result.stderr
    run(*words, "--shuffle", input=texts.read_bytes())


def test_a_model_for_prediction_is_smaller_and_predicts_the_same(
    texts: Path, text_model: Path, tmp_path: Path
) -> None:
    small = tmp_path / "small.lg"
    run("train", texts, "-o", small, "--for-prediction")
    assert small.stat().st_size < text_model.stat().st_size
    assert run("predict", small, texts).stdout == run("predict", text_model, texts).stdout
    assert "error:" in run("learn", small, texts, status=1).stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--algorithm", "online-plz"], "no such algorithm; did you mean online-plt?"),
        (["--algorithm", "PLT"], "no such algorithm; did you mean plt?"),
        (["--algorithm", "forest"], "embedding, memory-tree, auto)"),
        (["--set", "alfa=1"], "did you mean alpha?"),
        (["--set", "text.n_features=0"], "error: text.n_features=0: expected"),
        (["--set", "text.words=3"], "error: text.words=3: expected two increasing whole numbers"),
        (["--set", "n_jobs=2"], "option --jobs"),
        (["--format", "xls"], "xls"),
        (["--jobs", "0"], "--jobs 0"),
    ],
)
def test_a_wrong_parameter_is_one_sentence(
    texts: Path, tmp_path: Path, words: list[str], message: str
) -> None:
    result = run("train", texts, "-o", tmp_path / "m.lg", *words, status=1)
    assert result.stderr.startswith("error: ")
    assert message in result.stderr
    assert result.stderr.count("\n") == 1
    assert not (tmp_path / "m.lg").exists()


@pytest.mark.parametrize(
    ("output", "message"),
    [
        ("missing/m.lg", "missing: no such folder"),
        (".", "this is a folder"),
        ("-", "cannot go to standard output"),
        ("loop", "loop: too many levels of symbolic links"),
        ("dangling", "missing: no such folder"),
    ],
)
def test_a_place_that_cannot_be_written_is_refused_before_learning(
    tmp_path: Path, output: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    if output in (leads_to := {"loop": "loop", "dangling": "missing/m.lg"}):
        try:
            Path(output).symlink_to(leads_to[output])
        except OSError:
            pytest.skip("no symbolic links here")
    # The data is missing too: the complaint must be about the output, which is looked at first.
    assert message in run("train", "nothing.jsonl", "-o", output, status=1).stderr


def test_text_settings_do_not_go_with_numbered_features(vectors: Path, tmp_path: Path) -> None:
    words = ("--set", "text.n_features=512")
    result = run("train", vectors, "-o", tmp_path / "m.lg", *words, status=1)
    assert "expected text; the data holds numbered features" in result.stderr


def test_a_malformed_line_is_named_and_nothing_is_written(texts: Path, tmp_path: Path) -> None:
    lines = texts.read_text().splitlines()
    lines[250] = '{"text": 7}'
    texts.write_text("\n".join(lines))
    result = run("train", texts, "-o", tmp_path / "m.lg", status=1)
    assert f"{texts}:251: " in result.stderr
    assert not (tmp_path / "m.lg").exists()


def test_what_is_sorted_by_class_is_measured_as_it_is(tmp_path: Path) -> None:
    """One hundred examples of each class, one class after another."""
    words = [f"word{i} and so on" for i in range(40)]
    rows = [{"text": text, "labels": [text[:6]]} for text in words for _ in range(100)]
    data = write_jsonl(tmp_path / "sorted.jsonl", rows)
    for more in ([], ["--progressive", tmp_path / "p.html"], ["--set", "second_stage=head"]):
        told = as_json("train", data, "-o", tmp_path / "m.lg", *more)
        assert told["progressive_p@1"] == pytest.approx(0.98, abs=0.015)


def test_a_batch_is_finished_before_ctrl_c_is_answered(
    texts: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    learn = labelgrove.TextClassifier._partial_fit

    def learn_and_be_interrupted(self: Any, X: Any, y: Any, *given: Any, **more: Any) -> Any:
        if len(y) == 64:
            signal.raise_signal(signal.SIGINT)
        return learn(self, X, y, *given, **more)

    monkeypatch.setattr(labelgrove.TextClassifier, "_partial_fit", learn_and_be_interrupted)
    words = ("train", texts, "-o", tmp_path / "m.lg")
    result = run(*words, "--json", status=130)
    learnt = 1 + 2 + 4 + 8 + 16 + 32 + 64
    assert f"after {learnt} examples" in result.stderr
    assert labelgrove.load(tmp_path / "m.lg").examples_seen_ == learnt
    found = json.loads(result.stdout)
    assert (found["examples"], found["passes"], found["interrupted"]) == (learnt, 0, True)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_examples_without_any_label_teach_nothing(tmp_path: Path) -> None:
    data = tmp_path / "none.jsonl"
    data.write_text('{"text": "a", "labels": []}\n' * 3)
    for algorithm in ("online-plt", "plt"):
        failed = run("train", data, "-o", tmp_path / "m.lg", "--algorithm", algorithm, status=1)
        assert "label" in failed.stderr
        assert not (tmp_path / "m.lg").exists()
    failed = run("train", data, "-o", tmp_path / "m.lg", status=1)
    assert "3 examples read, but none has a label; no model was written" in failed.stderr


def test_an_option_that_lists_names_may_be_repeated(tmp_path: Path) -> None:
    table = tmp_path / "books.csv"
    table.write_text("name,about,subject,genre\nHerring,the sea,fish,guide\nOak,a tree,plants,\n")
    text, labels = ("--text-column", "about"), ("--label-column", "genre")
    once = ("--text-column", "name,about", "--label-column", "subject,genre")
    twice = ("--text-column", "name", *text, "--label-column", "subject", *labels)
    run("train", table, "-o", tmp_path / "once.lg", *once)
    run("train", table, "-o", tmp_path / "twice.lg", *twice)
    assert (tmp_path / "once.lg").read_bytes() == (tmp_path / "twice.lg").read_bytes()


def test_a_table_may_come_from_a_pipe(tmp_path: Path) -> None:
    table = "what,kind\nHerring of the sea,fish\nOak,plants\n"
    columns = ("--text-column", "what", "--label-column", "kind")
    run("train", "-", "-o", tmp_path / "m.lg", *columns, input=table)
    found = as_json_lines("predict", tmp_path / "m.lg", "-", "-k", "1", input=table)
    assert [row["labels"] for row in found] == [["fish"], ["plants"]]


def test_a_model_knows_its_columns(tmp_path: Path) -> None:
    header, *rows = ["what,about,kind", "Herring,the sea,fish|food", "Oak,a tree,plants"]
    table, model = tmp_path / "books.csv", tmp_path / "m.lg"
    table.write_text("\n".join([header, *rows]))
    columns = ("--text-column", "what,about", "--label-column", "kind", "--label-separator", "|")
    run("train", table, "-o", model, *columns)
    found = run("predict", model, table, "-k", "1").stdout
    assert found == run("predict", model, table, "-k", "1", *columns[:2]).stdout
    assert found != run("predict", model, table, "-k", "1", "--text-column", "what").stdout
    assert as_json("eval", model, table)["p@1"] == 1
    assert "text=what,about, labels=kind, separator=|" in run("info", model).stdout
    run("tune", model, table)
    for command in (["compact", model, "-o", tmp_path / "s.lg", "--data"], ["learn", model]):
        run(*command, table)
    found = run("predict", tmp_path / "s.lg", table, "-k", "1").stdout  # it knows them as well
    assert len(found.splitlines()) == 2
    assert "oak" in run("explain", model, table, "--row", "2").stdout.lower()
    # Rows without labels and rows without columns are read as usual.
    new, lines = tmp_path / "new.csv", "Herring by the sea\n"
    new.write_text("id,what,about\n1,Herring,the sea\n")
    assert '"fish"' in run("predict", model, new).stdout
    assert '"fish"' in run("predict", model, "-", input=lines).stdout
    new.write_text("text,kind\nHerring,fish\n")
    failed = run("predict", model, new, status=1)
    assert failed.stderr == (
        f"error: {new}:1: in the line that names the columns there is no 'what' among "
        "'text', 'kind'; the model has learnt from it, and --text-column names another\n"
    )
    assert '"fish"' in run("predict", model, new, "--text-column", "text").stdout
    new.write_text("what,about\nHerring,the sea\n")
    failed = run("eval", model, new, status=1)
    assert "there is no 'kind'" in failed.stderr
    assert "--label-column" in failed.stderr


def test_auto_trains_what_is_best_on_a_sample(texts: Path, tmp_path: Path) -> None:
    words = ("train", "--algorithm", "auto", "--trial", "90", texts, "-o", tmp_path / "a.lg")
    result = run(*words, "--json")
    told = result.stderr.splitlines()
    assert told[0].startswith("trial on 90 examples, nDCG@5: ")
    best = told[0].split()[5]
    assert told[-2] == (
        "warning: 90 examples are too few for a reliable choice; expected at least 200"
    )
    chosen = told[-1].removeprefix("chosen: ").split()
    assert chosen[:2] == ["--algorithm", best]
    found = json.loads(result.stdout)
    assert (found["algorithm"], found["settings"]) == (best, chosen[3::2])
    run("train", *chosen, texts, "-o", tmp_path / "b.lg")
    assert (tmp_path / "a.lg").read_bytes() == (tmp_path / "b.lg").read_bytes()
    for option in ("--passes", "--trees"):
        words = ("train", "--algorithm", "auto", option, 2, texts, "-o", tmp_path / "a.lg")
        assert "neither --passes nor --trees" in run(*words, status=1).stderr
    alone = run("train", "--trial", "90", texts, "-o", tmp_path / "a.lg", status=1)
    assert "--trial 90: expected --algorithm auto as well" in alone.stderr
    piped = run("train", "--algorithm", "auto", "-", "-o", tmp_path / "a.lg", status=1, input="{}")
    assert "standard input can be read only once" in piped.stderr


def test_auto_lets_parts_of_words_count_where_words_say_little(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    ends = ["ka", "lo", "mi", "zu"]
    lines = [
        {
            "text": " ".join("".join(rng.choice([*"bdfgprst"], 6)) + ends[i % 4] for _ in range(3)),
            "labels": [ends[i % 4]],
        }
        for i in range(400)
    ]
    data = write_jsonl(tmp_path / "words.jsonl", lines)
    words = ("train", "--algorithm", "auto", data, "-o", tmp_path / "a.lg")
    told = run(*words).stderr.splitlines()
    assert " text.preset=words+subwords" in told[1] and "(" in told[1]
    assert "--set text.preset=words+subwords" in told[-1]
    chosen = told[-1].removeprefix("chosen: ").split()
    run("train", *chosen, data, "-o", tmp_path / "b.lg")
    assert (tmp_path / "a.lg").read_bytes() == (tmp_path / "b.lg").read_bytes()
    told = run(*words, "--set", "text.preset=words").stderr.splitlines()
    assert len(told) == 2 and "text." not in told[-1]  # no race of what was already said


def test_auto_reads_pairs_of_words_where_they_alone_tell(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    words = ["hen", "owl", "cat", "dog"]
    pairs = [
        {"text": f"{one} {rng.choice([other for other in words if other != one])}", "labels": [one]}
        for one in words * 100
    ]
    data = write_jsonl(tmp_path / "texts.jsonl", pairs)
    command = ("train", "--algorithm", "auto", "--set", "threshold=0.4", data)
    found = as_json(*command, "-o", tmp_path / "a.lg")
    assert found["settings"] == ["threshold=0.4", "text.preset=words+pairs"]


def test_auto_says_why_it_leaves_a_reading_that_leads_by_little(
    texts: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def narrow(models: Mapping[str, Any], *_: Any, **__: Any) -> list[Round]:
        """Let the last model win by less than the error."""
        first, *others = reversed(models)
        behind = [Standing(name, 0.5, 0.01, 0.01, name != others[0]) for name in others]
        return [Round(90, (Standing(first, 0.51, 0.0, 0.0, True), *behind))]

    monkeypatch.setattr("labelgrove.cli._choice.race", narrow)
    told = run("train", "--algorithm", "auto", texts, "-o", tmp_path / "a.lg").stderr.splitlines()
    assert "text.subwords=1,4 is not clearly better than" in told[-2]
    assert "text." in told[-3] and "text." not in told[-1]
    assert " 51.0, " in told[-3] and told[-3].count("(1.0 ± 1.0 behind, out)") == 1


@pytest.mark.parametrize(
    ("leaders", "error", "expected"),
    [
        (("memory-tree", "fastxml", "plt"), 0.01, "fastxml"),
        (("memory-tree", "fastxml", "plt"), 0.001, "memory-tree"),
        (("memory-tree", "plt link=softmax", "plt"), 0.005, "plt link=softmax"),
        (("plt link=softmax", "memory-tree", "plt"), 0.01, "plt"),
        (("plt link=softmax", "memory-tree", "plt"), 0.005, "plt link=softmax"),
    ],
)
def test_auto_takes_what_costs_more_only_if_it_is_clearly_better(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    leaders: tuple[str, ...],
    error: float,
    expected: str,
) -> None:
    def won_by_the_first(*_: Any, **__: Any) -> list[Round]:
        places = zip(leaders, (0.0, 0.01, 0.02), strict=True)
        standings = [Standing(name, 0.5 - gap, gap, error, True) for name, gap in places]
        return [Round(90, tuple(standings))]

    monkeypatch.setattr("labelgrove.cli._choice.race", won_by_the_first)
    data = write_jsonl(tmp_path / "t.jsonl", [{"text": one, "labels": [one]} for one in "abc"])
    words = ("train", "--algorithm", "auto", "--set", "text.preset=words", data)
    told = run(*words, "-o", tmp_path / "a.lg").stderr
    assert f"chosen: --algorithm {expected.replace(' ', ' --set ')}" in told
    assert (f"{leaders[0]} is not clearly better than {expected}" in told) == (
        leaders[0] != expected
    )


def test_auto_lets_classes_compete_and_rows_keep_their_lengths_where_that_helps(
    tmp_path: Path,
) -> None:
    rng = np.random.default_rng(0)
    points = [
        (label, rng.normal(place, 0.5))
        for label, place in enumerate([(1, 1), (4, 4), (9, 9)] * 100)
    ]
    rows = [f"{label % 3} 1:{x:.3f} 2:{y:.3f}\n" for label, (x, y) in points]
    data = tmp_path / "points.svm"
    data.write_text("".join(rows))
    words = ("train", "--algorithm", "auto", "--trial", "150", data, "-o", tmp_path / "a.lg")
    result = run(*words, "--json")
    assert json.loads(result.stdout)["settings"] == ["link=softmax", "normalize=false"]
    assert "plt link=softmax normalize=false " in result.stderr.splitlines()[0]
    assert "--algorithm plt --set link=softmax --set normalize=false" in result.stderr
    # What learns only classes does not race if any row has no label or several, drawn or not.
    data.write_text("".join([*rows, "0,1 1:1 2:1\n"]))
    told = run(*words).stderr
    assert "softmax" not in told
    assert "lambda1" not in told
    assert "lomtree" not in told


def test_auto_does_without_lengths_that_are_too_large(tmp_path: Path) -> None:
    lines = [f"{i % 2} 0:{4e9 if i == 299 else 1} {1 + i % 2}:1" for i in range(300)]
    (tmp_path / "t.txt").write_text("300 3 2\n" + "\n".join(lines) + "\n")
    words = ("train", tmp_path / "t.txt", "-o", tmp_path / "m.lg", "--algorithm", "auto")
    raced = run(*words, "--trial", "30").stderr
    assert "plt link=softmax" in raced and "normalize=false" not in raced


def test_auto_splits_a_class_that_prevails(tmp_path: Path) -> None:
    points = np.random.default_rng(0).normal(size=(400, 2))
    data = tmp_path / "quadrants.svm"
    data.write_text("".join(f"{int(x * y > 0.4)} 1:{x:.3f} 2:{y:.3f}\n" for x, y in points))
    words = ("train", "--algorithm", "auto", data, "-o", tmp_path / "a.lg", "--json")
    assert json.loads(run(*words).stdout)["settings"] == ["n_estimators=10", "lambda1=0.5"]


def test_auto_tries_of_texts_only_what_suits_them(tmp_path: Path) -> None:
    lines = [{"text": f"{word} sea", "labels": [word]} for word in ("cod", "eel", "ray") * 40]
    data = write_jsonl(tmp_path / "texts.jsonl", lines)
    told = run("train", "--algorithm", "auto", data, "-o", tmp_path / "a.lg").stderr
    assert "plt link=softmax " in told
    assert "normalize" not in told
    assert "lambda1" not in told


@pytest.mark.parametrize("n_labels", [200, 201, 1000, 1001])
def test_auto_tries_one_versus_rest_while_labels_are_few(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, n_labels: int
) -> None:
    raced: list[str] = []

    def won_by_one_versus_rest(models: dict[str, Any], *_: Any, **__: Any) -> list[Round]:
        raced.extend(models)
        name = "plt tree=flat" if "plt tree=flat" in models else "plt"
        return [Round(90, (Standing(name, 0.5, 0.0, 0.0, True),))]

    monkeypatch.setattr("labelgrove.cli._choice.race", won_by_one_versus_rest)
    lines = [{"text": "sea", "labels": [f"l{i}"]} for i in range(n_labels)]
    data = write_jsonl(tmp_path / "t.jsonl", lines)
    words = ("train", "--algorithm", "auto", "--set", "text.preset=words", data)
    result = run(*words, "-o", tmp_path / "a.lg", "--json")
    assert ("plt tree=flat" in raced) == (200 < n_labels <= 1000)
    assert ("tree=flat" in json.loads(result.stdout)["settings"]) == ("plt tree=flat" in raced)


def test_auto_needs_enough_examples_to_hold_some_out(tmp_path: Path) -> None:
    data = write_jsonl(tmp_path / "one.jsonl", [{"text": "late parcel", "labels": ["shipping"]}])
    said = run("train", "--algorithm", "auto", data, "-o", tmp_path / "a.lg", status=1).stderr
    assert said == (
        f"error: --algorithm auto: {data} holds 1 example; expected at least 3, to hold some out\n"
    )


def test_what_a_race_chooses_fits_the_other_options(
    texts: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ("train", "--algorithm", "auto", texts, "-o", tmp_path / "m.lg")
    module = import_module("labelgrove.cli.commands.train")
    chosen = ("plt", [])
    monkeypatch.setattr(module, "chosen_algorithm", lambda *_: chosen)
    run(*words, "--checkpoint", 1)  # a batch model has none
    monkeypatch.delattr(module, "chosen_algorithm")  # no race whose winner may be refused
    assert "expected --algorithm plt" in run(*words, "--memory", "1GB", status=1).stderr


def test_columns_that_say_whether_a_label_is_there_are_pointed_out(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("text,rude,kind\nsome text,1,0\nother text,0,0\n")
    words = ("train", tmp_path / "t.csv", "-o", tmp_path / "m.lg", "--label-column")
    warned = run(*words, "rude,kind").stderr
    assert "the labels learnt are the values 0 and 1 of rude, kind; if these columns" in warned
    assert run(*words, "rude").stderr == ""


@pytest.mark.parametrize(
    ("labels", "warning"),
    [
        (["x", "NaN"], "the label 'NaN' is how a missing value is written; if it is one, leave"),
        (["3.0", "12.0", ""], "labels such as '12.0' are whole numbers with a decimal, as pandas"),
        (["Café", "Cafe\u0301"], r"'Cafe\u0301' and 'Caf\xe9' (1 pair) look the same, as"),
        (["x", "3.0", "Café", "Cafe", "None", "1.5"], ""),
    ],
)
def test_labels_that_other_programs_write_otherwise_are_pointed_out(
    tmp_path: Path, labels: list[str], warning: str
) -> None:
    data, model = tmp_path / "t.csv", tmp_path / "m.lg"
    rows = "".join(f"some text,{label}\n" for label in labels)
    data.write_text(f"text,label\n{rows}", encoding="utf-8")
    warned = run("train", data, "-o", model).stderr
    assert warning in warned and warned.count("\n") == bool(warning)
    assert run("learn", model, data).stderr == ""  # which adds no label


@pytest.mark.parametrize(
    ("labels", "joined"),
    [
        ([f"{a}, {b}" for a in "abcde" for b in "abcde"], True),  # a few tags in every combination
        ([f"{a}, {b}" for a in "abcde" for b in "fghij"], False),  # names, or paths in a hierarchy
        ([*"abcdefg", "a, b"], False),
        ([*"abcdef", "a, b", "c,d"], True),  # of labels that also occur alone
        ([*"abcdef", "a, x", "y, d"], False),
    ],
)
def test_labels_that_recur_may_look_like_several_too(
    tmp_path: Path, labels: list[str], joined: bool
) -> None:
    rows = "".join(f'some text,"{label}"\n' for label in labels * 3)
    (tmp_path / "t.csv").write_text("text,label\n" + rows)
    warned = run("train", tmp_path / "t.csv", "-o", tmp_path / "m.lg").stderr
    assert ("--label-separator ','" in warned) == joined


def test_labels_that_look_like_several_are_pointed_out(tmp_path: Path) -> None:
    rows = "".join(f"some text {i},a{i}|b{i % 7}\n" for i in range(30))
    (tmp_path / "t.csv").write_text("text,label\n" + rows)
    words = ("train", tmp_path / "t.csv", "-o", tmp_path / "m.lg", "--label-column", "label")
    assert "--label-separator '|'" in run(*words).stderr
    assert run(*words, "--label-separator", "").stderr == ""
    assert run(*words, "--label-separator", "|").stderr == ""
    other = tmp_path / "other.csv"
    other.write_text("text,label\nsome text,urn:7\n")
    told = run("eval", tmp_path / "m.lg", other, "--label-column", "label").stderr
    assert "the model knows none of these labels; its own are like 'a0'" in told


def test_an_option_of_a_race_names_the_algorithm_that_refuses_it(texts: Path) -> None:
    words = ("train", texts, "-o", texts.with_suffix(".lg"), "--algorithm", "auto")
    assert "--algorithm auto, ldsm: arity=16" in run(*words, "--set", "arity=16", status=1).stderr
