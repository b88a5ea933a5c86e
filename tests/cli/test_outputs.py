"""No command writes over what it reads, nor over what is no file."""

from __future__ import annotations

import errno
import io
import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from cli.conftest import run
from labelgrove import TextClassifier
from labelgrove._unfinished import Unfinished
from labelgrove.cli._models import load_model
from labelgrove.cli.commands import _SUMMARIES, _whole, learn
from labelgrove.cli.streams._console import encode, show_pairs
from labelgrove.text import HashedText


@pytest.mark.parametrize(
    ("words", "victim"),
    [
        (("train", "{data}", "-o", "{data}"), "data"),
        (("learn", "{model}", "{data}", "-o", "{data}"), "data"),
        (("predict", "{model}", "{data}", "-o", "{data}"), "data"),
        (("predict", "{model}", "{data}", "-o", "{model}"), "model"),
        (("eval", "{model}", "{data}", "--metrics-file", "{data}"), "data"),
        (("eval", "{model}", "{data}", "--metrics-file", "{model}"), "model"),
        (("eval", "{model}", "{data}", "--per-label", "{data}"), "data"),
        (("predict", "{model}", "{data}", "--labels-file", "{other}", "-o", "{other}"), "other"),
        (("predict", "{model}", "{data}", "--filter-pairs", "{other}", "-o", "{other}"), "other"),
        (("train", "{data}", "--vocabulary", "{other}", "-o", "{other}"), "other"),
        (("train", "{data}", "--set", "tree={other}", "-o", "{other}"), "other"),
        (("train", "{folder}", "-o", "{other}"), "other"),
        (("train", "{folder}/a_X_Xf.txt", "-o", "{folder}/a_X_Y.txt"), "side"),
        (("train", "{folder}/a", "--format", "npz", "-o", "{folder}/a.X.npz"), "npz"),
    ],
)
def test_what_is_read_is_not_overwritten(
    texts: Path, text_model: Path, tmp_path: Path, words: tuple[str, ...], victim: str
) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    paths = {"data": texts, "model": text_model, "folder": folder}
    for name, file in (
        ("other", "a.key"),
        ("side", "a_X_Y.txt"),
        ("front", "a_X_Xf.txt"),
        ("npz", "a.X.npz"),
    ):
        paths[name] = folder / file
        paths[name].write_text("1 1\n0:1\n")
    (folder / "a.txt").write_text("cod")
    before = paths[victim].read_bytes()
    result = run(*(word.format(**paths) for word in words), status=1)
    assert f"{paths[victim]}: this output would overwrite an input file" in result.stderr
    assert paths[victim].read_bytes() == before


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("predict", "{model}", "{data}", "-o", "found.csv"), "predictions are JSON lines"),
        (("predict", "{model}", "{data}", "-o", "found.tsv.gz"), "predictions are JSON lines"),
        (("predict", "{model}", "{data}", "-o", "found.npz.gz"), "predictions are JSON lines"),
        (("report", "{model}", "{data}", "-o", "page.pdf"), "a report is a page of HTML"),
        (("convert", "{data}", "-o", "data.parquet"), "a folder is written, not a file in the"),
    ],
)
def test_a_name_that_promises_another_format_is_refused(
    texts: Path, text_model: Path, words: tuple[str, ...], message: str
) -> None:
    result = run(*(word.format(model=text_model, data=texts) for word in words), status=1)
    assert f"{words[-1]}: {message}" in result.stderr and not Path(words[-1]).exists()


def test_another_name_of_the_data_does_not_help(texts: Path, text_model: Path) -> None:
    other = texts.with_name("other.jsonl")
    other.hardlink_to(texts)
    result = run("predict", text_model, texts, "-o", other, status=1)
    assert "would overwrite an input file" in result.stderr


def test_examples_without_labels_change_no_model_and_measure_none(
    text_model: Path, tmp_path: Path
) -> None:
    before = text_model.read_bytes()
    data, page = tmp_path / "none.csv", tmp_path / "page.html"
    data.write_text("text,labels\n" + "cod net,\n" * 30)
    for command, message in (("learn", "none has a label"), ("tune", "no example has a label")):
        result = run(command, text_model, data, status=1)
        assert message in result.stderr and text_model.read_bytes() == before
    for command in (["eval"], ["eval", "--json"], ["report", "-o", page]):
        result = run(*command, text_model, data, status=1)
        assert "no example has a label; expected true labels" in result.stderr
        assert result.stdout == ""
    assert not page.exists()


