"""The unit with which systemd runs the service."""

from __future__ import annotations

from pathlib import Path

UNIT = Path(__file__).parents[2] / "deploy" / "labelgrove.service"


def test_a_system_call_that_the_unit_forbids_is_refused_and_does_not_kill_the_service() -> None:
    lines = UNIT.read_text().splitlines()
    # NumPy's OpenBLAS calls mbind as soon as it is imported, and goes on if that is refused.
    assert "SystemCallFilter=~@privileged @resources" in lines
    assert "SystemCallErrorNumber=EPERM" in lines
