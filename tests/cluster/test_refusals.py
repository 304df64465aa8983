"""What is said when Slurm refuses, is away or is not there, and that nothing half-made is left behind."""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.cluster.jobs import job_text, paislurm, role, submit, write

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cluster.cluster import Cluster

TWO = role("a", 1, "true") + role("b", 1, "true")


def submit_two(cluster: Cluster, folder: Path, extras: str, **env: str) -> subprocess.CompletedProcess[str]:
    """Submit a job of two roles, without a site profile, so that it is Slurm who says what it thinks of it."""
    (folder / "job.yaml").write_text(job_text("refused", TWO, extras))
    return paislurm(cluster, folder, "submit", "job.yaml", env={"PAISLURM_HOME": str(folder / "home"), **env})


def left_behind(folder: Path) -> list[str]:
    return [path.name for path in (folder / "home" / "jobs").iterdir()] if (folder / "home").exists() else []


@pytest.mark.parametrize(
    ("extras", "path", "says"),
    [
        ("partition: nope", "$.extras.slurm.partition", "refuses --partition: invalid partition specified: nope"),
        ("account: nope", "$.extras.slurm.account", "refuses --account: "),
        ("taskRoles: {b: {qos: nope}}", "$.extras.slurm.taskRoles.b.qos", "refuses --qos: "),
        ("options: [--hint=nomultithread, --nope=1]", "$.extras.slurm.options[1]", "refuses --nope: "),
    ],
)
def test_slurms_words_are_shown_with_the_field(
    installed: Cluster, workdir: Path, extras: str, path: str, says: str
) -> None:
    done = submit_two(installed, workdir, f"{{slurm: {{{extras}}}}}")
    assert (done.returncode, done.stdout) == (4, "")
    error = done.stderr.split("\n\n")[-1]
    assert error.startswith("job.yaml:"), error
    assert f"  {path}\nerror E503: sbatch {says}" in error
    assert left_behind(workdir) == []


def test_more_than_any_node_has(installed: Cluster, workdir: Path) -> None:
    write(workdir, role("a", 1, "true") + role("b", 1, "true").replace("cpu: 1", "cpu: 17"))
    home = {"PAISLURM_HOME": str(workdir / "home")}
    done = paislurm(installed, workdir, "submit", "--json", "job.yaml", env=home)
    answer = json.loads(done.stdout)
    assert (done.returncode, answer["exit_code"]) == (4, 4)
    (fault,) = answer["faults"]
    assert "CPU count per node can not be satisfied" in fault["message"]
    assert fault["path"].endswith(".resourcePerInstance.cpu")
    assert left_behind(workdir) == []


def test_without_slurm_or_a_folder(installed: Cluster, workdir: Path) -> None:
    only_venv = f"{installed.instance.venv}/bin"
    done = submit_two(installed, workdir, "{}", PATH=only_venv)
    assert (done.returncode, left_behind(workdir)) == (6, [])
    assert "error E501: there is no `sbatch` here\nhint: run this on a login node" in done.stderr

    for home in ("/proc/nowhere", "/etc/nowhere", str(workdir / "job.yaml"), str(installed.home("bob") / "mine")):
        done = submit_two(installed, workdir, "{}", PAISLURM_HOME=home)
        assert done.returncode == 4, done.stderr
        assert f"error E510: cannot write {home}" in done.stderr
        assert "hint: set PAISLURM_HOME" in done.stderr


def test_a_living_job_keeps_its_name(installed: Cluster, workdir: Path) -> None:
    job = submit(installed, workdir, role("a", 1, "sleep 60"))
    files = sorted(job.attempt.parents[2].glob(f"*{job.name}*"))
    again = paislurm(installed, workdir, "submit", "--site", "site.yaml", "job.yaml")
    assert again.returncode == 4
    assert f"error E511: alice~{job.name} has not ended yet" in again.stderr
    assert sorted(job.attempt.parents[2].glob(f"*{job.name}*")) == files
    assert paislurm(installed, workdir, "cancel", job.name).returncode == 0
    assert paislurm(installed, workdir, "wait", job.name).returncode == 1


@pytest.mark.alone
def test_a_controller_that_is_away(installed: Cluster, workdir: Path) -> None:
    installed.stop_daemon("slurmctld")
    try:
        done = submit_two(installed, workdir, "{}")
    finally:
        installed.start_daemon("slurmctld")
    assert (done.returncode, left_behind(workdir)) == (6, [])
    assert "error E506: Slurm cannot be reached: " in done.stderr
    assert "nothing was submitted" in done.stderr
    assert submit_two(installed, workdir, "{}").returncode == 0
