"""Real processes: broken pipes, full disks, Ctrl-C, wide and narrow terminals."""

from __future__ import annotations

import io
import json
import logging
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len

import labelgrove
from cli.conftest import run, write_texts
from labelgrove.cli.commands import serve
from labelgrove.trees import LabelTree

if sys.platform == "win32":
    pytest.skip("pipes, signals and terminals of POSIX", allow_module_level=True)

import fcntl
import pty
import struct
import termios

pytestmark = pytest.mark.slow

Start = Callable[..., subprocess.Popen[bytes]]


class Terminal:
    """A pseudo-terminal for the standard error or output of a process."""

    def __init__(self, columns: int) -> None:
        self._master, self.slave = pty.openpty()
        fcntl.ioctl(self.slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        self._seen = b""
        # Keep reading: a process that writes to a full terminal would block.
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        try:
            while piece := os.read(self._master, 1 << 16):
                self._seen += piece
        except OSError:  # Linux's way to say that the other end is closed
            pass

    def wait_for(self, wanted: str) -> None:
        end = time.monotonic() + 60
        while wanted not in self.text:
            assert time.monotonic() < end, self.text
            time.sleep(0.01)

    def close(self) -> str:
        """Return what was shown once no process uses the terminal any more."""
        os.close(self.slave)
        self._reader.join(60)
        os.close(self._master)
        return self.text

    @property
    def text(self) -> str:
        return self._seen.decode(errors="replace")


def environment(**changes: str) -> dict[str, str]:
    unwanted = ("NO_COLOR", "FORCE_COLOR", "COLUMNS", "PYTHONUNBUFFERED")
    kept = {k: v for k, v in os.environ.items() if k not in unwanted}
    return {**kept, "TERM": "xterm-256color", **changes}


def told(process: subprocess.Popen[bytes]) -> tuple[int, str]:
    """The status of a process, and what it has written to standard error."""
    _, errors = process.communicate(timeout=60)
    return process.returncode, errors.decode()


NO_SPACE = 1, "error: standard output: no space left on device\n"


@pytest.fixture
def full() -> Iterator[Any]:
    """A device that is always full."""
    if not Path("/dev/full").exists():
        pytest.skip("no device that is always full")
    with Path("/dev/full").open("wb") as device:
        yield device


def test_a_reader_that_goes_away_is_no_failure(start: Start, texts: Path, text_model: Path) -> None:
    lines = texts.read_bytes() * 50
    (texts.parent / "long.jsonl").write_bytes(lines)
    process = start("predict", text_model, texts.parent / "long.jsonl")
    process.stdout.readline()
    process.stdout.close()
    assert process.stderr.read() == b""
    assert process.wait() == 141


def test_a_reader_that_has_never_come_is_no_failure(start: Start, text_model: Path) -> None:
    for words in (("info", text_model), ("train", "--help")):
        process = start(*words)
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait() == 141, words


def test_output_beyond_a_limit_of_files_is_one_sentence(
    warm: Sequence[str], text_model: Path, tmp_path: Path
) -> None:
    program = (
        "import resource, runpy; resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096)); "
        "runpy.run_module('labelgrove', run_name='__main__', alter_sys=True)"
    )
    limited = [*warm, "-c", program, "tree", "show", text_model]
    (tmp_path / "tree.txt").write_bytes(b"." * 65_536)
    with (tmp_path / "tree.txt").open("ab") as output:
        done = subprocess.run(limited, stdout=output, stderr=subprocess.PIPE, check=False)
    assert done.stderr.decode() == "error: standard output: file too large\n"
    assert done.returncode == 1


@pytest.mark.parametrize("words", [["--json"], []])
def test_a_full_disk_is_one_sentence(
    start: Start, full: Any, texts: Path, text_model: Path, words: list[str]
) -> None:
    assert told(start("eval", text_model, texts, *words, stdout=full)) == NO_SPACE


def test_a_model_is_learnt_though_its_summary_cannot_be_shown(
    start: Start, full: Any, texts: Path, text_model: Path
) -> None:
    before = text_model.read_bytes()
    assert told(start("learn", text_model, texts, stdout=full)) == NO_SPACE
    assert text_model.read_bytes() != before


@pytest.mark.usefixtures("full")
def test_a_full_disk_under_an_output_file(start: Start, texts: Path, text_model: Path) -> None:
    process = start("predict", text_model, texts, "-o", "/dev/full")
    assert told(process) == (1, "error: /dev/full: no space left on device\n")


def test_a_folder_without_permission(start: Start, texts: Path, tmp_path: Path) -> None:
    if os.geteuid() == 0:
        pytest.skip("nothing is forbidden to root")
    folder = tmp_path / "locked"
    folder.mkdir(mode=0o500)
    process = start("train", texts, "-o", folder / "m.lg")
    assert told(process) == (1, f"error: {folder}: permission denied\n")


def test_closed_standard_output_is_survived(start: Start, text_model: Path) -> None:
    process = start("info", text_model, env=environment(LABELGROVE_TEST_CLOSED="1"))
    assert told(process) == (0, "")


def test_closed_standard_input_matters_only_where_it_is_to_be_read(
    start: Start, texts: Path, tmp_path: Path
) -> None:
    closed = environment(LABELGROVE_TEST_CLOSED="0")
    for data, expected in (
        (texts, (0, "")),
        ("-", (1, "error: <stdin>: standard input is closed\n")),
    ):
        process = start("train", data, "-o", tmp_path / "m.lg", env=closed)
        assert told(process) == expected


def test_no_progress_line_without_a_terminal(start: Start, texts: Path, tmp_path: Path) -> None:
    # Forced colours do not turn a file into a terminal.
    process = start("train", texts, "-o", tmp_path / "m.lg", env=environment(FORCE_COLOR="1"))
    output, errors = process.communicate()
    assert process.returncode == 0
    assert errors == b""
    assert b"\r" not in output


def on_terminal(
    start: Start, columns: int, *words: str | Path, **changes: str
) -> tuple[str, bytes]:
    """Run with a terminal as standard error; return what it showed, and the output."""
    screen = Terminal(columns)
    process = start(*words, stderr=screen.slave, env=environment(**changes))
    output, _ = process.communicate()
    assert process.returncode == 0
    return screen.close(), output


def longest_line(shown: str) -> int:
    """The length of the longest line, of those that are not commands to copy."""
    plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "\r", shown)
    return max(len(line) for line in re.split(r"[\r\n]", plain) if "labelgrove" not in line)


