from __future__ import annotations

import errno
from collections.abc import Callable
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from cli.conftest import run as run_command
from labelgrove import DataError, LearningInterrupted, ParameterError
from labelgrove.cli import main
from labelgrove.cli._application import Application

runner = CliRunner()


def application(failure: Callable[[], BaseException | None]) -> typer.Typer:
    app = typer.Typer(cls=Application, pretty_exceptions_enable=False)

    @app.callback()
    def begin() -> None:
        pass

    @app.command()
    def run(count: int = 1) -> None:
        typer.echo("result")
        if (error := failure()) is not None:
            raise error

    return app


@pytest.mark.parametrize(
    ("failure", "status", "message"),
    [
        (DataError("row 3: found\nnan"), 1, "error: row 3: found nan\n"),
        (
            FileNotFoundError(errno.ENOENT, "No such file or directory", "a.txt"),
            1,
            "error: a.txt: no such file or directory\n",
        ),
        (
            OSError(errno.ENOSPC, "No space left on device", "m.lg"),
            1,
            "error: m.lg: no space left on device\n",
        ),
        (ParameterError("n_jobs=0: expected one"), 1, "error: --jobs 0: expected one\n"),
        (ParameterError("n_jobs=0: a number, or None"), 1, "error: --jobs 0: a number\n"),
        (ParameterError("replay=0: a number, or None"), 1, "error: replay=0: a number, or None\n"),
        (ParameterError("epochs='a': expected"), 1, "error: --passes a: expected\n"),
        (ParameterError("arity=1: expected"), 1, "error: arity=1: expected\n"),
        (KeyboardInterrupt(), 130, "error: stopped by Ctrl-C\n"),
        (LearningInterrupted("stopped in row 7", 7), 130, "error: stopped in row 7\n"),
        (MemoryError(), 1, "error: out of memory\n"),
        (MemoryError("std::bad_alloc"), 1, "error: out of memory\n"),
        (MemoryError("8 GB for an array"), 1, "error: out of memory: 8 GB for an array\n"),
        (
            ImportError("a.so: no memory"),
            1,
            "error: cannot import a package, which is damaged or lacks memory (a.so: no memory)\n",
        ),
        (BrokenPipeError(errno.EPIPE, "Broken pipe"), 141, ""),
    ],
)
def test_a_failure_is_one_sentence_and_a_status(
    failure: BaseException, status: int, message: str
) -> None:
    result = runner.invoke(application(lambda: failure), ["run"])
    assert result.exit_code == status
    assert result.stderr == message
    assert result.stdout == "result\n"


@pytest.mark.parametrize(
    ("words", "status", "message"),
    [
        (("--format", "xls"), 1, "--format xls: expected one of jsonl, csv"),
        (("--text-column", "a,a"), 1, "--text-column a,a: expected non-empty names without"),
        (("--label-column", ""), 1, "--label-column : expected non-empty names without"),
        (("--threshold", "-1"), 2, "--threshold -1: expected at least 0"),
        (("--max-bytes", "0"), 1, "--max-bytes 0: expected a size of 1 bytes"),
        (("--threshold", "1", "--max-bytes", "1MB"), 1, "--threshold and --max-bytes exclude"),
    ],
)
def test_wrong_options_are_named_as_they_were_typed(
    words: tuple[str, ...], status: int, message: str, text_model: Path, tmp_path: Path
) -> None:
    found = run_command("compact", text_model, "-o", tmp_path / "small.lg", *words, status=status)
    assert f"error: {message}" in found.stderr


def test_ctrl_c_while_the_commands_are_built_ends_quietly(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("typer.main.get_command", interrupted)
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 130


def test_a_fault_of_our_own_asks_for_a_report() -> None:
    result = runner.invoke(application(lambda: ZeroDivisionError("division")), ["run"])
    assert result.exit_code == 1
    assert result.stderr.startswith("error: internal error (ZeroDivision")
    assert "--debug" in result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize("words", [["--debug", "run"], ["run", "--debug"]])
def test_debug_lets_the_exception_through(words: list[str]) -> None:
    result = runner.invoke(application(lambda: ZeroDivisionError("division")), words)
    assert isinstance(result.exception, ZeroDivisionError)


def test_debug_of_one_run_is_forgotten_by_the_next() -> None:
    app = application(lambda: ZeroDivisionError("division"))
    runner.invoke(app, ["run", "--debug"])
    assert isinstance(runner.invoke(app, ["run"]).exception, SystemExit)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["run", "--cuont", "3"], "no such option: --cuont"),
        (["run", "--count", "many"], "--count"),
        (["rum"], "no such command 'rum'"),
        (["run", "surplus"], "surplus"),
    ],
)
def test_a_wrong_command_line_is_one_sentence_too(words: list[str], message: str) -> None:
    result = runner.invoke(application(lambda: None), words)
    assert result.exit_code == 2
    assert message in result.stderr
    assert "--help'" in result.stderr
    assert result.stderr.count("\n") == 1
    assert result.stdout == ""
