"""The service under load: throughput and latency of suggestions and learning."""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import multiprocessing
import os
import random
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import urlencode

import numpy as np

from benchmarks._results import RESULTS, write
from labelgrove.client import Client
from labelgrove.data import open_examples
from labelgrove.service import Service, Settings, serve

KNOWN = 20_000
"""Examples that the model learns beforehand."""

CONNECTIONS = (1, 8, 64)
BATCH = 500
SETTINGS = Settings(snapshot_every=1_000_000)
MOST_GROWING = 120.0
"""Longest time to grow the large model, in seconds."""


def run_service(directory: Path, pipe: Any, settings: Settings, leader: str | None) -> None:
    """Serve until SIGTERM."""
    service = Service(directory, leader=leader)
    if leader is None and not service.names():
        service.create("demo", settings)
    service.begin()
    serve(service, "127.0.0.1", 0, lambda address: pipe.send(int(address.rpartition(":")[2])))


class Server:
    """A service in a process of its own."""

    def __init__(
        self, directory: Path, settings: Settings = SETTINGS, leader: str | None = None
    ) -> None:
        context = multiprocessing.get_context("fork")
        here, there = context.Pipe(duplex=False)
        begun = time.perf_counter()
        arguments = (directory, there, settings, leader)
        self.process = context.Process(target=run_service, args=arguments)
        self.process.start()
        self.port = here.recv()
        self.seconds = time.perf_counter() - begun

    @property
    def url(self) -> str:
        """The address of the service."""
        return f"http://127.0.0.1:{self.port}"

    def memory(self) -> float:
        """Resident megabytes."""
        lines = Path(f"/proc/{self.process.pid}/status").read_text().splitlines()
        [line] = [line for line in lines if line.startswith("VmRSS")]
        return int(line.split()[1]) / 1000

    def cpu(self) -> float:
        """Processor seconds that it has taken."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def stop(self) -> None:
        """Stop the service cleanly."""
        assert self.process.pid is not None
        os.kill(self.process.pid, signal.SIGTERM)
        self.process.join()


# --- requests ------------------------------------------------------------------------------------


def request(path: str, kind: str, body: bytes, project: str = "demo") -> bytes:
    """The bytes of a request."""
    return (
        f"POST /v1/projects/{project}/{path} HTTP/1.1\r\nHost: localhost\r\n"
        f"Content-Type: {kind}\r\nContent-Length: {len(body)}\r\n\r\n"
    ).encode() + body


def suggesting(text: str, project: str = "demo") -> bytes:
    """A request for five suggestions."""
    form = urlencode({"text": text, "limit": 5}).encode()
    return request("suggest", "application/x-www-form-urlencoded", form, project)


def teaching(examples: Sequence[tuple[str, Sequence[str]]], wait: str = "durable") -> bytes:
    """A request that sends examples to learn."""
    content = {"examples": [{"text": text, "labels": labels} for text, labels in examples]}
    return request(f"examples?wait={wait}", "application/json", json.dumps(content).encode())


async def connection(
    port: int, requests: Sequence[bytes], begin: int, until: Callable[[], bool]
) -> list[float]:
    """Send one request after another; return the seconds of each."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    seconds, place = [], begin
    while not until():
        started = time.perf_counter()
        writer.write(requests[place % len(requests)])
        head = await reader.readuntil(b"\r\n\r\n")
        length = int(head.lower().partition(b"content-length: ")[2].split(b"\r\n", 1)[0])
        body = await reader.readexactly(length)
        if b" 200 " not in head[:20]:
            raise RuntimeError(body.decode())
        seconds.append(time.perf_counter() - started)
        place += 1
    writer.close()
    return seconds


class Loaded(Protocol):
    """A service that `load` can measure."""

    port: int

    def cpu(self) -> float:
        """Processor seconds that it has taken."""


def load(
    server: Loaded,
    requests: Sequence[bytes],
    connections: int,
    seconds: float,
    until: Callable[[], bool] = lambda: False,
) -> dict[str, float]:
    """Requests per second, latency percentiles, and processor time per request."""

    async def run() -> list[list[float]]:
        end = time.perf_counter() + seconds
        waiting: list[Awaitable[list[float]]] = [
            connection(
                server.port,
                requests,
                7919 * i,
                lambda: time.perf_counter() >= end or until(),
            )
            for i in range(connections)
        ]
        return await asyncio.gather(*waiting)

    begun, before = time.perf_counter(), server.cpu()
    times = np.concatenate([np.array(one) for one in asyncio.run(run())]) * 1000
    return {
        "per_second": len(times) / (time.perf_counter() - begun),
        "p50_ms": float(np.percentile(times, 50)),
        "p99_ms": float(np.percentile(times, 99)),
        "service_cpu_us": 1e6 * (server.cpu() - before) / len(times),
    }


def beside(
    server: Server, asked: Sequence[bytes], connections: int, busy: Callable[[], object]
) -> dict[str, float]:
    """Measure the load while ``busy`` runs in another thread."""
    worker = threading.Thread(target=busy)
    worker.start()
    found = load(server, asked, connections, 120, lambda: not worker.is_alive())
    worker.join()
    return found


def learn_until(port: int, requests: Sequence[bytes], stop: Any) -> None:
    """Send examples without pause until told to stop."""
    asyncio.run(connection(port, requests, 0, stop.is_set))


# --- the measurement -----------------------------------------------------------------------------


