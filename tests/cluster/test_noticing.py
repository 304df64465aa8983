"""How a monitor notices a result that a node has written, where the job's folder is seen late: a stand-in for NFS."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.children import child
from tests.cluster.hosts import enter
from tests.cluster.instance import ALICE, LOGIN
from tests.cluster.jobs import folder_of_alice
from tests.cluster.processes import wait_until
from tests.cluster.seen import behind, beside
from tests.cluster.watched import LONGEST, check, watched

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cluster.cluster import Cluster

ATTRIBUTES, MISSING = 1, 10
"""Seconds for which attributes are kept, and for which a name is believed to be missing."""
NEVER = "monitor: {background: false, maxPollInterval: 3600}\n"


@pytest.fixture
def ground(installed: Cluster) -> Path:
    """A folder of alice's."""
    return folder_of_alice(installed.home("alice") / f"noticing-{os.getpid()}")


def is_seen(process: subprocess.Popen[str], path: Path) -> bool:
    """Tell whether a path can be opened where the process is."""
    return subprocess.run(beside(process.pid, ["test", "-e", str(path)]), check=False).returncode == 0


def asked(home: Path) -> int:
    """Return how often Slurm's queue was asked for, by the call log."""
    call_log = home / "monitor/calls.log"
    return call_log.read_text().count("squeue") if call_log.exists() else 0


def test_result_is_found_when_its_folder_mtime_changes_first(installed: Cluster, ground: Path) -> None:
    """The monitor begins, somebody looks for the result in vain, it is written: no question to Slurm is needed."""
    gate = ground / "gate"
    job = watched(installed, ground / "late", f"until [ -e {gate} ]; do sleep 0.1; done", site=NEVER)
    probe, result = job.home / "probe/probe", job.home / f"jobs/{ALICE}~{job.name}/attempts/0/result.json"
    probe.parent.mkdir()
    job.begun()
    login = enter(installed.instance, LOGIN)
    argv = [*login, *behind(job.home, ATTRIBUTES, MISSING, job.argv("monitor")[len(login) :])]
    before = asked(job.home)
    with child(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        wait_until(lambda: asked(job.home) > before, "the monitor's question", LONGEST)
        # When the probe comes into sight, the monitor's own first look for a result counts no more, and folders are
        # looked at on another beat.
        assert not is_seen(process, probe)
        probe.touch()
        wait_until(lambda: is_seen(process, probe), "the probe to come into sight")
        assert not is_seen(process, result)
        questions = asked(job.home)
        gate.touch()
        wait_until(result.exists, "the result", LONGEST)
        assert not is_seen(process, result), "the stand-in hides nothing"
        said, _ = process.communicate(timeout=LONGEST)
        assert process.returncode == 0, said
    assert asked(job.home) == questions
    assert job.journal()[-1]["kind"] == "ended"
    check("a result that is seen late", job, "SUCCEEDED", 0, 1)
