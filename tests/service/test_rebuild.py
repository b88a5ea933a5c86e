"""Trees rebuilt from all examples: when, in which process, and with which result."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from queue import Queue
from typing import Any

import msgspec
import pytest

from labelgrove.service import _project, _rebuild
from labelgrove.service._events import Example, Learnt, Merging, Rebuilt, Renaming
from labelgrove.service._history import History
from labelgrove.service._log import Addition, now
from labelgrove.service._model import batch_model
from labelgrove.service._problems import DamagedLog, Problem
from labelgrove.service._project import Project
from labelgrove.service._rebuild import Comparison, compare, compare_beside
from service.kit import (
    SMALL,
    additions,
    examples,
    fingerprint_at_the_end,
    opened,
    without_snapshots,
)


def test_a_rebuilt_tree_is_the_same_wherever_it_is_learnt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The process that learns it first imports nothing from the current folder."""
    (tmp_path / "json.py").write_text("raise SystemExit('not the standard library')")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [path for path in sys.path if path])
    project = opened(tmp_path / "a")
    project.log.append(additions(400)).result()
    rebuilt = project.rebuild()
    assert rebuilt.examples == 40 and rebuilt.taken == (rebuilt.after >= rebuilt.before)
    if not rebuilt.taken:
        project.log.append([Addition("rebuilt", Rebuilt(361))]).result()
    project.log.append(additions(20, 1)).result()
    expected = fingerprint_at_the_end(project)
    for path in project.folder.glob("*.lg"):
        path.unlink()
    project.close()
    for path in project.folder.glob("*.lg"):
        path.unlink()
    project = opened(project.folder)
    assert fingerprint_at_the_end(project) == expected
    project.close()


def test_a_rebuild_in_time_that_cannot_begin_is_logged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: Any) -> None:
        raise OSError(errno.ENOMEM, "Cannot allocate memory")

    monkeypatch.setattr(_project, "compare_beside", fail)
    project = opened(tmp_path)
    project._rebuild_in_time()
    assert "not rebuilt ([Errno 12] Cannot allocate memory)" in caplog.text
    project.close()


