"""What another user of the cluster can do to a job: nothing runs as its user, and nothing of it is seen."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.cluster.jobs import ONE_ATTEMPT, job_text, paislurm, profile, role, submit_file, write

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cluster.cluster import Cluster


UNDER = "import os, sys; os.umask(int(sys.argv[1], 8)); os.execvp(sys.argv[2], sys.argv[2:])"
"""Start a program under a umask and have no effect else; a shell would change what the environment says of it."""


def script_of(cluster: Cluster, folder: Path, command: str, extras: str = "") -> str:
    """Write the script of a job of one task on n1, and return its text."""
    (folder / "job.yaml").write_text(job_text("mine", role("w", 1, command), extras))
    (folder / "site.yaml").write_text(profile("normal") + ONE_ATTEMPT)
    done = paislurm(cluster, folder, "script", "--site", "site.yaml", "-o", "job.sbatch", "job.yaml")
    assert done.returncode == 0, done.stderr
    return (folder / "job.sbatch").read_text()


def by_hand(
    cluster: Cluster, folder: Path, *, cwd: Path | None = None, env: dict[str, str] | None = None, umask: str = "0022"
) -> tuple[str, str]:
    """Submit the script to n1 by hand, and wait; return the job's number, and what the batch script printed."""
    options = ["--parsable", "--wait", "--nodelist=n1", f"--output={folder}/%j.out"]
    words = ["/usr/bin/python3", "-c", UNDER, umask, "sbatch", *options, str(folder / "job.sbatch")]
    done = cluster.run(words, cwd=cwd or folder, env=env)
    number = done.stdout.strip()
    assert number, done.stderr
    return number, (folder / f"{number}.out").read_text()


@pytest.mark.parametrize("extras", ["", "{gangAllocation: false}"])
def test_call_folder_of_another_user_is_rejected(installed: Cluster, workdir: Path, extras: str) -> None:
    """Its name cannot be known beforehand; here it is, and who made it waits for the task to listen."""
    calls = f"/tmp/known-{workdir.name[-20:]}"
    text = script_of(installed, workdir, "touch ran", extras)
    assert text.count("\n  name_node_folder\n") == 1
    (workdir / "job.sbatch").write_text(text.replace("\n  name_node_folder\n", f"\n  PSL_NODE_FOLDER={calls}\n"))
    make = f"umask 0; mkdir {calls} && mkfifo {calls}/0.0 && stat -c %U {calls}"
    assert installed.run(["bash", "-c", make], user="bob", host="n1", check=True).stdout == "bob\n"
    number, said = by_hand(installed, workdir)
    attempt = workdir / f"mine-{number}" / "attempts" / "0"
    result = json.loads((attempt / "result.json").read_text())
    assert (result["outcome"], result["behaviour"]) == ("failed", "transient")
    assert not list(attempt.glob("work/*/*/ran"))
    reported = [said, *(path.read_text() for path in [*attempt.glob("logs/*/*"), *attempt.glob("srun/*")])]
    assert any(f"error: the folder for calls, {calls} on n1, is gone or another user's" in text for text in reported)
    assert installed.run(["ls", "-A", calls], user="bob", host="n1", check=True).stdout == "0.0\n"
    installed.run(["rm", "-r", calls], user="bob", host="n1", check=True)


def test_run_folder_created_by_another_user_is_rejected(installed: Cluster, workdir: Path) -> None:
    """In a folder with the sticky bit, as /tmp has it: the names of the next jobs are known."""
    shared = workdir / "shared"
    shared.mkdir()
    shared.chmod(0o1777)
    workdir.chmod(0o755)
    script_of(installed, workdir, "touch ran")
    number, _ = by_hand(installed, workdir, cwd=shared)
    assert (shared / f"mine-{number}/attempts/0/work/0-w/0/ran").exists()
    next_ones = f"umask 0; for n in {{{int(number) + 1}..{int(number) + 60}}}; do mkdir -p mine-$n/attempts/0; done"
    installed.run(["bash", "-c", next_ones], user="bob", cwd=shared, check=True)
    number, said = by_hand(installed, workdir, cwd=shared)
    assert f"error: the run folder {shared}/mine-{number} is there already" in said
    assert [path.name for path in (shared / f"mine-{number}").rglob("*")] == ["attempts", "0"]
    installed.run(["bash", "-c", "rm -r mine-*"], user="bob", cwd=shared)


@pytest.mark.parametrize("mode", [0o777, 0o775])
def test_sbatch_by_hand_is_refused_in_a_folder_others_can_write(installed: Cluster, workdir: Path, mode: int) -> None:
    """They could put a folder of theirs in the place of the run folder at any time."""
    script_of(installed, workdir, "true")
    workdir.chmod(mode)
    number, said = by_hand(installed, workdir)
    assert f"because others can write to {workdir} (mode {mode:04o}): submit the script from a folder that only" in said
    assert not (workdir / f"mine-{number}").exists()
    workdir.chmod(0o700)
    assert (workdir / f"mine-{by_hand(installed, workdir)[0]}" / "attempts/0/result.json").exists()


def test_shell_options_of_the_submitter_have_no_effect_and_its_umask_only_on_commands(
    installed: Cluster, workdir: Path
) -> None:
    """Its options would let bash run nothing, and succeed; its umask lets others write to what its commands make."""
    script_of(installed, workdir, "cd; umask; touch ran; env | grep -c ^SHELLOPTS || true")
    (workdir / "start").write_text("echo started\n")
    environment = {
        "SHELLOPTS": "noexec:xtrace",
        "BASHOPTS": "failglob",
        "BASH_ENV": str(workdir / "start"),
        "BASH_FUNC_cd%%": "() { echo my cd; }",
        "BASH_FUNC_local%%": "() { echo my local; }",
        "UID": "5",
    }
    number, said = by_hand(installed, workdir, env=environment, umask="0000")
    assert said.splitlines()[0] == f"paislurm: the run folder is {workdir}/mine-{number}"
    assert len(said.splitlines()) == 2
    attempt = workdir / f"mine-{number}" / "attempts" / "0"
    assert (attempt / "logs/0-w/0.stdout.log").read_text() == "started\nmy cd\n0000\n0\n"
    assert (attempt / "logs/0-w/0.stderr.log").read_text() == ""
    ran = attempt / "work/0-w/0/ran"
    assert [path for path in (attempt.parents[1]).rglob("*") if path.stat().st_mode & 0o022] == [ran]


def test_home_with_a_colon_and_large_environment_work(installed: Cluster, workdir: Path) -> None:
    """The colon is in PAISLURM_HOME, the megabyte in the environment, under a name of the script's own among others."""
    # Who has called waits for the other one, which would find nobody.
    wait = "touch called; until [ -e ../$((1 - PAI_TASK_INDEX))/called ]; do sleep 0.02; done"
    write(workdir, role("w", 2, f"ssh -n w-$((1 - PAI_TASK_INDEX)) 'echo $OUT | wc -c'; {wait}"))
    environment = dict.fromkeys(("OUT", *(f"BIG_{number}" for number in range(8))), "x" * 120_000)
    job = submit_file(installed, workdir, home=workdir / "a:b", env=environment)
    code, _ = job.ended()
    assert (code, job.log("0-w/0"), job.log("0-w/1")) == (0, "120001\n", "120001\n")
