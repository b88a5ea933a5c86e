"""Learning that is killed and resumed repeatedly gives the same bytes as uninterrupted learning."""

from __future__ import annotations

import errno
import json
import os
import random
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

from cli.conftest import run, text_examples, write_jsonl, write_texts, write_xmlc
from cluster.kit import limited_files
from labelgrove import DataError, LabelGroveError, OnlinePLTClassifier, _unfinished
from labelgrove._unfinished import Unfinished, replacing
from labelgrove.cli import _checkpoints, _learning
from labelgrove.evaluation import StreamRecord

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="forks, and kills by SIGKILL")

OFTEN = ("--checkpoint", "1e-9", "--json")

#: Operations on files; a kill comes before one of these.
STEPS = {"open", "os.rename", "os.remove", "os.mkdir", "os.rmdir", "shutil.rmtree"}


def killed_before(step: int, words: tuple[Any, ...]) -> bool:
    """Run a command in a process that kills itself before its n-th step; False if it has ended."""
    child = os.fork()
    if child == 0:
        left = [step]

        def count(event: str, _: Any) -> None:
            left[0] -= event in STEPS
            if event in STEPS and left[0] < 0:
                os.kill(os.getpid(), signal.SIGKILL)

        sys.addaudithook(count)
        status = 1
        try:
            run(*words)
            status = 0
        finally:
            os._exit(status)
    _, status = os.waitpid(child, 0)
    assert status in (0, signal.SIGKILL)
    return status != 0


def told(result: Any) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(result.stdout)
    return {name: value for name, value in found.items() if "second" not in name}


def command(kind: str, folder: Path) -> tuple[Any, ...]:
    texts = write_texts(folder / "train.jsonl", 60)
    examples = text_examples(60, labels=["one", "two", "three"])
    one_each = [{**example, "labels": example["labels"][:1]} for example in examples]
    classes = write_jsonl(folder / "classes.jsonl", one_each)
    rows = write_xmlc(folder / "rows.xmlc", 60)
    names = folder / "names.tsv"
    names.write_text("".join(f"topic-{n:02d}\tnumber {n}\n" for n in range(40)))
    return {
        "texts": ("train", texts, "--vocabulary", names, "--learn-names", "met"),
        "passes": ("train", rows, "--passes", 2, "--shuffle", "--trees", 2),
        "lomtree": ("train", classes, "--algorithm", "lomtree"),
        "stage": ("train", rows, "--set", "second_stage=head"),
    }[kind]


@pytest.mark.parametrize("kind", ["texts", "passes", "lomtree", "stage"])
def test_a_run_killed_at_random_comes_to_the_same_bytes(kind: str, tmp_path: Path) -> None:
    words = command(kind, tmp_path)
    straight = told(run(*words, "-o", tmp_path / "straight.lg", "--json"))
    given = (*words, "-o", tmp_path / "killed.lg", *OFTEN)
    chance = random.Random(kind)
    kills = sum(killed_before(chance.randrange(10, 50), given) for _ in range(3))
    assert kills > 1
    assert told(run(*given)) == {**straight, "model": str(tmp_path / "killed.lg")}
    assert (tmp_path / "killed.lg").read_bytes() == (tmp_path / "straight.lg").read_bytes()
    assert not (tmp_path / ".killed.lg.partial").exists()


def test_learning_on_is_resumed_too(tmp_path: Path) -> None:
    first = write_texts(tmp_path / "1.jsonl", 40)
    second = write_texts(tmp_path / "2.jsonl", 60, seed=1)
    run("train", first, "-o", tmp_path / "first.lg")
    model = tmp_path / "model.lg"
    model.write_bytes((tmp_path / "first.lg").read_bytes())
    words = ("learn", model, second, *OFTEN)
    assert killed_before(40, words)
    assert "resuming after" in run(*words).stderr
    run("learn", tmp_path / "first.lg", second)
    assert model.read_bytes() == (tmp_path / "first.lg").read_bytes()


def killed_at(step: str, words: tuple[Any, ...], of: Any = Unfinished) -> None:
    """Run a command that kills itself in place of a step, by default of its checkpoints."""
    child = os.fork()
    if child == 0:
        try:
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(of, step, lambda *_: os.kill(os.getpid(), signal.SIGKILL))
                run(*words)
        finally:
            os._exit(0)
    assert os.waitpid(child, 0)[1] == signal.SIGKILL