def test_progress_on_a_terminal(start: Start, texts: Path, tmp_path: Path) -> None:
    words = ("train", texts, "-o", tmp_path / "m.lg", "--passes", "2", "--json")
    shown, output = on_terminal(start, 100, *words)
    json.loads(output)
    for part in ("pass 2/2", "400/400", "P@1 ", "40 labels", "/s", "\x1b["):
        assert part in shown
    assert longest_line(shown) <= 100
    # At the end the line is cleared and the cursor visible again.
    assert shown.rstrip().endswith(("\x1b[2K", "\x1b[?25h"))
    assert "\x1b[?25h" in shown


def test_no_colour_where_none_is_wanted(start: Start, texts: Path, tmp_path: Path) -> None:
    words = ("train", texts, "-o", tmp_path / "m.lg", "--passes", "2")
    shown, _ = on_terminal(start, 100, *words, NO_COLOR="1")
    assert "400/400" in shown
    assert not re.search(r"\x1b\[[0-9;]*[34][0-7]m", shown)


def test_a_dumb_terminal_gets_no_progress_line(start: Start, texts: Path, tmp_path: Path) -> None:
    words = ("train", texts, "-o", tmp_path / "m.lg")
    assert on_terminal(start, 100, *words, TERM="dumb")[0] == ""


def test_predictions_on_the_screen_are_not_mixed_with_progress(
    start: Start, texts: Path, text_model: Path
) -> None:
    screen = Terminal(200)
    words = ("predict", text_model, texts, "-k", "1")
    process = start(*words, stdout=screen.slave, stderr=screen.slave, env=environment())
    assert process.wait(60) == 0
    shown = screen.close()
    assert [len(json.loads(line)["labels"]) for line in shown.splitlines()] == [1] * 400


def test_a_tree_fits_the_screen(start: Start, tmp_path: Path) -> None:
    tree = tmp_path / "tree.json"
    tree.write_text(LabelTree([-1, 0, 0, 1, 1], ["c", "a" * 50, "\u6f22" * 50]).to_json())
    screen = Terminal(60)
    process = start("tree", "show", tree, "--levels", "1", stdout=screen.slave, env=environment())
    assert process.wait(60) == 0
    shown = [line for line in screen.close().splitlines() if line]
    assert max(map(cell_len, shown)) <= 60 and shown[1].endswith("…") and shown[2] == "└─ c"


def interrupted(start: Start, examples: bytes, shown: str, *words: str | Path) -> tuple[int, str]:
    """Feed a stream, wait until something is shown, press Ctrl-C; return status and screen."""
    screen = Terminal(200)
    process = start(
        *(*words, "--format", "jsonl"),
        stdin=subprocess.PIPE,
        stderr=screen.slave,
        env=environment(),
    )
    process.stdin.write(examples)
    process.stdin.flush()
    screen.wait_for(shown)
    process.send_signal(signal.SIGINT)
    return process.wait(60), screen.close()


def test_ctrl_c_saves_what_has_been_learnt(start: Start, tmp_path: Path) -> None:
    data, model = write_texts(tmp_path / "long.jsonl", 1500), tmp_path / "m.lg"
    words = ("train", "-", "-o", model)
    status, shown = interrupted(start, data.read_bytes(), "1,500", *words)
    assert status == 130
    assert "stopped by Ctrl-C after 1,500 examples" in shown
    assert f"is saved in {model}" in " ".join(shown.split())
    assert "Traceback" not in shown
    assert set(tmp_path.iterdir()) == {model, data}
    run("train", data, "-o", tmp_path / "same.lg")
    assert model.read_bytes() == (tmp_path / "same.lg").read_bytes()


