"""Which operations have become slower or faster from one commit to another."""

from __future__ import annotations

import argparse
import subprocess
import tempfile
from collections.abc import Sequence
from statistics import median

from benchmarks._data import ROOT
from benchmarks._environments import Environment, run
from benchmarks._measure import git

GROUPS = ("models", "inputs", "texts", "judging", "commands")


def build(commit: str) -> Environment:
    """The environment with LabelGrove as of a commit, compiled when first needed."""
    commit = git("rev-parse", "--short=10", commit)
    with tempfile.TemporaryDirectory() as folder:
        environment = Environment(f"labelgrove-{commit}", ((folder,),))
        if not environment.folder.exists():
            packed = subprocess.run(
                ["git", "archive", commit], cwd=ROOT, check=True, stdout=subprocess.PIPE
            )
            subprocess.run(["tar", "-x", "-C", folder], input=packed.stdout, check=True)
            environment.install()
    return environment


def compare(before: str, after: str, groups: Sequence[str], part: str, turns: int) -> list[str]:
    """Measure both commits in turns; a line per operation, the most slowed down first."""
    seconds: tuple[list[dict[str, float]], list[dict[str, float]]] = ([], [])
    environments = build(before), build(after)
    for turn in range(turns):
        for environment, found in zip(environments, seconds, strict=True):
            print(f"turn {turn + 1} of {turns}: {environment.name}", flush=True)
            found.append(run(environment, "operations", groups=list(groups), wanted=part))
    lines = []
    for name in seconds[0][0].keys() & seconds[1][0].keys():
        old, new = (median(one[name] for one in found) for found in seconds)
        lines.append((new / old, f"{new / old:6.2f}  {1e3 * old:9.2f}  {1e3 * new:9.2f}  {name}"))
    return [line for _, line in sorted(lines, reverse=True)]


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the ratio of processor times, the times in ms, and the operation."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.since", description=__doc__)
    parser.add_argument("before", help="the earlier commit")
    parser.add_argument("after", nargs="?", default="HEAD", help="the later commit (HEAD)")
    parser.add_argument("--groups", nargs="+", choices=GROUPS, default=GROUPS, help="what to run")
    parser.add_argument("--only", default="", metavar="PART", help="operations named like this")
    parser.add_argument("--turns", type=int, default=3, help="processes of each commit (3)")
    chosen = parser.parse_args(arguments)
    lines = compare(chosen.before, chosen.after, chosen.groups, chosen.only, chosen.turns)
    print("\n".join([f"{'ratio':>6}  {'before':>9}  {'after':>9}  operation", *lines]))


if __name__ == "__main__":
    main()