def test_nothing_is_learnt_twice_after_a_stop_while_the_model_is_written(tmp_path: Path) -> None:
    first = write_texts(tmp_path / "1.jsonl", 20)
    second = write_texts(tmp_path / "2.jsonl", 20, seed=1)
    model = tmp_path / "model.lg"
    run("train", first, "-o", model)
    before = model.read_bytes()
    told_once = told(run("learn", model, second, "-o", tmp_path / "once.lg", "--json"))
    words = ("learn", model, second, "--json")
    killed_at("remove", words)
    assert model.read_bytes() == (tmp_path / "once.lg").read_bytes() != before
    again = run(*words)
    assert "an earlier run already learnt these 20 examples" in again.stderr
    assert told(again)["examples"] == told_once["examples"]
    assert model.read_bytes() == (tmp_path / "once.lg").read_bytes()
    assert not (tmp_path / ".model.lg.partial").exists()
    run(*words)
    assert model.read_bytes() != (tmp_path / "once.lg").read_bytes()


def test_what_nobody_was_told_to_be_learnt_is_not_learnt_twice(tmp_path: Path) -> None:
    model, more = tmp_path / "model.lg", write_texts(tmp_path / "2.jsonl", 20, seed=1)
    words = ("learn", model, more)
    run("train", write_texts(tmp_path / "1.jsonl", 20), "-o", model)
    killed_at("show_pairs", words, _learning)
    once = model.read_bytes()
    assert "already learnt" in run(*words).stderr
    assert model.read_bytes() == once
    assert not (tmp_path / ".model.lg.partial").exists()


def test_only_what_is_written_was_learnt_and_by_that_command_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = write_texts(tmp_path / "1.jsonl", 20)
    second = write_texts(tmp_path / "2.jsonl", 20, seed=1)
    model, words = tmp_path / "model.lg", ("learn", tmp_path / "model.lg", second)
    run("train", first, "-o", model)
    before = model.read_bytes()
    run(*words, "-o", tmp_path / "once.lg")
    killed_at("remove", words)
    model.write_bytes(before)  # as if the process had stopped before writing it
    assert "already learnt" not in run(*words).stderr
    assert model.read_bytes() == (tmp_path / "once.lg").read_bytes()
    model.write_bytes(before)
    killed_at("remove", words)
    assert "already learnt" not in run("learn", model, first).stderr
    assert model.read_bytes() not in (before, (tmp_path / "once.lg").read_bytes())


def test_a_file_that_is_replaced_while_another_process_is_waited_for(tmp_path: Path) -> None:
    rows, model = write_xmlc(tmp_path / "rows.xmlc", 30), tmp_path / "m.lg"
    given = _checkpoints.Checkpoints(str(model), {"data": str(rows), "jobs": 1}, 10)
    write_xmlc(rows, 31)
    with pytest.raises(DataError, match=f"{rows}: this file was replaced"), given:
        pass
    run("train", rows, "-o", model)


def test_without_locks_nobody_is_kept_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr("fcntl.flock", fail)
    rows = write_xmlc(tmp_path / "rows.xmlc", 30)
    run("train", rows, "-o", tmp_path / "m.lg")
    assert [path.name for path in sorted(tmp_path.iterdir())] == ["m.lg", "rows.xmlc"]


def test_options_longer_than_any_name_of_a_file(tmp_path: Path) -> None:
    columns = [f"column{number}" for number in range(50)]
    table = tmp_path / "wide.csv"
    table.write_text(f"{','.join(columns)},label\n{','.join(columns)},x\n")
    run("train", table, "-o", tmp_path / "m.lg", "--text-column", ",".join(columns))


def test_a_full_disk_costs_nothing_that_was_learnt(tmp_path: Path) -> None:
    rows, model = write_xmlc(tmp_path / "rows.xmlc", 60), tmp_path / "m.lg"
    run("train", rows, "-o", tmp_path / "straight.lg")
    expected = (tmp_path / "straight.lg").read_bytes()
    with limited_files(len(expected) - 1):
        told = run("train", rows, "-o", model, *OFTEN, status=1).stderr.splitlines()
    assert told[-1] == f"error: {model}: file too large"
    assert not model.exists()
    assert not list(tmp_path.glob(".*[0-9a-f].partial"))
    assert "resuming after" in run("train", rows, "-o", model, *OFTEN).stderr
    assert model.read_bytes() == expected