def test_trees_are_rebuilt_after_hours_and_after_examples(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: Queue[int] = Queue()
    monkeypatch.setattr(Project, "rebuild", lambda project: tried.put(project.log.examples))
    hour = 3_600_000
    clock = [now()]
    monkeypatch.setattr("labelgrove.service._project.now", lambda: clock[0])
    project = opened(tmp_path / "a", msgspec.structs.replace(SMALL, rebuild_hours=24))

    def told(count: int) -> None:
        project.applied(project.log.append(additions(count)).result().sequence).result()
        project.stats().result()  # the thread has run another iteration

    told(10)
    clock[0] += 23 * hour + 600_000
    told(10)
    assert tried.empty()
    clock[0] += hour
    told(10)
    assert tried.get(timeout=20) == 30
    clock[0] += hour
    told(10)
    assert tried.empty()
    clock[0] -= 72 * hour
    told(10)
    assert tried.get(timeout=20) == 50
    project.close()
    assert tried.empty()
    project = opened(tmp_path / "a")  # what was not accepted is retried after a restart
    assert tried.get(timeout=20) == 50
    project.close()
    project = opened(tmp_path / "b", msgspec.structs.replace(SMALL, rebuild_every=25))
    told(24)
    assert tried.empty()
    told(2)
    assert tried.get(timeout=20) == 26
    for name in range(2, 12):  # which does not offset new ones
        project.log.forget(f"@{name}").result()
    told(25)
    assert tried.get(timeout=20) == 41
    project.close()


def test_a_tree_whose_building_is_stopped_is_no_fault(tmp_path: Path) -> None:
    class Stopped(set[Any]):
        def add(self, process: Any) -> None:
            process.kill()  # as `terminate` does on Windows

    with pytest.raises(Problem, match="stopped") as raised:
        compare_beside(tmp_path, 0, Stopped())
    assert raised.value.status == 503


@pytest.mark.skipif(sys.platform == "win32", reason="has no such signals")
def test_who_builds_a_tree_hears_signals_of_its_own_only(tmp_path: Path) -> None:
    class Stopped(set[Any]):
        def add(self, process: Any) -> None:
            super().add(process)
            assert os.getpgid(process.pid) == process.pid  # so Ctrl-C does not reach it
            process.terminate()

    with pytest.raises(Problem, match="stopped"):
        compare_beside(tmp_path, 0, Stopped())


@pytest.mark.slow  # a process that imports everything
def test_a_rebuild_ends_with_the_service(warm: Sequence[str]) -> None:
    run = (
        "import time, labelgrove.service._rebuild as r; r.end_with_service(); "
        "print(flush=True); time.sleep(60)"
    )
    words = [*warm, "-c", run]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None and process.stdout is not None
        process.stdout.readline()
        assert process.poll() is None
        process.stdin.close()
        assert process.wait(20) == 1


@pytest.mark.parametrize(
    ("failure", "status"),
    [
        (OSError(errno.ENOSPC, "no space left on device"), 507),
        (OSError(errno.EACCES, "permission denied"), 500),
        (DamagedLog("the log is damaged"), 500),
    ],
)
def test_a_rebuild_that_fails_is_a_problem_like_any_other(
    failure: Exception,
    status: int,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def fail(folder: Path, head: int) -> None:
        raise failure

    monkeypatch.setattr(_rebuild, "compare", fail)
    monkeypatch.setattr(sys, "argv", ["rebuild", "demo", "7"])
    _rebuild.main()
    assert json.loads(capsys.readouterr().out)["status"] == status


@pytest.mark.parametrize("taken", [False, True])
def test_a_rebuild_survives_changes_meanwhile_but_its_file_does_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, taken: bool
) -> None:
    project = opened(tmp_path / "p")
    project.log.append(additions(40)).result()

    def changed_meanwhile(folder: Path, head: int, _: Any) -> Comparison:
        (folder / f"built-38-{head}.lg").write_bytes(b"knows what is forgotten")
        project.log.forget("@3").result()
        project.log.append([Addition("rename", Renaming({"cat": "tom"}))])
        project.log.append([Addition("merge", Merging(["fox", "goat"], "farm"))]).result()
        return Comparison(38, 3, 0.5, 0.6 if taken else 0.4)

    monkeypatch.setattr(_project, "compare_beside", changed_meanwhile)
    rebuilt = project.rebuild()
    assert (rebuilt.taken, rebuilt.sequence) == ((True, 45) if taken else (False, None))
    assert not [*project.folder.glob("built-*.lg")]
    expected = fingerprint_at_the_end(project)
    assert {"tom", "farm"} <= {*project.learner.labels()}
    project = without_snapshots(project)
    assert fingerprint_at_the_end(project) == expected
    project.close()


def test_several_trees_are_rebuilt_too() -> None:
    several = msgspec.structs.replace(SMALL, estimator={**SMALL.estimator, "n_trees": 2})
    taught = [Example(i, text, labels) for i, (text, labels) in enumerate(examples(40))]
    assert batch_model(several, taught).classifier_.n_trees == 2


@pytest.mark.parametrize(
    ("change", "names"),
    [
        (Addition("rename", Renaming({"cat": "tom", "dog": "rex"})), {"cat": "tom", "dog": "rex"}),
        (Addition("merge", Merging(["cat", "dog"], "dog")), {"cat": "dog"}),
    ],
)
def test_both_trees_are_judged_by_the_names_of_now(
    tmp_path: Path, change: Addition, names: dict[str, str]
) -> None:
    sent = examples(300)
    renamed = [(text, [*{names.get(one, one): 0 for one in labels}]) for text, labels in sent]
    compared = []
    for folder, taught, more in (("a", sent, [change]), ("b", renamed, [])):
        project = opened(tmp_path / folder)
        learnt = [Addition("learn", Learnt(text, labels)) for text, labels in taught]
        project.log.append([*learnt, *more]).result()
        fingerprint_at_the_end(project)
        compared.append(compare(project.folder, project.log.head))
        project.close()
    assert compared[0] == compared[1]


def test_the_newest_file_of_a_rebuild_is_used(tmp_path: Path) -> None:
    for head in (9, 5, 12, 7):
        (tmp_path / f"built-4-{head}.lg").touch()
    history = History(tmp_path, SMALL, [], lambda after, upto: [])
    assert history._built(4, 20) == tmp_path / "built-4-12.lg"
    assert history._built(3, 20) is None
