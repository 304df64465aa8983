"""What is said when Slurm refuses, is away or is not there, and that nothing half-made is left behind."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import subprocess
from typing import TYPE_CHECKING, Any

import pytest

from tests.cluster.instance import ALICE, GROUP_ID, USERS
from tests.cluster.jobs import ONE_ATTEMPT, job_text, paislurm, role, submit_file, write
from tests.cluster.processes import wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.cluster.cluster import Cluster

SAYS_NOTHING = "name: unknown\n"
TWO = role("a", 1, "true") + role("b", 1, "true")


def submit_two(cluster: Cluster, folder: Path, extras: str, **env: str) -> subprocess.CompletedProcess[str]:
    """Submit a job of two roles; the profile says nothing, so that it is Slurm who says what it thinks of it."""
    (folder / "site.yaml").write_text(SAYS_NOTHING)
    (folder / "job.yaml").write_text(job_text("refused", TWO, extras))
    return paislurm(cluster, folder, "submit", "job.yaml", env={"PAISLURM_HOME": str(folder / "home"), **env})


def left_behind(folder: Path) -> list[str]:
    return [path.name for path in (folder / "home" / "jobs").iterdir()] if (folder / "home").exists() else []


def test_status_reports_an_accepted_job_that_cannot_start(installed: Cluster, workdir: Path) -> None:
    """A component may ask for more time than its partition has; without a profile nobody else knows."""
    write(workdir, TWO, "{slurm: {time: 2-00:00:00}}")
    (workdir / "site.yaml").write_text(ONE_ATTEMPT)
    job = submit_file(installed, workdir, home=workdir / "home")
    home = {"PAISLURM_HOME": str(job.home)}

    def status() -> dict[str, Any]:
        found: dict[str, Any] = json.loads(paislurm(installed, workdir, "status", "--json", job.name, env=home).stdout)
        return found

    wait_until(
        lambda: (
            [(wait["backend_reason"], wait["kind"]) for wait in status()["waits"]] == [("PartitionTimeLimit", "stuck")]
        ),
        "status does not say that the time limit is too long",
    )
    shown = paislurm(installed, workdir, "status", job.name, env=home).stdout
    assert "it cannot start as it is: PartitionTimeLimit: its time limit exceeds that of its partition" in shown
    assert "with a lower `extras.slurm.time`" in shown
    with installed.child(["paislurm", "wait", job.name], env=home) as waiting:
        assert waiting.stderr
        said = waiting.stderr.readline()
        assert f"{ALICE}~{job.name} waits, since 2" in said
        assert "PartitionTimeLimit: its time limit" in said
        assert "advice: see the limits with `sinfo" in waiting.stderr.readline()
        paislurm(installed, workdir, "cancel", job.name, env=home)
        assert "STOPPED" in waiting.communicate()[1]
    assert waiting.returncode == 1


@contextlib.contextmanager
def rules(cluster: Cluster, plugin: str) -> Iterator[None]:
    """Let the controller ask a job_submit plugin."""
    conf = cluster.instance.etc / "slurm" / "slurm.conf"
    text = conf.read_text()

    def restart(text: str) -> None:
        cluster.stop_daemon("slurmctld")
        conf.write_text(text)
        cluster.start_daemon("slurmctld")

    try:
        restart(f"{text}JobSubmitPlugins={plugin}\n")
        yield
    finally:
        restart(text)


@pytest.mark.exclusive
def test_a_site_that_requires_a_time_limit(installed: Cluster, workdir: Path) -> None:
    with rules(installed, "require_timelimit"):
        done = submit_two(installed, workdir, "{}")
        assert (done.returncode, left_behind(workdir)) == (4, [])
        assert "error E503: sbatch refuses --time: " in done.stderr
        assert "Time limit specification required, but not provided\nhint: write `time: 2:00:00`" in done.stderr
        assert "write `time: 2:00:00` under `extras.slurm`" in done.stderr
        # What the hint says is what helps.
        again = submit_two(installed, workdir, "{slurm: {time: 2:00:00}}")
        assert (again.returncode, len(left_behind(workdir))) == (0, 1), again.stderr


def test_invalid_job_id_does_not_break_the_listing_of_other_jobs(installed: Cluster, workdir: Path) -> None:
    """Of the largest that a journal may hold Slurm says nothing; for a larger one squeue refuses the whole query."""
    home = {"PAISLURM_HOME": str(workdir / "home")}
    job = submit_two(installed, workdir, "{time: 5}")
    assert job.returncode == 0, job.stderr
    (folder,) = (workdir / "home" / "jobs").iterdir()
    for number in ("2147483647", "2147483648", "--user=root"):
        copy = folder.with_name(f"{ALICE}~{number}")
        shutil.copytree(folder, copy)
        text = (copy / "journal.jsonl").read_text()
        (copy / "journal.jsonl").write_text(re.sub(r'("job_id": )"\d+"', rf'\1"{number}"', text))
        for path in (copy, *copy.rglob("*")):
            os.chown(path, USERS["alice"].uid, GROUP_ID)
    done = paislurm(installed, workdir, "list", "--all", "--json", env=home)
    assert done.returncode == 0
    assert "these are the last known states" not in done.stderr
    assert paislurm(installed, workdir, "cancel", "--", folder.name, env=home).returncode == 0