def test_a_worker_does_not_keep_what_it_was_forked_with_locked(tmp_path: Path) -> None:
    with Unfinished(tmp_path / "m.lg") as unfinished:
        unfinished.begin({})
        (unfinished.path / "9.lg").touch()  # so that the lock file stays
        runs, tell = os.pipe()
        child = os.fork()
        if child == 0:
            os.write(tell, b"!")
            signal.pause()
            os._exit(0)
        os.read(runs, 1)
        os.close(runs)
        os.close(tell)
    try:
        with Unfinished(tmp_path / "m.lg"):
            pass
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def test_no_file_is_open_when_the_folder_is_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    unfinished, held = Unfinished(tmp_path / "m.lg"), []
    monkeypatch.setattr(Path, "rmdir", lambda _: held.append(unfinished._lock))
    with unfinished:
        pass
    assert held == [None]  # NFS keeps a deleted file in its folder while it is open


def test_a_lock_that_was_removed_before_it_was_taken_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, taken = _unfinished.locked, []

    def late(path: Path, refusal: str) -> Any:
        taken.append(real(path, refusal))
        if len(taken) == 1:
            path.unlink()  # by the process that held it before
        return taken[-1]

    monkeypatch.setattr(_unfinished, "locked", late)
    one, other = Unfinished(tmp_path / "m.lg"), Unfinished(tmp_path / "m.lg")
    with one, pytest.raises(LabelGroveError, match="another process"), other:
        pass


def test_what_another_command_has_left_goes_and_halves_of_this_one(tmp_path: Path) -> None:
    with Unfinished(tmp_path / "m.lg") as unfinished:
        left = {unfinished.path / name: name for name in ("9.lg", ".half.partial")}
        for request, stays in (({"seed": 0}, set()), ({"seed": 0}, {"9.lg"}), ({"seed": 1}, set())):
            unfinished.begin(request)
            assert {name for path, name in left.items() if path.exists()} == stays
            for path in left:
                path.touch()


def test_the_latest_has_learnt_most(tmp_path: Path) -> None:
    """A kill before the previous checkpoint is removed leaves two."""
    rows = write_xmlc(tmp_path / "rows.xmlc", 3)
    options = {"data": str(rows), "jobs": 1}
    model = OnlinePLTClassifier(random_state=0).partial_fit([[1.0]], ["a"])
    with _checkpoints.Checkpoints(str(tmp_path / "m.lg"), options, minutes=1) as checkpoints:
        checkpoints.keep(model, 9, {})
        folder = tmp_path / ".m.lg.partial"
        earlier = {path: path.read_bytes() for path in folder.glob("9.*")}
        checkpoints.keep(model, 10, {})
        for path, content in earlier.items():
            path.write_bytes(content)
        latest = checkpoints.latest()
    assert latest[1] == 10


def test_another_command_begins_anew(tmp_path: Path) -> None:
    rows, model = write_xmlc(tmp_path / "rows.xmlc", 60), tmp_path / "m.lg"
    words = ("train", rows, "-o", model)
    for changed in [("--set", "alpha=0.5"), ("--seed", 1)]:
        assert killed_before(40, (*words, *OFTEN))
        assert "resuming after" not in run(*words, *changed).stderr
    assert killed_before(40, (*words, *OFTEN))
    write_xmlc(rows, 60, seed=1)
    assert "resuming after" not in run(*words).stderr
    assert killed_before(40, (*words, *OFTEN))
    assert "resuming after" in run(*words, "--jobs", 2, "--json").stderr


def test_where_there_are_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept: list[int] = []
    monkeypatch.setattr(
        _checkpoints.Checkpoints, "keep", lambda _, model, examples, state: kept.append(examples)
    )
    rows = write_xmlc(tmp_path / "rows.xmlc", 30)
    older = tmp_path / ".m.lg.partial"
    older.mkdir()
    (older / "request.json").write_text("{}")
    run("train", rows, "-o", tmp_path / "m.lg", "--checkpoint", 0)
    assert not older.exists()
    run("train", "-", "-o", tmp_path / "m.lg", *OFTEN, input=rows.read_bytes())
    run("train", rows, "-o", tmp_path / "m.lg")
    assert kept == []
    run("train", rows, "-o", tmp_path / "m.lg", *OFTEN)
    assert kept[:3] == [1, 3, 7]


def test_files_whose_name_means_another_format_have_some_too(tmp_path: Path) -> None:
    rows, model = write_xmlc(tmp_path / "rows.npz", 60), tmp_path / "m.lg"
    words = ("train", rows, "--format", "xmlc", "-o", model, *OFTEN)
    assert killed_before(40, words)
    assert "resuming after" in run(*words).stderr


