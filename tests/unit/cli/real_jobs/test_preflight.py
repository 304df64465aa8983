"""The preflight of a job on this machine, which is its only node."""

from __future__ import annotations

from pathlib import Path

import pytest

from ..running import JOB, Runner, job_file

EXTRAS = "extras: {slurm: {preflight: {check: [disk, clock], command: COMMAND, pairs: 'exit 1'}}}\n"


@pytest.mark.usefixtures("profile")
@pytest.mark.parametrize(
    ("command", "reason"),
    [("test -e job.yaml", ""), ("echo broken; exit 9", "the preflight fails on the only node")],
)
def test_preflight_of_one_node(
    run: Runner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str, reason: str
) -> None:
    """The commands run in the submit folder; a node has no pairs with itself. Nothing is left in /dev/shm."""
    monkeypatch.chdir(tmp_path)
    file = job_file(tmp_path, JOB + EXTRAS.replace("COMMAND", f"'{command}'"))
    said = run("submit", file, "--backend", "local", "--wait")
    status = run("status", "demo").out
    assert (said.code == 0) == (not reason), said.err
    assert reason in status
    assert ("node localhost: the preflight command ended with status 9: broken" in status) == bool(reason)
