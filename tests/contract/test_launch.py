"""Steps and jobs that do not begin, each time for real: whose failure that is, what is said of it, and what follows."""

from __future__ import annotations

import json
import os
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from tests.cluster.instance import ADMINISTRATOR, TWO_USERS, require_privilege
from tests.cluster.jobs import ONE_ATTEMPT, WHERE, folder_of_alice, paislurm, role, states, submit, submit_file, write
from tests.cluster.processes import wait_until
from tests.cluster.test_faults import SAVES, status, wait_ready
from tests.left_out import not_asked

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.cluster.cluster import Cluster
    from tests.cluster.jobs import Submitted

SRUN = """#!/bin/bash
# Stands before the real srun on the PATH; TARGET is how a step is named that something happens to.
PATH=${PATH#"${0%/*}:"}
if [[ " $* " == *" $TARGET "* ]]; then
  case $FAULT in
    refuses) set -- --no-such-option "$@" ;;
    dies) kill -KILL $$ ;;
    waits) touch "${0%/*}/ready"; read -r <"${0%/*}/go" ;;
  esac
fi
exec srun "$@"
"""
TWO = role("v", 1, SAVES, failed=-1) + role("w", 2, "echo ran", failed=-1)
"""A job that tolerates every failure."""
RANKS = "taskRoles: {w: {mpi: {plugin: pmi2}}}"


@dataclass(frozen=True)
class Fault:
    """What happens to which step of a job."""

    fault: str
    target: str
    extras: str = "{slurm: {layout: het}}"
    group: str = ""

    @property
    def words(self) -> str:
        """What the step's srun is told, and no other."""
        return f"{self.group}--job-name={self.target}"


FAULTS = {
    "het": Fault("refuses", "w"),
    "shared": Fault("refuses", "w", "{slurm: {layout: shared}}"),
    "dies": Fault("dies", "w"),
    "slots": Fault("refuses", "w", "{gangAllocation: false, slurm: {layout: het}}"),
    "slots-dies": Fault("dies", "w", "{gangAllocation: false, slurm: {layout: shared}}"),
    "world": Fault("refuses", "w", f"{{slurm: {{layout: shared, {RANKS}}}}}"),
    "world-dies": Fault("dies", "w", f"{{slurm: {{layout: het, {RANKS}}}}}"),
}


def submit_with(cluster: Cluster, folder: Path, fault: Fault, roles: str, partition: str = "normal") -> Submitted:
    """Submit a job whose failures use up retries, as a user with another srun on PATH."""
    write(folder, roles, fault.extras, ONE_ATTEMPT + "mpi: [pmi2]\n", partition)
    job = folder / "job.yaml"
    job.write_text(job.read_text().replace("type: job\n", "type: job\njobRetryCount: 2\n"))
    programs = folder_of_alice(folder / "bin")
    (programs / "srun").write_text(SRUN)
    (programs / "srun").chmod(0o755)
    path = f"{programs}:{cluster.environment('alice')['PATH']}"
    return submit_file(cluster, folder, env={"PATH": path, "FAULT": fault.fault, "TARGET": fault.words})


def test_failed_srun_is_not_counted_as_a_task_failure(installed: Cluster, workdir: Path) -> None:
    """Whether srun refuses its command line or dies, before the tasks or for them: no policy and no retry counts it."""
    jobs = {kind: submit_with(installed, folder_of_alice(workdir / kind), fault, TWO) for kind, fault in FAULTS.items()}
    for kind, job in jobs.items():
        dies = FAULTS[kind].fault == "dies"
        code, result = job.ended()
        wanted = (-1402, "transient") if dies else (-1401, "permanent")
        assert (code, result["outcome"]) == (1, "failed"), kind
        assert (result["exit_code"], result["behaviour"], result["trigger"]) == (*wanted, None), kind
        words = "srun was killed by signal 9" if dies else "unrecognized option '--no-such-option'"
        assert words in result["reason"], kind
        assert states(result) == ["v-0 STOPPED", "w-0 STOPPED", "w-1 STOPPED"], kind
        shown = status(job)
        assert (shown["state"], shown["exit_code"], shown["attempts"]) == ("FAILED", wanted[0], []), kind
        assert words in shown["reason"]
        reported = paislurm(installed, job.folder, "logs", "--", job.name, "w-0")
        assert words in reported.stderr, reported
        assert words in (job.attempt / "slurm.log").read_text()


