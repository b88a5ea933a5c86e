from __future__ import annotations

from pathlib import Path

import pytest

from labelgrove import MissingDependencyError
from labelgrove._optional import optional


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("import lg_absent", "No module named 'lg_absent'"),
        ("raise ImportError('GLIBC_2.34 not found', name=__name__)", "GLIBC_2.34 not found"),
    ],
)
def test_a_broken_package_is_not_called_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str, reason: str
) -> None:
    (tmp_path / "lg_broken.py").write_text(source, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(MissingDependencyError) as failure:
        optional("lg_broken", "a report", "report")
    expected = f"a report needs the package lg_broken, which cannot be imported: {reason}"
    assert str(failure.value) == expected


@pytest.mark.parametrize("module", ["lg_absent", "lg_absent.inner"])
def test_a_missing_package(module: str) -> None:
    with pytest.raises(MissingDependencyError, match=r"needs the package lg_absent; install it"):
        optional(module, "a report", "report")
