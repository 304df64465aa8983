"""What to do where a report's library is not installed: a command for this environment, or who can change it."""

from __future__ import annotations

import sys
import sysconfig
from pathlib import Path

import pytest

from paislurm.translator.cli.report import install_hint as module
from paislurm.translator.cli.report.install_hint import REQUIREMENT, install_hint

ROOT = Path(__file__).parents[3]
PIP = f"-m pip install '{REQUIREMENT}'"


@pytest.fixture
def environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an environment with a blank in its path, in which this Python is said to run."""
    folder = tmp_path / "our programs" / "0.1.0"
    (folder / "lib").mkdir(parents=True)
    monkeypatch.setattr(sys, "prefix", str(folder))
    monkeypatch.setattr(sys, "executable", str(folder / "bin" / "python3"))
    monkeypatch.setattr(sysconfig, "get_path", lambda _: str(folder / "lib"))
    return folder


def nobody_writes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module.os, "access", lambda *_: False)


def test_who_may_write_to_the_environment_gets_the_command(environment: Path) -> None:
    assert install_hint() == f"this installs it: '{environment}/bin/python3' {PIP}"


def test_an_environment_without_pip_is_one_of_uv(environment: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "find_spec", lambda _: None)
    assert install_hint() == f"this installs it: uv pip install --python '{environment}/bin/python3' '{REQUIREMENT}'"


def test_an_installation_for_all_is_its_administrators(environment: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nobody_writes(monkeypatch)
    assert install_hint().endswith(f"its administrator adds the library, by '{environment}/bin/python3' {PIP}")
    (environment.parent / "modulefiles").mkdir()
    assert install_hint().endswith(f"by EXTRAS=report install/central.sh '{environment.parent}'")
    assert f"paislurm is in {environment}, where you may not write" in install_hint()


def test_a_python_of_the_system_leaves_it_to_pip(environment: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nobody_writes(monkeypatch)
    monkeypatch.setattr(sys, "base_prefix", str(environment))
    assert install_hint().startswith("this installs it: ")


def test_it_is_what_the_package_and_the_page_of_reports_ask_for() -> None:
    assert f'report = ["{REQUIREMENT}"]' in (ROOT / "pyproject.toml").read_text()
    assert f".venv/bin/python {PIP}" in (ROOT / "docs/user/report.md").read_text()