@pytest.mark.disruptive
def test_node_that_cannot_start_a_step_is_blamed(installed: Cluster, workdir: Path) -> None:
    """The node is named and blamed, and no task of another role begins without this one."""
    nodes = "{slurm: {layout: het, nodelist: n7, taskRoles: {b: {nodelist: n8}}}}"
    roles = role("a", 1, SAVES, failed=-1) + role("b", 1, "echo ran", failed=-1)
    job = submit_with(installed, workdir, Fault("waits", "b", nodes, "--het-group=1 "), roles, "fragile")
    go = workdir / "bin" / "go"
    installed.run(["mkfifo", str(go)], check=True)
    wait_until((workdir / "bin" / "ready").exists, "the step to be about to start", 60)
    installed.stop_daemon("slurmd-n8")
    try:
        go.write_text("\n")
        code, result = job.ended()
    finally:
        installed.start_daemon("slurmd-n8")
    assert (code, result["outcome"], result["exit_code"], result["behaviour"]) == (1, "failed", -1402, "transient")
    assert "on node n8: " in result["reason"]
    assert "failed on node n8" in status(job)["reason"]
    tasks = [(task["state"], task["exit_code"], task["node"]) for task in result["tasks"]]
    assert tasks == [("STOPPED", -220, None), ("FAILED", -1402, "n8")]
    assert json.loads((job.attempt / "result.json").read_text())["trigger"] is None


@contextmanager
def prologs(cluster: Cluster, flags: str = "") -> Iterator[Path]:
    """Let every node run a Prolog that fails where a file of the node's name stands in the folder, and clear it up."""
    conf = cluster.instance.etc / "slurm" / "slurm.conf"
    before = conf.read_text()
    folder = cluster.home("alice") / f"prolog-{os.getpid()}-{flags}"
    folder.mkdir(exist_ok=True)
    script = folder / "prolog.sh"
    script.write_text(f'#!/bin/bash\n[ ! -e {folder}/"$SLURMD_NODENAME" ]\n')
    script.chmod(0o755)
    try:
        # In its place: it may be mounted, as a file, on each host.
        conf.write_text(f"{before}Prolog={script}\n" + (f"PrologFlags={flags}\n" if flags else ""))
        cluster.admin(["scontrol", "reconfigure"])
        wait_until(lambda: str(script) in cluster.admin(["scontrol", "show", "config"]), "the Prolog to be known")
        yield folder
    finally:
        conf.write_text(before)
        cluster.cancel_all()
        cluster.admin(["scontrol", "reconfigure"])
        for path in folder.iterdir():
            if path != script:
                path.unlink()
                cluster.admin(["scontrol", "update", f"nodename={path.name}", "state=resume"], check=False)
        cluster.wait_idle()


RETRIED = "retry: {maxTransientRetries: 3}\nmonitor: {background: false, maxPollInterval: 2}\n"
ONE = role("w", 1, WHERE)
TWO_NODES = role("a", 1, WHERE) + role("b", 1, WHERE)
WIDE = role("w", 2, WHERE).replace("cpu: 1", "cpu: 9")
PROLOGS = [
    ("", "n1", ONE, "{slurm: {layout: het}}"),
    ("", "n2", TWO_NODES, "{slurm: {layout: het}}"),
    ("", "n2", WIDE, "{gangAllocation: false, slurm: {layout: shared}}"),
    ("Alloc", "n1", ONE, "{slurm: {layout: het}}"),
    ("Alloc", "n2", WIDE, "{slurm: {layout: shared}}"),
]
"""PrologFlags, the node whose Prolog fails, and a job that gets it first: as the batch node, or as its second one."""


@pytest.mark.exclusive
@pytest.mark.parametrize("flags", ["", "Alloc"])
def test_node_with_a_failed_prolog_is_excluded_from_the_retry(installed: Cluster, workdir: Path, flags: str) -> None:
    """The failure is transient, the node is left out, and what Slurm gives as the reason is told."""
    require_privilege(TWO_USERS)
    installed.wait_idle()
    with prologs(installed, flags) as folder:
        for number, (_, bad, roles, extras) in enumerate(each for each in PROLOGS if each[0] == flags):
            (folder / bad).touch()
            job = submit(installed, folder_of_alice(workdir / f"prolog{flags}{number}"), roles, extras, RETRIED)
            waited = paislurm(installed, job.folder, "wait", "--", job.name, timeout=200)
            shown = status(job)
            assert (shown["state"], waited.returncode) == ("SUCCEEDED", 0), (number, shown)
            (attempt,) = shown["attempts"]
            assert (attempt["exit_code"], attempt["behaviour"], attempt["blamed_nodes"]) == (
                -1403,
                "transient",
                [bad],
            ), number
            assert "rolog" in attempt["reason"], number
            assert bad not in {task["node"] for task in shown["tasks"]}, number
            (folder / bad).unlink()
            wait_until(lambda bad=bad: "drained" in installed.node_states()[bad], f"{bad} to be drained", 60)
            installed.admin(["scontrol", "update", f"nodename={bad}", "state=resume"])
            installed.wait_idle()