def measure(directory: Path, path: Path, seconds: float, known: int) -> dict[str, Any]:
    """Measure throughput, latency and start-up."""
    examples = read(path)
    gc.freeze()  # keep the collector of the forked service and of the load from scanning this
    texts = [text for text, _ in examples]
    server = Server(directory)
    port = server.port
    begun = time.perf_counter()
    for begin in range(0, known, BATCH):
        last = begin + BATCH >= known
        one = teaching(examples[begin : begin + BATCH], "applied" if last else "durable")
        asyncio.run(once(port, one))
    found: dict[str, Any] = {"learnt_and_applied_per_second": known / (time.perf_counter() - begun)}
    asked = [suggesting(text) for text in texts[known : known + 2_000]]
    found["suggest"] = {n: load(server, asked, n, seconds) for n in CONNECTIONS}
    single = [teaching([one]) for one in examples[known : known + 20_000]]
    batched = [
        teaching(examples[begin : begin + BATCH])
        for begin in range(known, known + 20 * BATCH, BATCH)
    ]
    context = multiprocessing.get_context("fork")
    found["suggest_while_learning"] = {}
    for n in CONNECTIONS:
        stop = context.Event()
        teacher = context.Process(target=learn_until, args=(port, single, stop))
        teacher.start()
        found["suggest_while_learning"][n] = load(server, asked, n, seconds)
        stop.set()
        teacher.join()
    found["learn_single"] = {n: load(server, single, n, seconds) for n in CONNECTIONS}
    rate = load(server, batched, 4, seconds)
    found["learn_batched"] = {"per_second": rate["per_second"] * BATCH, "p99_ms": rate["p99_ms"]}
    found["learn_batched"]["service_cpu_us"] = rate["service_cpu_us"] / BATCH
    found["flush_ms"] = flush(directory)
    found |= stopped_and_started(server, directory)
    return found


def measure_large(directory: Path, path: Path, megabytes: int) -> dict[str, Any]:
    """Measure suggestions while a snapshot of that size is written, and starting from it."""
    examples = read(path)
    gc.freeze()
    asked = [suggesting(text) for text, _ in examples[:2_000]]
    server = Server(directory)
    with Client(server.url, "demo", timeout=300) as client:
        draw, taught, begun = random.Random(0), 0, time.perf_counter()
        while time.perf_counter() - begun < MOST_GROWING:
            # Merge four examples: every new pair of word and label makes the model larger.
            mixed = [draw.sample(examples, 4) for _ in range(BATCH // 4)]
            client.learn(
                [" ".join(text for text, _ in some) for some in mixed],
                [sorted({label for _, own in some for label in own}) for some in mixed],
                applied=True,
            )
            taught += len(mixed)
            stats = json.loads(client.content("GET", "/stats", params={"fingerprint": "false"}))
            if stats["model_bytes"] >= 1e6 * megabytes:
                break
        found: dict[str, Any] = {"examples": taught, "suggest": {}, "suggest_beside_snapshot": {}}
        for n in (1, 8):
            found["suggest"][n] = load(server, asked, n, 3.0)
            client.learn(*map(list, zip(*examples[:1], strict=True)), applied=True)
            begun = time.perf_counter()
            found["suggest_beside_snapshot"][n] = beside(
                server, asked, n, lambda: client.content("POST", "/snapshots")
            ) | {"snapshot_s": time.perf_counter() - begun}
    return found | stopped_and_started(server, directory)


def stopped_and_started(server: Server, directory: Path) -> dict[str, float]:
    """Restart the service: memory before, snapshot size, and time and memory of the start."""
    found = {"memory_mb": server.memory()}
    server.stop()
    models = (directory / "projects/demo").glob("*.lg")
    found["model_mb"] = max(one.stat().st_size for one in models) / 1e6
    server = Server(directory)
    found |= {"start_up_s": server.seconds, "memory_after_start_mb": server.memory()}
    server.stop()
    return found


def read(path: Path) -> list[tuple[str, list[str]]]:
    """Read the texts and labels of a file."""
    examples: list[tuple[str, list[str]]] = []
    with open_examples(path) as reader:
        for chunk in reader:
            assert chunk.text is not None
            rows = zip(chunk.text, chunk.labels, strict=True)
            examples += [(text, [str(one) for one in own]) for text, own in rows if text and own]
    return examples


async def once(port: int, one: bytes) -> None:
    """Send one request."""
    calls = iter([False, True])
    await connection(port, [one], 0, lambda: next(calls))


def flush(directory: Path) -> float:
    """Median milliseconds to flush a small write to disk."""
    path, times = directory / "flush", []
    with path.open("wb") as file:
        for _ in range(100):
            file.write(b"x" * 4096)
            file.flush()
            begun = time.perf_counter()
            os.fdatasync(file.fileno())
            times.append(time.perf_counter() - begun)
    path.unlink()
    return 1000 * float(np.median(times))


def main(words: Sequence[str] | None = None) -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", help="text examples, such as stackexchange-text's")
    parser.add_argument("--seconds", type=float, default=5.0, help="of load per figure")
    parser.add_argument("--known", type=int, default=KNOWN)
    parser.add_argument(
        "--large", type=int, metavar="MB", help="measure during a snapshot of this size instead"
    )
    parser.add_argument("--output", type=Path, default=RESULTS, help="directory of the result")
    asked = parser.parse_args(sys.argv[1:] if words is None else words)
    with tempfile.TemporaryDirectory() as folder:
        directory, data = Path(folder) / "served", Path(asked.data)
        if asked.large:
            found = measure_large(directory, data, asked.large)
        else:
            found = measure(directory, data, asked.seconds, asked.known)
    print(json.dumps(found, indent=1))
    write(asked.output, "service", "large" if asked.large else "load", found)


if __name__ == "__main__":
    main()