def test_folders_that_hold_other_things_have_some_too(tmp_path: Path) -> None:
    texts, rows = tmp_path / "texts", tmp_path / "rows"
    texts.mkdir()
    (texts / "a.txt").write_text("a")
    run("convert", write_xmlc(tmp_path / "rows.xmlc", 3), "-o", rows)
    for data in (texts, rows):
        (data / "older").mkdir()
        given = {"data": str(data), "jobs": 1}
        assert _checkpoints.Checkpoints(str(data / "m.lg"), given, minutes=1e-9).are_due()


def test_a_checkpoint_that_cannot_be_written_is_no_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any) -> None:
        raise OSError(28, "No space left on device", "1.lg")

    monkeypatch.setattr(OnlinePLTClassifier, "save", fail)
    rows = write_xmlc(tmp_path / "rows.xmlc", 30)
    told = run("train", rows, "-o", tmp_path / "m.lg", *OFTEN, status=1).stderr
    assert (
        "warning: cannot write a checkpoint after 1 example: 1.lg: no space left on device\n"
        in told
    )
    assert not list(tmp_path.glob(".*"))


def test_a_checkpoint_that_cannot_be_read_is_left_aside(tmp_path: Path) -> None:
    rows, model = write_xmlc(tmp_path / "rows.xmlc", 30), tmp_path / "m.lg"
    words = ("train", rows, "-o", model, *OFTEN)
    run(*words)
    whole = model.read_bytes()
    for damaged, expected in [("*.lg", "is truncated"), ("[0-9]*.json", "Expecting value")]:
        assert killed_before(40, words)
        for left in (tmp_path / ".m.lg.partial").glob(damaged):
            os.truncate(left, 0 if left.suffix == ".json" else 1000)
        told = run(*words).stderr
        assert "warning: starting over, since the checkpoint cannot be read" in told
        assert expected in told
        assert model.read_bytes() == whole


def test_a_folder_that_another_run_has_removed_is_gone(tmp_path: Path) -> None:
    Unfinished(tmp_path / "m.lg").remove()


def test_a_record_is_resumed() -> None:
    chance = random.Random(0)
    straight = StreamRecord([1, 2], places=3, window=10)
    resumed = StreamRecord.resumed(straight.state())
    for _ in range(60):
        true = [chance.sample(range(8), chance.choice([1, 1, 2])) for _ in range(3)]
        predicted = [chance.sample(range(8), 3) for _ in range(2)]
        for record in (straight, resumed):
            record.add(true, predicted, seconds=0.5, nodes=4)
        resumed = StreamRecord.resumed(json.loads(json.dumps(resumed.state())))
    assert json.dumps(resumed.state()) == json.dumps(straight.state())
    assert repr(resumed.points()) == repr(straight.points())
    assert resumed.patience().tolist() == straight.patience().tolist()


def test_a_model_is_written_where_a_resumed_call_clears_up(tmp_path: Path) -> None:
    path = tmp_path / "m.lg"
    with replacing(path) as file:
        assert Path(file.name).parent == tmp_path
    with Unfinished(path) as unfinished:
        unfinished.begin({})
        (unfinished.path / ".0123.partial").touch()  # of a call that was killed
        unfinished.begin({})
        assert not list(unfinished.path.glob(".*.partial"))
        with replacing(path) as file:
            assert Path(file.name).parent == unfinished.path
            file.write(b"new")
        assert path.read_bytes() == b"new"
        unfinished.remove()


def test_files_are_found_among_words_with_an_equals_sign(tmp_path: Path) -> None:
    folder = tmp_path / "lr=0.1"
    folder.mkdir()
    for name in ("m.lg", "t.json", "u=2.tsv"):
        (folder / name).touch()
    words = [str(folder / "m.lg"), ["tree=" + str(folder / "t.json")], str(folder / "u=2.tsv"), 3]
    assert [path.name for path in _checkpoints._files_among(words)] == ["m.lg", "t.json", "u=2.tsv"]


def test_an_algorithm_that_learns_all_at_once_has_none(tmp_path: Path) -> None:
    data = tmp_path / "d.jsonl"
    data.write_text('{"text": "red", "labels": ["a"]}\n' * 3)
    words = ("train", data, "-o", tmp_path / "m.lg", "--algorithm", "plt", "--checkpoint")
    assert "--checkpoint 1: plt learns all examples at once" in run(*words, "1", status=1).stderr
    run(*words, "0")
