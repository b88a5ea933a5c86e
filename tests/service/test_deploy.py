"""The unit with which systemd runs the service, and its image."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).parents[2]
UNIT = ROOT / "deploy" / "labelgrove.service"


def test_a_system_call_that_the_unit_forbids_is_refused_and_does_not_kill_the_service() -> None:
    lines = UNIT.read_text().splitlines()
    # NumPy's OpenBLAS calls mbind as soon as it is imported, and goes on if that is refused.
    assert "SystemCallFilter=~@privileged @resources" in lines
    assert "SystemCallErrorNumber=EPERM" in lines


def test_an_image_is_built_from_sources_and_waits_for_models() -> None:
    everything, *others = [
        line for line in (ROOT / ".dockerignore").read_text().splitlines() if line[0] != "#"
    ]
    let_in = {line[1:] for line in others if line[0] == "!"}
    assert everything == "*" and all((ROOT / path).exists() for path in let_in)
    assert {"src", "bindings", "cmake", "core/src", "core/include", "pyproject.toml"} <= let_in
    assert "HEALTHCHECK --start-period=" in (ROOT / "deploy" / "Dockerfile").read_text()
