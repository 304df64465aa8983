"""Submitting: what Slurm refuses, and which faults of Slurm are reckoned with."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from paislurm.translator.planning.slurm.hazards import _table
from tests.cluster.jobs import BOTH, ONE_ATTEMPT, role
from tests.contract.site import Job, merged

if TYPE_CHECKING:
    from pathlib import Path

    from tests.contract.site import Site

TWO = role("a", 1, "true") + role("b", 1, "true")


def test_refusal_hints_at_the_field_to_change(site: Site, folder: Path) -> None:
    job = site.described(folder, "job", TWO, "{slurm: {nodelist: no-such-node}}")
    done = job.paislurm("submit", "job.yaml")
    assert done.returncode == 4, done.stderr
    assert "error E503: sbatch refuses --nodelist or --exclude: " in done.stderr
    assert "change `nodelist` or `exclude` under `extras.slurm`" in done.stderr
    assert not [*(job.home / "jobs").iterdir()]


def test_submit_knows_the_version_of_slurm(site: Site, folder: Path) -> None:
    done = site.described(folder, "job", TWO).paislurm("submit", "--dry-run", "job.yaml")
    assert done.returncode == 0, done.stderr
    assert f"\nslurm       {site.slurm}\n" in done.stdout


def test_roles_share_an_allocation_if_components_can_crash_slurmctld(site: Site, folder: Path) -> None:
    version = next(ranges[0][0] for hazard, ranges in _table() if hazard.name == "crash-at-submit")
    job = site.submit(folder, TWO, settings=f"{ONE_ATTEMPT}slurmVersion: {version}\n")
    code, result = job.ended()
    assert (code, result["outcome"]) == (0, "succeeded")
    layout = json.loads((job.path / "plan.json").read_text())["layout"]
    assert layout["kind"] == "shared"
    assert f"with Slurm {version}, submitting a job of several components can crash slurmctld" in layout["reason"]


@BOTH
def test_v1_job_names_may_contain_tildes_and_dots(site: Site, folder: Path, layout: str) -> None:
    """`~` and `.` are in the names of a job and its roles, and a blank in a key of its extras."""
    see = 'echo "$PAI_JOB_NAME $PAI_CURRENT_TASK_ROLE_NAME $PAI_RESOURCE_w"'
    numbers = {"taskNumber": 1, "cpuNumber": 1, "memoryMB": 100, "gpuNumber": 0, "shmMB": 0}
    roles = [{"name": name, "command": see, **numbers} for name in ("w", "ps~1.x")]
    extras = {"submitted from": "a notebook", "slurm": {"layout": layout}}
    text = json.dumps({"jobName": "a~b.c", "image": "debian", "taskRoles": roles, "extras": extras})
    site.write(folder, "site.yaml", merged(site.profile, ONE_ATTEMPT))
    job = Job(site, folder, site.write(folder, "job.json", text), name="a~b.c")
    done = job.paislurm("submit", "job.json")
    assert done.returncode == 0, done.stderr
    code, result = job.ended()
    assert (code, result["outcome"]) == (0, "succeeded")
    assert job.path.name == f"{site.user}~a~b.c"
    assert job.log("0-w/0") == "a~b.c w 0,1,100,0\n"
    assert job.log("1-ps_1.x/0") == "a~b.c ps~1.x 0,1,100,0\n"
    assert job.status()["name"] == f"{site.user}~a~b.c"
    assert job.paislurm("logs", "a~b.c", "ps~1.x-0").stdout.endswith("a~b.c ps~1.x 0,1,100,0\n")


WRAPPER = """\
#!/bin/bash
# A site's wrapper of each program: it prints more lines, in another form, with an environment of its own.
program=${0##*/} PATH=${PATH#"${0%/*}:"}
echo 'NOTE: maintenance on Monday'
env -u SLURM_TIME_FORMAT TZ= "$program" "$@" | sed 's/$/\\r/'
status=${PIPESTATUS[0]}
[ "$program" != sbatch ] || echo 42
echo '42 nodes are idle'
exit $((program == sbatch ? 1 : status))
"""


def test_wrappers_of_the_site(site: Site, folder: Path) -> None:
    """One that fails though the job is submitted, and prints a number that is not the job's."""
    programs = site.own(folder / "bin")
    for name in ("sbatch", "squeue", "sacct", "scontrol", "scancel"):
        text = WRAPPER.replace("program == sbatch", f"{int(name == 'sbatch')}")
        site.write(programs, name, text).chmod(0o755)
    path = f"{programs}:{site.environment()['PATH']}"
    running = site.submit(folder, role("w", 1, "sleep 600"), retries=1, env={"PATH": path})
    running.wait_for("", "0-w/0")
    assert running.paislurm("cancel", running.name).returncode == 0
    assert running.over()[:2] == ("STOPPED", -210)
    failing = site.submit(folder, role("w", 1, "exit 3"), retries=1, env={"PATH": path})
    assert failing.over()[:2] == ("FAILED", 255)
    assert [each["attempt"] for each in failing.status()["attempts"]] == [0]
    waiting = site.submit(
        folder, role("w", 1, "sleep 600"), "{slurm: {options: [--begin=now+600]}}", env={"PATH": path}
    )
    assert waiting.paislurm("cancel", waiting.name).returncode == 0
    assert waiting.over()[0] == "STOPPED"


def test_variables_of_the_shell_count_as_for_sbatch(site: Site, folder: Path) -> None:
    """What Slurm has for the job is what they ask for, in a retry from another shell, too."""
    job = site.submit(folder, role("w", 1, "exit 3"), retries=1, env={"SBATCH_TIMELIMIT": "7"})
    job.more = {"SBATCH_TIMELIMIT": "9"}
    assert job.over()[:2] == ("FAILED", 255)
    shown = site.run("scontrol", "--oneliner", "show", "job", job.number).stdout
    assert " TimeLimit=00:07:00 " in shown
    assert [each["attempt"] for each in job.status()["attempts"]] == [0]
