"""Kill the service at random instants, again and again, and check that it loses nothing.

Clients send examples, each with an idempotency key, and forget some of them. SIGKILL hits the
service at any moment: while it starts, commits, learns, writes a snapshot, forgets or rebuilds.
After each kill, every acknowledged example must be in the log exactly once and no forgotten one
may be left. The model that a restart would build from snapshots and log must equal, byte for byte,
the model of an uninterrupted run. ``--lost-writes`` also simulates a power cut: it drops writes
that had not been flushed when the kill came, whole or by random pages.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any

import labelgrove.service._database as database
from benchmarks._results import write
from labelgrove.service import Service, Settings, serve
from labelgrove.service._database import reading
from labelgrove.service._events import body_of
from labelgrove.service._history import History
from labelgrove.service._model import Learner

SETTINGS = Settings(
    estimator={"arity": 8, "max_leaves": 8}, text={"n_features": 2**12}, snapshot_every=40
)
CLIENTS = 3
PAGE = 4096
WORDS = [f"word{i}" for i in range(200)]
LABELS = [f"label{i}" for i in range(30)]


class Failure(AssertionError):
    """A violated guarantee."""


@dataclass
class Sent:
    """Requests that clients have sent, and the outcomes they know of."""

    acknowledged: dict[str, str] = field(default_factory=dict)
    uncertain: dict[str, tuple[str, bytes]] = field(default_factory=dict)
    forgotten: set[str] = field(default_factory=set)
    perhaps_forgotten: set[str] = field(default_factory=set)
    failures: list[Failure] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)


# --- the service, in a process of its own --------------------------------------------------------


def run_service(directory: Path, pipe: Any) -> None:
    """Serve until killed; send the port through the pipe as soon as it is known."""
    service = Service(directory)
    if not service.names():
        service.create("demo", SETTINGS)
    service.begin()
    serve(service, "127.0.0.1", 0, lambda address: pipe.send(int(address.rpartition(":")[2])))


# --- clients -------------------------------------------------------------------------------------


def client(port: int, number: str, sent: Sent, stop: threading.Event) -> None:
    """Send examples until told to stop or until the service stops answering."""
    draw = random.Random(number)
    connection = HTTPConnection("127.0.0.1", port, timeout=60)
    with sent.lock:
        again = [key for key in sent.uncertain if draw.random() < 0.5]
    try:
        for turn in range(10_000):
            if stop.is_set():
                return
            if again:
                key = again.pop()
                with sent.lock:
                    if key not in sent.uncertain:
                        continue
                    name, body = sent.uncertain[key]
            else:
                key = name = f"{number}-{turn}"
                text = f"{' '.join(draw.choices(WORDS, k=8))} {name}"
                one = {"id": name, "text": text, "labels": draw.sample(LABELS, 2)}
                body = json.dumps({"examples": [one]}).encode()
                with sent.lock:
                    sent.uncertain[key] = (name, body)
            ask(connection, "POST", "/v1/projects/demo/examples", body, key)
            with sent.lock:
                sent.uncertain.pop(key, None)
                sent.acknowledged[name] = key
            act(connection, draw, name, sent)
    except (OSError, HTTPException):
        return
    except Failure as failure:
        sent.failures.append(failure)
    finally:
        connection.close()


def act(connection: HTTPConnection, draw: random.Random, name: str, sent: Sent) -> None:
    """Occasionally forget an example, take a snapshot or rebuild the tree."""
    chance = draw.random()
    if chance < 0.02:
        with sent.lock:
            sent.perhaps_forgotten.add(name)
        ask(connection, "DELETE", f"/v1/projects/demo/examples/{name}", None, f"forget {name}")
        with sent.lock:
            sent.forgotten.add(name)
    elif chance < 0.04:
        ask(connection, "POST", "/v1/projects/demo/snapshots", None, None)
    elif chance < 0.042:
        ask(connection, "POST", "/v1/projects/demo/rebuild", None, None)


def ask(
    connection: HTTPConnection, method: str, path: str, body: bytes | None, key: str | None
) -> None:
    """Send a request; raise unless the answer is success (200) or a conflict (409)."""
    headers = {"Content-Type": "application/json"} | ({"Idempotency-Key": key} if key else {})
    connection.request(method, path, body, headers)
    answer = connection.getresponse()
    content = answer.read()
    if answer.status >= 500 and answer.status not in {503, 507}:
        raise Failure(f"{method} {path}: {answer.status} {content!r}")
    if answer.status not in {200, 409}:
        raise ConnectionError(answer.status)


# --- checks after a kill -------------------------------------------------------------------------


class Witness:
    """The model of an uninterrupted run."""

    def __init__(self, empty: Path) -> None:
        self._empty = empty
        self._learner = Learner(SETTINGS)

    def check(self, folder: Path, sent: Sent) -> int:
        """Check log and model against the acknowledged requests; return the last sequence."""
        with reading(folder / "log.sqlite") as read:
            rows = read(0, -1)
            controls = [row for row in rows if row.kind not in {"learn", "forgotten"}]
            self._check_log(rows, sent)
            head = rows[-1].sequence
            history = History(self._empty, SETTINGS, controls, read)
            fresh = rows[self._learner.sequence :]
            if any(row.kind == "forget" for row in fresh):
                self._learner = history.model_at(head)
            else:
                history.advance(self._learner, fresh)
            served = History(folder, SETTINGS, controls, read).model_at(head)
        if served.fingerprint() != self._learner.fingerprint():
            raise Failure(f"event {head}: the model differs from that of an uninterrupted run")
        return head

    def _check_log(self, rows: Sequence[Any], sent: Sent) -> None:
        stored = Counter(row.name for row in rows if row.kind == "learn")
        texts = Counter(body_of(row).text for row in rows if row.kind == "learn")
        twice = [text for text, count in texts.items() if count > 1]
        lost = sent.acknowledged.keys() - stored.keys() - sent.perhaps_forgotten
        kept = sent.forgotten & stored.keys()
        if twice or lost or kept:
            raise Failure(
                f"{len(twice)} examples duplicated, {len(lost)} acknowledged ones lost, "
                f"{len(kept)} forgotten ones still present"
            )


def drop_unflushed(directory: Path, kept: Path, draw: random.Random) -> None:
    """Reset files to content that a power cut could have left."""
    by_pages = draw.random() < 0.5
    for path in directory.rglob("*"):
        if not path.is_file() or path.name == "lock":
            continue
        if path.name.endswith("-shm"):  # shared memory, never flushed
            path.unlink()
            continue
        image = kept / str(path).replace("/", "%")
        flushed = image.read_bytes() if image.exists() else b""
        now = path.read_bytes()
        if now == flushed:
            continue
        if by_pages:
            size = len(flushed) if draw.random() < 0.5 else max(len(now), len(flushed))
            pages = [
                (now if draw.random() < 0.5 else flushed)[at : at + PAGE].ljust(PAGE, b"\0")
                for at in range(0, size, PAGE)
            ]
            flushed = b"".join(pages)[:size]
        path.write_bytes(flushed)


# --- rounds --------------------------------------------------------------------------------------


def rounds(count: int, seconds: float, directory: Path, kept: Path | None, seed: int) -> Any:
    """Start, send, kill and check, up to ``count`` times or until the time is up."""
    draw = random.Random(seed)
    context = multiprocessing.get_context("fork")
    sent, head, during_start = Sent(), 0, 0
    empty = directory / "empty"
    empty.mkdir(parents=True)
    served = directory / "served"
    witness = Witness(empty)
    begun, done = time.monotonic(), 0
    while done < count and time.monotonic() - begun < seconds:
        here, there = context.Pipe(duplex=False)
        process = context.Process(target=run_service, args=(served, there))
        process.start()
        there.close()
        clients: list[threading.Thread] = []
        at_start = done > 0 and draw.random() < 0.2
        during_start += at_start
        if at_start:
            time.sleep(draw.random() * 0.1)
        else:
            clients = send(here.recv(), f"{done}", sent, draw)
        assert process.pid is not None
        os.kill(process.pid, signal.SIGKILL)
        process.join()
        here.close()
        for one in clients:
            one.join()
        if sent.failures:
            raise sent.failures[0]
        stop_builders(served)
        if kept is not None:
            drop_unflushed(served, kept, draw)
        if (served / "projects/demo/log.sqlite").exists():
            head = witness.check(served / "projects/demo", sent)
        done += 1
    return {
        "kills": done,
        "during start-up": during_start,
        "acknowledged": len(sent.acknowledged),
        "forgotten": len(sent.forgotten),
        "never answered": len(sent.uncertain),
        "events": head,
    }


def send(port: int, number: str, sent: Sent, draw: random.Random) -> list[threading.Thread]:
    """Let clients send until the kill, which hits them while they wait for answers."""
    stop = threading.Event()
    clients = [
        threading.Thread(target=client, args=(port, f"{number}.{i}", sent, stop))
        for i in range(CLIENTS)
    ]
    for one in clients:
        one.start()
    end = time.monotonic() + 60
    while not (sent.acknowledged or sent.failures) and time.monotonic() < end:
        time.sleep(0.01)  # in the first round, until there is something to lose
    time.sleep(draw.random() ** 2 * 0.8)
    stop.set()
    return clients


def stop_builders(directory: Path) -> None:
    """Kill processes that still build a tree for a killed service."""
    for about in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = about.read_bytes().split(b"\0")
        except OSError:
            continue
        if b"-c" in words and any(word.startswith(os.fsencode(directory)) for word in words):
            os.kill(int(about.parent.name), signal.SIGKILL)


def preloaded(words: Sequence[str], folder: Path) -> int:
    """Rerun this program with a preloaded library that keeps the flushed content of files."""
    library = folder / "lost_writes.so"
    source = Path(__file__).with_name("_lost_writes.c")
    compiler = shutil.which("cc")
    if compiler is None:
        raise SystemExit("--lost-writes needs a C compiler, cc")
    options = ["-shared", "-fPIC", "-pthread", "-O1"]
    subprocess.run([compiler, *options, "-o", library, source, "-ldl"], check=True)
    (folder / "kept").mkdir()
    environment = os.environ | {
        "LD_PRELOAD": library.name,  # a path with spaces would be several libraries
        "LD_LIBRARY_PATH": f"{folder}:{os.environ.get('LD_LIBRARY_PATH', folder)}",
        "LOST_WRITES_IN": str(folder / "run"),
        "LOST_WRITES_KEPT": str(folder / "kept"),
    }
    again = [sys.executable, "-m", "benchmarks.crash", *words]
    return subprocess.run(again, env=environment, check=False).returncode


def main(words: Sequence[str] | None = None) -> None:
    """Run from the command line."""
    words = sys.argv[1:] if words is None else words
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--kills", type=int, default=300)
    parser.add_argument("--seconds", type=float, default=1800, help="stop after this time")
    parser.add_argument("--lost-writes", action="store_true")
    parser.add_argument("--unsafe", action="store_true", help="never flush: the check must fail")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--output", type=Path, help="directory of the result")
    asked = parser.parse_args(words)
    inside = os.environ.get("LOST_WRITES_KEPT")
    if asked.lost_writes and inside is None:
        with tempfile.TemporaryDirectory(prefix="lost writes ") as folder:
            raise SystemExit(preloaded(words, Path(folder)))
    if asked.unsafe:
        database._SYNCHRONOUS = "OFF"  # noqa: SLF001  there is no such option
    with tempfile.TemporaryDirectory() as folder:
        kept = Path(inside) if inside else None
        directory = kept.parent / "run" if kept else Path(folder) / "run"
        found = rounds(asked.kills, asked.seconds, directory, kept, asked.seed)
    lost = kept is not None
    print(json.dumps({"lost writes": lost, **found}))
    if asked.output and not asked.unsafe:
        write(asked.output, "service", "crash-lost-writes" if lost else "crash", found)


if __name__ == "__main__":
    main()
