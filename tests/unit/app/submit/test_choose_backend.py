"""Which backend `submit --backend` takes, and what becomes of jobs whose backend has gone."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from paislurm.translator.app.jobs import polling
from paislurm.translator.app.session import Session, user_name
from paislurm.translator.app.submit.prepare import choose_backend
from paislurm.translator.errors import UnreachableError, UsageError

from ...monitor.jobs import CREATED, INTENT, SUBMITTED, job_folder
from ..asked import Asked

STAND_IN = Path(__file__).parents[2] / "backends" / "pyslurm" / "stand_in"


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Have a Slurm 25.11, which says that job 7 waits, and a pyslurm of the version that the test wants."""
    programs = tmp_path / "programs"
    programs.mkdir()
    answers = {"sbatch": "slurm 25.11.2", "squeue": "7||PENDING|10|||None||||||Resources"}
    for program, answer in answers.items():
        (programs / program).write_text(f"#!/bin/sh\nprintf '%s\\n' '{answer}'\n", encoding="utf-8")
        (programs / program).chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    (tmp_path / "slurm.conf").touch()
    monkeypatch.setenv("SLURM_CONF", str(tmp_path / "slurm.conf"))

    def install(version: str) -> None:
        folder = tmp_path / f"pyslurm-{version}.dist-info"
        folder.mkdir()
        (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: pyslurm\nVersion: {version}\n")
        monkeypatch.setenv("PYTHONPATH", f"{STAND_IN}:{tmp_path}")

    return install


def test_auto_uses_a_pyslurm_that_matches_the_slurm_version(installed: Callable[[str], None]) -> None:
    installed("25.11.0")
    assert [choose_backend(Session(), name) for name in ("auto", "pyslurm")] == ["pyslurm", "pyslurm"]


@pytest.mark.parametrize("version", ["24.11.0", ""])
def test_auto_uses_no_other_pyslurm_version(installed: Callable[[str], None], version: str) -> None:
    if version:
        installed(version)
    assert choose_backend(Session(), "auto") == "slurm"
    with pytest.raises(UnreachableError, match="pyslurm cannot be used"):
        choose_backend(Session(), "pyslurm")


@pytest.mark.usefixtures("installed")
def test_a_missing_pyslurm_leaves_no_files(asked: Asked, job: str, surroundings: Path) -> None:
    asked.jobs.submit(job, backend="pyslurm").ends(
        6,
        "error E509: pyslurm cannot be used: it is not installed for",
        "hint: install 'pyslurm==25.11.*', or set PAISLURM_PYSLURM_PYTHON: see docs/how-to/cluster/pyslurm.md",
    )
    assert not surroundings.exists()


def test_an_unknown_backend_is_refused() -> None:
    with pytest.raises(UsageError, match="unknown backend 'slrum'") as caught:
        choose_backend(Session(), "slrum")
    assert caught.value.diagnostics[0].hint == "use one of: auto, local, pyslurm, slurm"


@pytest.mark.usefixtures("installed")
def test_a_job_stays_readable_after_pyslurm_is_removed(asked: Asked, surroundings: Path) -> None:
    created, submitted = (replace(each, backend="pyslurm", user=user_name()) for each in (CREATED, SUBMITTED))
    job_folder(surroundings, created, INTENT, submitted, name=f"{user_name()}~demo")
    done = asked.jobs.status("demo")
    assert (done.code, "job 7, PENDING" in done.out) == (0, True)
    assert re.fullmatch(
        "pyslurm cannot be used: it is not installed for .*; using Slurm's programs instead\n", done.err
    )


def test_backends_do_not_share_poll_results() -> None:
    """One that was asked for the jobs of the one says nothing of those of the other."""
    assert len({polling._shared(Session(), name)._file for name in ("slurm", "pyslurm")}) == 2