def test_ctrl_c_while_learning_on(start: Start, tmp_path: Path, text_model: Path) -> None:
    examples = write_texts(tmp_path / "long.jsonl", 1500).read_bytes()
    status, _ = interrupted(start, examples, "1,500", "learn", text_model, "-")
    assert status == 130
    assert labelgrove.load(text_model).examples_seen_ == 400 + 1500


def test_ctrl_c_before_anything_is_learnt(start: Start, text_model: Path) -> None:
    before = text_model.read_bytes()
    begun = b'{"text": "a b", '
    status, shown = interrupted(start, begun, "learning", "learn", text_model, "-")
    assert status == 130
    assert "stopped by Ctrl-C before anything was learnt" in shown
    assert text_model.read_bytes() == before


def test_ctrl_c_while_predicting(start: Start, text_model: Path) -> None:
    process = start("predict", text_model, "-", "--format", "jsonl", stdin=subprocess.PIPE)
    process.stdin.write(b'{"text": "a b"}\n' * 1024)
    process.stdin.flush()
    process.stdout.readline()
    process.send_signal(signal.SIGINT)
    assert process.stderr.read() == b"error: stopped by Ctrl-C\n"
    assert process.wait(60) == 130


def test_the_demo_is_alive_on_a_terminal(start: Start, tmp_path: Path) -> None:
    screen = Terminal(100)
    process = start(
        *("demo", "--limit", "800", "-o", tmp_path / "m.lg"),
        stdout=screen.slave,
        env=environment(),
    )
    assert process.wait(60) == 0
    shown = screen.close()
    assert "█" in shown
    assert "\x1b[2K" in shown  # redrawn in place
    assert longest_line(shown) <= 100


def test_a_port_in_use_is_one_sentence(start: Start, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        words = ("serve", tmp_path, "--port", str(port), "--project", "tickets")
        status, errors = told(start(*words))
    assert status == 1
    assert f"error: cannot listen on 127.0.0.1:{port}; is it already in use?" in errors
    assert list(tmp_path.glob("projects/*")) == []


def test_a_log_in_json_has_one_object_per_line() -> None:
    shown = io.StringIO()
    handler = logging.StreamHandler(shown)
    handler.setFormatter(serve._Lines())
    for message in ("two\nlines", "another"):
        handler.handle(logging.makeLogRecord({"msg": message, "levelname": "WARNING"}))
    told = [json.loads(line)["message"] for line in shown.getvalue().splitlines()]
    assert told == ["two\nlines", "another"]


def test_a_service_may_open_more_files_than_is_usual() -> None:
    resource = pytest.importorskip("resource")
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (128, hard))
    try:
        serve._allow_many_files()
        found = resource.getrlimit(resource.RLIMIT_NOFILE)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert found == (16_384 if hard < 0 else min(hard, 16_384), hard)


def test_a_token_that_cannot_be_shown_is_not_stored(
    start: Start, full: Any, tmp_path: Path
) -> None:
    assert told(start("serve", tmp_path, "--new-token", "admin", stdout=full)) == NO_SPACE
    assert not list(tmp_path.glob("tokens*"))


def test_what_cannot_be_served_or_followed_is_refused(tmp_path: Path) -> None:
    pytest.importorskip("starlette")
    for wrong in ("nonsense", "http://127.0.0.1:9#tickets"):
        result = run("serve", tmp_path, "--follow", wrong, status=1)
        assert f"--follow {wrong}: expected the address of a service" in result.stderr
    for own in (("--demo",), ("--project", "own")):
        result = run("serve", tmp_path, "--follow", "http://127.0.0.1:9", *own, status=1)
        assert "a replica has the projects of its leader" in result.stderr
    result = run("serve", tmp_path, "--memory", "500", status=1)
    assert "--memory 500: expected a size of 1,000,000 bytes" in result.stderr
    (tmp_path / "file").write_text("")
    result = run("serve", tmp_path / "file", status=1)
    expected = "expected a folder, in which the service keeps what it learns"
    assert result.stderr == f"error: {tmp_path / 'file'}: this is a file; {expected}\n"


def test_a_project_that_was_never_there_is_not_recovered(tmp_path: Path) -> None:
    pytest.importorskip("starlette")
    from labelgrove.service import alone_in

    project = tmp_path / "projects" / "used"
    project.mkdir(parents=True)
    (project / "log.sqlite").touch()
    with alone_in(tmp_path):  # by a service: it would go on writing to the log that was moved away
        result = run("serve", tmp_path, "--recover", "used", status=1)
    assert "another process is already serving" in result.stderr
    result = run("serve", tmp_path, "--recover", "nosuch", status=1)
    assert result.stderr == f"error: --recover nosuch: there is no such project in {tmp_path}\n"
