"""The service under load: suggestions and learning a second, and how long they take."""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import os
import signal
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import numpy as np

from labelgrove.data import open_examples
from labelgrove.service import Service, Settings, serve

KNOWN = 20_000
"""Examples that the model has learnt before."""

CONNECTIONS = (1, 8, 64)
BATCH = 500


def run_service(directory: Path, told: Any) -> None:
    """Serve until SIGTERM."""
    service = Service(directory)
    if not service.names():
        service.create("demo", Settings(snapshot_every=1_000_000))
    service.begin()
    serve(service, "127.0.0.1", 0, lambda address: told.send(int(address.rpartition(":")[2])))


class Server:
    """A service in a process of its own."""

    def __init__(self, directory: Path) -> None:
        context = multiprocessing.get_context("fork")
        here, there = context.Pipe(duplex=False)
        begun = time.perf_counter()
        self.process = context.Process(target=run_service, args=(directory, there))
        self.process.start()
        self.port = here.recv()
        self.seconds = time.perf_counter() - begun

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
        """End it in good order."""
        assert self.process.pid is not None
        os.kill(self.process.pid, signal.SIGTERM)
        self.process.join()


# --- requests ------------------------------------------------------------------------------------


def request(path: str, kind: str, body: bytes) -> bytes:
    """A request, ready to be sent."""
    return (
        f"POST /v1/projects/demo/{path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: {kind}\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    ).encode() + body


def suggesting(text: str) -> bytes:
    """Ask for five labels."""
    return request(
        "suggest",
        "application/x-www-form-urlencoded",
        urlencode({"text": text, "limit": 5}).encode(),
    )


def teaching(examples: Sequence[tuple[str, Sequence[str]]], wait: str = "durable") -> bytes:
    """Send examples."""
    content = {"examples": [{"text": text, "labels": labels} for text, labels in examples]}
    return request(f"examples?wait={wait}", "application/json", json.dumps(content).encode())


async def connection(
    port: int, requests: Sequence[bytes], begin: int, until: Callable[[], bool]
) -> list[float]:
    """Send one request after another; how long each of them took."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    seconds, place = [], begin
    while not until():
        started = time.perf_counter()
        writer.write(requests[place % len(requests)])
        head = await reader.readuntil(b"\r\n\r\n")
        length = int(head.lower().partition(b"content-length: ")[2].split(b"\r\n", 1)[0])
        said = await reader.readexactly(length)
        if b" 200 " not in head[:20]:
            raise RuntimeError(said.decode())
        seconds.append(time.perf_counter() - started)
        place += 1
    writer.close()
    return seconds


def load(
    server: Server, requests: Sequence[bytes], connections: int, seconds: float
) -> dict[str, float]:
    """Requests a second, the times of the slowest, and what one costs the service."""

    async def run() -> list[list[float]]:
        end = time.perf_counter() + seconds
        waiting: list[Awaitable[list[float]]] = [
            connection(server.port, requests, 7919 * i, lambda: time.perf_counter() >= end)
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


def learn_until(port: int, requests: Sequence[bytes], stop: Any) -> None:
    """Teach without a pause until told to stop."""
    asyncio.run(connection(port, requests, 0, stop.is_set))


# --- the measurement -----------------------------------------------------------------------------


def measure(directory: Path, path: Path, seconds: float, known: int) -> dict[str, Any]:
    """All figures."""
    examples = read(path)
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
    found["memory_mb"] = server.memory()
    server.stop()
    server = Server(directory)
    found["start_up_s"] = server.seconds
    found["model_mb"] = (
        max(one.stat().st_size for one in (directory / "projects/demo").glob("*.lg")) / 1e6
    )
    server.stop()
    return found


def read(path: Path) -> list[tuple[str, list[str]]]:
    """Texts and labels of a file."""
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
    """Milliseconds that the disk takes to flush a small write, the median."""
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
    parser.add_argument("--seconds", type=float, default=5.0, help="for each figure")
    parser.add_argument("--known", type=int, default=KNOWN)
    parser.add_argument("--output", help="write the result here as well")
    asked = parser.parse_args(sys.argv[1:] if words is None else words)
    with tempfile.TemporaryDirectory() as folder:
        found = measure(Path(folder) / "served", Path(asked.data), asked.seconds, asked.known)
    told = json.dumps(found, indent=1)
    print(told)
    if asked.output:
        Path(asked.output).write_text(told, encoding="utf-8")


if __name__ == "__main__":
    main()