@pytest.mark.skipif(os.name == "nt", reason="links are those of POSIX")
@pytest.mark.parametrize(
    "words",
    [
        ("train", "{data}", "-o", "{circle}"),
        ("train", "{circle}", "-o", "{new}"),
        ("learn", "{circle}", "{data}"),
        ("tune", "{circle}", "{data}"),
        ("compact", "{model}", "-o", "{circle}"),
        ("predict", "{model}", "{data}", "-o", "{circle}"),
        ("eval", "{model}", "{data}", "--metrics-file", "{circle}"),
        ("convert", "{data}", "-o", "{circle}"),
        ("convert", "{circle}", "-o", "{new}"),
    ],
)
def test_a_circle_of_links_is_one_sentence(
    texts: Path, text_model: Path, tmp_path: Path, words: tuple[str, ...]
) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    one.symlink_to(other)
    other.symlink_to(one)
    paths = {"data": texts, "model": text_model, "circle": one, "new": tmp_path / "new"}
    failed = run(*(word.format(**paths) for word in words), status=1)
    reason = os.strerror(errno.ELOOP)
    assert failed.stderr == f"error: {one}: {reason[:1].lower()}{reason[1:]}\n"
    assert one.is_symlink() and not paths["new"].exists()


@pytest.mark.skipif(os.name == "nt", reason="locks are those of POSIX")
@pytest.mark.parametrize(
    "words",
    [
        ("train", "{data}"),
        ("learn", "{model}", "{data}", "--checkpoint", "0"),
        ("tune", "{model}", "{data}"),
        ("compact", "{model}"),
        ("predict", "{model}", "{data}"),
        ("demo", "--limit", "1"),
    ],
)
def test_one_process_alone_writes_an_output(
    texts: Path, text_model: Path, tmp_path: Path, words: tuple[str, ...]
) -> None:
    output = tmp_path / "output"
    given = [word.format(model=text_model, data=texts) for word in words]
    with Unfinished(output):
        refused = run(*given, "-o", output, status=1)
    expected = f"error: {output}: another process is writing it; expected only one\n"
    assert refused.stderr == expected and not output.exists()
    run(*given, "-o", output)
    assert not list(tmp_path.glob(".*"))


@pytest.mark.skipif(os.name == "nt", reason="it has no such file")
def test_standard_output_by_its_path_is_not_replaced(texts: Path, text_model: Path) -> None:
    expected = run("predict", text_model, texts).stdout
    assert run("predict", text_model, texts, "-o", "/dev/stdout").stdout == expected


@pytest.mark.skipif(not Path("/dev/fd").is_dir(), reason="the system has no such folder")
def test_an_open_file_is_written_through_its_descriptor(
    texts: Path, text_model: Path, tmp_path: Path
) -> None:
    log = tmp_path / "log"
    with log.open("w") as before:
        before.write("before\n")
        before.flush()
        run("predict", text_model, texts, "-o", f"/dev/fd/{before.fileno()}")
        before.write("after\n")
    expected = run("predict", text_model, texts).stdout
    assert log.read_text() == f"before\n{expected}after\n"