@pytest.mark.exclusive
@pytest.mark.parametrize("flags", ["", "Alloc"])
def test_failed_prolog_is_no_cancel_though_its_node_was_resumed(installed: Cluster, workdir: Path, flags: str) -> None:
    """Before anything looked: srun tells of the node, or the batch log of 22.05, else the shortness of the job."""
    require_privilege(TWO_USERS)
    installed.wait_idle()
    with prologs(installed, flags) as folder:
        for number, (_, bad, roles, extras) in enumerate(each for each in PROLOGS if each[0] == flags):
            (folder / bad).touch()
            job = submit(installed, folder_of_alice(workdir / f"resumed{flags}{number}"), roles, extras, RETRIED)
            wait_until(lambda bad=bad: "drain" in installed.node_states()[bad], f"{bad} to be drained", 60)
            (folder / bad).unlink()
            wait_until(lambda bad=bad: "drained" in installed.node_states()[bad], f"{bad} to be drained", 60)
            installed.admin(["scontrol", "update", f"nodename={bad}", "state=resume"])
            installed.wait_idle()
            paislurm(installed, job.folder, "wait", "--", job.name, timeout=200)
            (attempt,) = status(job)["attempts"]
            told = (attempt["exit_code"], attempt["behaviour"], attempt["blamed_nodes"])
            assert told in [(-1403, "transient", [bad]), (-1402, "transient", [])], attempt
            assert status(job)["state"] == "SUCCEEDED"


def restart(cluster: Cluster, *, crash: bool) -> None:
    cluster.stop_daemon("slurmctld", crash=crash)
    cluster.start_daemon("slurmctld")


@pytest.mark.exclusive
def test_job_started_twice_by_a_crashed_controller_is_a_node_failure(installed: Cluster, workdir: Path) -> None:
    """The node says that the job runs there already, and both are gone: the node's failure, not root's word."""
    require_privilege(TWO_USERS)
    extras = "{slurm: {layout: het, nodelist: n8}}"
    for number in range(6):
        # It saves what changes at most every five seconds; one that has just begun saves the submission at once.
        restart(installed, crash=False)
        folder = folder_of_alice(workdir / f"twice{number}")
        job = submit(installed, folder, role("w", 1, SAVES), extras, partition="fragile")
        wait_ready(job, "0-w/0")
        restart(installed, crash=True)
        shown = installed.admin(["scontrol", "show", "job", status(job)["job_id"]], check=False)
        if "JobState=PENDING" in shown or "JobState=CANCELLED" in shown:
            break
        installed.cancel_all()
        installed.wait_idle()
    else:
        not_asked("the controller had saved that the job runs, or forgot all of it, each time")
    try:
        waited = paislurm(installed, job.folder, "wait", "--", job.name, timeout=200)
        shown = status(job)
        assert (shown["state"], shown["exit_code"]) == ("FAILED", -1402), (waited, shown)
        assert "could not start on n8: Duplicate jobid" in shown["reason"]
        assert "the site allows no retries" in shown["reason"]
    finally:
        wait_until(lambda: "drain" in installed.node_states()["n8"], "n8 to be drained", 60)
        installed.admin(["scontrol", "update", "nodename=n8", "state=resume"], check=False)
        installed.wait_idle()


def test_pending_job_cancelled_by_root_is_stopped(installed: Cluster, workdir: Path) -> None:
    """No node has failed, and there is no other attempt."""
    job = submit(installed, workdir, role("w", 1, WHERE), "{slurm: {options: [--begin=now+1hour]}}", RETRIED)
    installed.admin(["scancel", str(status(job)["job_id"])])
    waited = paislurm(installed, job.folder, "wait", "--", job.name)
    shown = status(job)
    assert (shown["state"], shown["exit_code"], shown["attempts"]) == ("STOPPED", -210, []), waited.stderr
    assert f"cancelled by {ADMINISTRATOR}" in shown["reason"]
