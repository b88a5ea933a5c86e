"""A leader and two followers under steady load: no losses, equal models, steady memory.

Clients send examples to the leader at a steady pace, occasionally forget one, and query all three
servers; halfway, a follower is stopped and restarted. At the end every acknowledged example must
be in all three logs exactly once, no forgotten one may be left, and the three fingerprints must be
equal. Memory apart from the models is recorded along the way.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks._results import RESULTS, write
from benchmarks.service import Server
from labelgrove.client import Client
from labelgrove.service import Settings
from labelgrove.service._database import reading

SETTINGS = Settings(text={"n_features": 2**14}, snapshot_every=5_000)
CLIENTS = 3
PLACES = ("leader", "follower 1", "follower 2")
WORDS = [f"word{i}" for i in range(2_000)]
LABELS = [f"label{i}" for i in range(200)]
SAMPLES = 12


@dataclass
class Sent:
    """What the leader has acknowledged."""

    names: list[str] = field(default_factory=list)
    forgotten: list[str] = field(default_factory=list)
    asked: int = 0
    failures: list[BaseException] = field(default_factory=list)


def teach(url: str, number: int, pace: float, end: float, sent: Sent) -> None:
    """Send ``pace`` examples per second, and forget one in five thousand."""
    draw = random.Random(number)
    try:
        with Client(url, "demo") as client:
            for turn in range(sys.maxsize):
                if time.monotonic() > end:
                    return
                name, label = f"{number}-{turn}", draw.randrange(len(LABELS))
                words = draw.choices(WORDS, k=6) + draw.choices(WORDS[10 * label :][:10], k=6)
                client.learn([f"{name} {' '.join(words)}"], [[LABELS[label]]], [name])
                sent.names.append(name)
                if draw.random() < 1 / 5_000:
                    client.forget(name)
                    sent.forgotten.append(name)
                time.sleep(draw.expovariate(pace))
    except BaseException as failure:  # noqa: BLE001  raised again by `soak`
        sent.failures.append(failure)


def ask(servers: Sequence[Server], end: float, sent: Sent) -> None:
    """Query the servers in turn; skip a follower that is being restarted."""
    draw = random.Random(0)
    clients: dict[str, Client] = {}
    while time.monotonic() < end:
        for server in servers:
            try:
                if server.url not in clients:
                    clients[server.url] = Client(server.url, "demo", timeout=10)
                clients[server.url].suggest(" ".join(draw.choices(WORDS, k=8)))
                sent.asked += 1
            except Exception as failure:  # noqa: BLE001
                if server is servers[0]:
                    sent.failures.append(failure)
            time.sleep(0.02)
    for client in clients.values():
        client.close()


def stats(server: Server, *, fingerprint: bool = False) -> dict[str, Any]:
    """The statistics of a server."""
    with Client(server.url, "demo") as client:
        asked = {"fingerprint": str(fingerprint).lower()}
        found: dict[str, Any] = json.loads(client.content("GET", "/stats", params=asked))
    return found


def soak(directory: Path, minutes: float, pace: float) -> dict[str, Any]:
    """Run the soak test; raise AssertionError if a check fails."""
    leader = Server(directory / PLACES[0], SETTINGS)
    servers = [leader, *(Server(directory / one, SETTINGS, leader.url) for one in PLACES[1:])]
    begun, sent = time.monotonic(), Sent()
    end = begun + 60 * minutes
    workers = [
        threading.Thread(target=teach, args=(leader.url, i, pace / CLIENTS, end, sent))
        for i in range(CLIENTS)
    ]
    workers.append(threading.Thread(target=ask, args=(servers, end, sent)))
    for one in workers:
        one.start()
    samples: list[dict[str, Any]] = []
    for i in range(1, SAMPLES + 1):
        time.sleep(max(0.0, begun + 60 * minutes * i / SAMPLES - time.monotonic()))
        if i == SAMPLES // 2:
            servers[2].stop()
            servers[2] = Server(directory / PLACES[2], SETTINGS, leader.url)
        elif not sent.failures:
            samples.append(sample(servers, begun, sent))
            print(json.dumps(samples[-1]), file=sys.stderr, flush=True)
    for one in workers:
        one.join()
    if sent.failures:
        raise sent.failures[0]
    final = settled(servers)
    for server in servers:
        server.stop()
    for place in PLACES:
        check_log(directory / place / "projects/demo/log.sqlite", sent)
    return {
        "minutes": minutes,
        "acknowledged": len(sent.names),
        "forgotten": len(sent.forgotten),
        "suggestions": sent.asked,
        "sequence": final["sequence"],
        "fingerprint": final["fingerprint"],
        "samples": samples,
    }


def sample(servers: Sequence[Server], begun: float, sent: Sent) -> dict[str, Any]:
    """Memory now: megabytes of each process, of its model, and the rest."""
    found: dict[str, Any] = {"minute": round((time.monotonic() - begun) / 60, 1)}
    found["acknowledged"] = len(sent.names)
    for place, server in zip(PLACES, servers, strict=True):
        model = stats(server)["model_bytes"] / 1e6
        memory = server.memory()
        found[place] = {
            "memory_mb": round(memory, 1),
            "model_mb": round(model, 1),
            "rest_mb": round(memory - model, 1),
        }
    return found


def settled(servers: Sequence[Server]) -> dict[str, Any]:
    """Wait until all servers have the whole log; the models must be equal."""
    end = time.monotonic() + 300
    while time.monotonic() < end:
        found = [stats(server, fingerprint=True) for server in servers]
        if all(one["sequence"] == found[0]["head"] for one in found):
            prints = {one["fingerprint"] for one in found}
            assert len(prints) == 1, f"the fingerprints differ: {sorted(prints)}"
            return found[0]
        time.sleep(0.2)
    raise AssertionError("the followers have not caught up in five minutes")


def check_log(path: Path, sent: Sent) -> None:
    """Check that the log has every acknowledged example once, and no forgotten one."""
    with reading(path) as read:
        stored = Counter(row.name for row in read(0, -1) if row.kind == "learn")
    expected = Counter(sent.names) - Counter(sent.forgotten)
    assert stored == expected, f"{path}: {len(stored)} examples; expected {len(expected)}"


def main(words: Sequence[str] | None = None) -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--pace", type=float, default=50.0, help="examples per second")
    parser.add_argument("--output", type=Path, default=RESULTS, help="directory of the result")
    asked = parser.parse_args(sys.argv[1:] if words is None else words)
    with tempfile.TemporaryDirectory() as folder:
        found = soak(Path(folder), asked.minutes, asked.pace)
    print(json.dumps(found, indent=1))
    write(asked.output, "service", "soak", found)


if __name__ == "__main__":
    main()