def test_a_page_that_cannot_be_is_not_promised(texts: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    words = ("--algorithm", "plt", "-o", tmp_path / "m.lg", "--progressive", page)
    result = run("train", texts, *words)
    assert f"{page}: not written" in result.stderr and not page.exists()


def test_outputs_have_a_folder_and_a_name_each(
    texts: Path, text_model: Path, tmp_path: Path
) -> None:
    both = ("--per-label", tmp_path / "o", "--metrics-file", tmp_path / "o")
    assert "another file for each" in run("eval", text_model, texts, *both, status=1).stderr
    for words in (
        ("eval", text_model, texts, "--metrics-file"),
        ("predict", text_model, texts, "-o"),
    ):
        ways = [tmp_path / "none", tmp_path / "none" / ".."]
        for folder in ways[:1] if os.name == "nt" else ways:  # Windows drops "none\\.." unseen
            result = run(*words, folder / "x", status=1)
            assert result.stderr == f"error: {folder}: no such folder\n"


@pytest.mark.skipif(os.name == "nt", reason="Windows does not remove a folder in use")
def test_a_folder_that_vanishes_is_not_called_forbidden(
    texts: Path, text_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()

    def load_slowly(*words: Any, **options: Any) -> Any:
        shutil.rmtree(folder)
        return load_model(*words, **options)

    monkeypatch.setattr(learn, "load_model", load_slowly)
    result = run("learn", text_model, texts, "-o", folder / "m.lg", status=1)
    assert result.stderr == f"error: {folder}: no such folder\n"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes")
@pytest.mark.parametrize("command", ["train", "learn"])
def test_a_model_does_not_take_the_place_of_a_pipe(
    texts: Path, text_model: Path, tmp_path: Path, command: str
) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    words = (texts,) if command == "train" else (text_model, texts)
    assert "expected a regular file" in run(command, *words, "-o", pipe, status=1).stderr
    assert pipe.is_fifo()


HOSTILE = "\x1b[31mred \x07\x9b\u202e\x7f"


def test_no_label_commands_the_terminal(tmp_path: Path) -> None:
    texts, model, tree = tmp_path / "texts.jsonl", tmp_path / "model.lg", tmp_path / "tree.json"
    row = {"text": f"word {HOSTILE}", "labels": [HOSTILE, "plain"]}
    texts.write_text((json.dumps(row) + "\n") * 20, encoding="utf-8")
    run("train", texts, "-o", model)
    run("tree", "build", texts, "-o", tree, "--kind", "huffman")
    pages = [
        run("info", model),
        run("info", model, "--json"),
        run("explain", model, "--text", f"word {HOSTILE}"),
        run("predict", model, texts),
        run("eval", model, texts),
        run("tree", "show", tree),
        run("predict", model, tmp_path / f"{HOSTILE}.jsonl", status=1),
    ]
    for page in pages:
        unseen = [sign for sign in page.output if sign in HOSTILE and not sign.isprintable()]
        assert not unseen, page.output
    assert "␛[31mred" in pages[5].output
    assert json.loads(pages[3].stdout.splitlines()[0])["labels"][0] in {HOSTILE, "plain"}


def test_the_pattern_of_a_stranger_is_not_run(texts: Path, tmp_path: Path) -> None:
    model, query = tmp_path / "model.lg", tmp_path / "query.jsonl"
    text = HashedText(token_pattern=r"(?:(?:\w+)+)+!")
    TextClassifier(text=text).fit(["so!", "well!"], [["a"], ["b"]]).save(model)
    query.write_text('{"text": "' + 40 * "a" + '"}\n')
    refused = run("predict", model, query, status=1)
    assert r"'(?:(?:\\w+)+)+!'" in refused.stderr and "--trust-pattern" in refused.stderr
    assert run("--trust-pattern", "predict", model, texts, "--limit", "1")
    assert run("predict", model, texts, "--limit", "1", "--trust-pattern")


@pytest.mark.parametrize(
    "words",
    [
        ("eval", "{m}", "{none}", "--metrics-file", "{folder}"),
        ("eval", "{m}", "{none}", "--per-label", "{folder}"),
        ("predict", "{m}", "{none}", "-o", "{folder}"),
        ("tree", "build", "{none}", "-o", "{folder}"),
    ],
)
def test_an_output_that_is_a_folder_is_found_before_the_work(
    text_model: Path, tmp_path: Path, words: tuple[str, ...]
) -> None:
    names = {"m": text_model, "none": tmp_path / "none.jsonl", "folder": tmp_path}
    failed = run(*(word.format(**names) for word in words), status=1)
    assert f"{tmp_path}: this is a folder; expected the name of a file" in failed.stderr


@pytest.mark.parametrize(
    ("option", "value", "expected"),
    [
        ("-k", "0", "at least 1"),
        ("-k", "x", "an integer"),
        ("--threshold", "2", "at most 1"),
        ("--threshold", "nan", "at most 1"),
        ("--threshold", "x", "a number"),
    ],
)
def test_a_number_out_of_range_is_repeated(
    text_model: Path, option: str, value: str, expected: str
) -> None:
    failed = run("predict", text_model, "--text", "a", option, value, status=2)
    assert f"error: {option} {value}: expected {expected} (see " in failed.stderr


def test_numbers_without_a_value_are_null_also_in_lists() -> None:
    found = {"a": [1.0, float("nan")], "b": {"c": ({"d": float("inf")},)}}
    assert json.loads(encode(found)) == {"a": [1.0, None], "b": {"c": [{"d": None}]}}


@pytest.mark.parametrize("command", ["", "train", "info", "tree", "tree build"])
def test_help_shows_flags_as_they_are_typed(command: str) -> None:
    page = run(*command.split(), "--help").stdout
    assert "--help" in page and "bool" not in page


@pytest.mark.parametrize("command", _SUMMARIES)
def test_the_list_of_commands_says_what_their_help_begins_with(command: str) -> None:
    assert _whole(command).help.replace("\n", " ").startswith(_SUMMARIES[command])


@pytest.mark.parametrize("command", ["predict", "explain", "info", "convert"])
def test_help_marks_an_argument_once(command: str) -> None:
    page = run(command, "--help").stdout
    assert "[[" not in page and "…}..." not in page


def test_help_of_serve_names_what_its_options_take() -> None:
    page = run("serve", "--help").stdout
    assert "<str>" not in page.partition("Options")[2] and "<int" not in page


def test_a_scope_that_there_is_not_is_refused(tmp_path: Path) -> None:
    failed = run("serve", tmp_path, "--new-token", "write", status=2)
    assert "--new-token write: expected one of read, learn, admin (see " in failed.stderr


def test_an_earlier_output_outlives_a_failure(
    texts: Path, text_model: Path, tmp_path: Path
) -> None:
    output = tmp_path / "out.jsonl"
    run("predict", text_model, texts, "-o", output)
    before = output.read_bytes()
    broken = tmp_path / "broken.jsonl"
    broken.write_bytes(texts.read_bytes() + b"{\n")
    run("predict", text_model, broken, "-o", output, status=1)
    assert output.read_bytes() == before
    assert not list(tmp_path.glob(".*"))


@pytest.mark.skipif(os.name == "nt", reason="a current folder cannot be removed there")
@pytest.mark.parametrize("command", ["train", "convert"])
def test_a_current_folder_that_is_gone_is_named(
    texts: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    failed = run(command, texts, "-o", "new", status=1)
    reason = os.strerror(errno.ENOENT)
    assert failed.stderr == f"error: the current folder: {reason[:1].lower()}{reason[1:]}\n"


@pytest.mark.parametrize(
    "words",
    [
        ("train", "", "-o", "m.lg"),
        ("train", "{texts}", "-o", ""),
        ("predict", "{m}", "{texts}", "-o", ""),
    ],
)
def test_an_empty_name_is_not_the_current_folder(
    texts: Path, text_model: Path, words: tuple[str, ...]
) -> None:
    result = run(*(w.format(texts=texts, m=text_model) for w in words), status=1)
    assert "empty; expected that of a file" in result.stderr


def test_a_report_on_a_file_whose_name_is_no_text(
    texts: Path, text_model: Path, tmp_path: Path
) -> None:
    strange = os.fsdecode(os.fsencode(tmp_path / "model") + b"\xfe.lg")
    try:
        Path(strange).write_bytes(text_model.read_bytes())
    except OSError:
        pytest.skip("the file system takes names in UTF-8 only")
    page = tmp_path / "page.html"
    run("report", strange, texts, "-o", page, "--limit", "50")
    assert "model? on texts" in page.read_text("utf-8")


@pytest.mark.parametrize("columns", ["0", "1", "20", "40"])
def test_a_narrow_terminal_loses_no_value(monkeypatch: pytest.MonkeyPatch, columns: str) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    for name, value in (("COLUMNS", columns), ("TERM", "xterm"), ("NO_COLOR", "1")):
        monkeypatch.setenv(name, value)
    screen = Terminal()
    monkeypatch.setattr("sys.stdout", screen)
    show_pairs([("examples", "400"), ("P@1 while learning", "34.4%")])
    assert "400" in screen.getvalue() and "34.4%" in screen.getvalue()
