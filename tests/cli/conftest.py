from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from labelgrove.cli.commands import app

LABELS = [f"topic-{number:02d}" for number in range(40)]


def text_examples(number: int, *, labels: Sequence[str] = LABELS, seed: int = 0) -> list[Any]:
    """Texts whose words reveal their labels: five words per label, mixed with common ones."""
    chance = random.Random(seed)
    examples = []
    for _ in range(number):
        chosen = chance.sample(list(labels), chance.choice([1, 1, 2]))
        words = [f"{label.replace('-', '')}w{chance.randrange(5)}" for label in chosen * 3]
        words += [f"common{chance.randrange(30)}" for _ in range(4)]
        chance.shuffle(words)
        examples.append({"text": " ".join(words), "labels": chosen})
    return examples


def write_jsonl(path: Path, examples: Sequence[Any]) -> Path:
    path.write_text("".join(json.dumps(example) + "\n" for example in examples), encoding="utf-8")
    return path


def write_texts(path: Path, number: int, **options: Any) -> Path:
    return write_jsonl(path, text_examples(number, **options))


def write_xmlc(path: Path, number: int = 300, *, seed: int = 0) -> Path:
    """Rows whose features 3·l, 3·l+1 and 3·l+2 indicate label l; some rows have no label."""
    chance = random.Random(seed)
    lines = [f"{number} 61 20"]
    for row in range(number):
        labels = [] if row % 25 == 24 else sorted(chance.sample(range(20), chance.choice([1, 2])))
        features = sorted({3 * label + chance.randrange(3) for label in labels} | {60})
        values = " ".join(f"{feature}:{chance.choice([0.5, 1, 2])}" for feature in features)
        lines.append(f"{','.join(map(str, labels))} {values}")
    path.write_text("\n".join(lines) + "\n")
    return path


def run(
    *words: str | Path,
    status: int = 0,
    input: str | bytes | None = None,  # noqa: A002
) -> Result:
    """Run a command line in this process."""
    runner = CliRunner(env={"COLUMNS": "100", "NO_COLOR": None, "FORCE_COLOR": None})
    result = runner.invoke(app, [str(word) for word in words], input=input)
    assert result.exit_code == status, result.output
    return result


def as_json(*words: str | Path, **options: Any) -> Any:
    """The result of a command line with ``--json``."""
    return json.loads(run(*words, "--json", **options).stdout)


def as_json_lines(*words: str | Path, **options: Any) -> list[Any]:
    """The objects that ``labelgrove predict`` writes."""
    return [json.loads(line) for line in run(*words, **options).stdout.splitlines()]


@pytest.fixture
def texts(tmp_path: Path) -> Path:
    return write_texts(tmp_path / "texts.jsonl", 400)


@pytest.fixture
def vectors(tmp_path: Path) -> Path:
    return write_xmlc(tmp_path / "vectors.txt")


@pytest.fixture(scope="session")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a model of the texts and one of the vectors."""
    folder = tmp_path_factory.mktemp("trained")
    texts = write_texts(folder / "texts.jsonl", 400)
    run("train", texts, "-o", folder / "text.lg")
    run("train", write_xmlc(folder / "vectors.txt"), "-o", folder / "vector.lg")
    return folder


@pytest.fixture
def text_model(trained: Path, texts: Path) -> Path:
    return Path(shutil.copy(trained / "text.lg", texts.with_name("text.lg")))


@pytest.fixture
def vector_model(trained: Path, vectors: Path) -> Path:
    return Path(shutil.copy(trained / "vector.lg", vectors.with_name("vector.lg")))


@pytest.fixture
def start(warm: Sequence[str]) -> Iterator[Callable[..., subprocess.Popen[bytes]]]:
    """Start the command line as a process of its own, not on a terminal."""
    with ExitStack() as running:

        def popen(*words: str | Path, **options: Any) -> subprocess.Popen[bytes]:
            command = [*warm, "-m", "labelgrove", *map(str, words)]
            # Buffered, as for users: a failure of the last flush must be reported.
            kept = {k: v for k, v in os.environ.items() if k != "PYTHONUNBUFFERED"}
            pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
            options = {**pipes, "env": kept, **options}
            process = running.enter_context(subprocess.Popen(command, **options))
            running.callback(process.kill)
            return process

        yield popen
