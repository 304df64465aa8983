"""Every option of docs/reference/slurm-options.md on a real Slurm: it is taken, and Slurm has nothing to say of it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from paislurm.translator.protocol.raw_options import SBATCH, SRUN
from paislurm.translator.slurm_options import PASS_THROUGH
from tests.cluster.instance import ALICE
from tests.cluster.jobs import ROOT
from tests.cluster.processes import wait_until
from tests.unit.protocol.test_raw_options import PASSED

if TYPE_CHECKING:
    from pathlib import Path

    from tests.contract.site import Site

VALUES = {
    "sbatch": {
        "--account": "research", "--begin": "now+1", "--chdir": "/tmp", "--clusters": "paislurm", "--comment": "tag",
        "--constraint": "v100",
        "--cpus-per-task": "1", "--exclude": "n4", "--gpus-per-task": "v100:1", "--gres": "gpu:v100:1",
        "--hint": "nomultithread", "--job-name": "options", "--mem": "100", "--mem-per-cpu": "100",
        "--network": "Instances=1", "--nice": "10", "--nodelist": "n1", "--nodes": "1", "--ntasks": "1",
        "--ntasks-per-node": "1", "--output": "/dev/null",
        "--partition": "normal", "--qos": "normal", "--reservation": "held", "--signal": "B:USR1@60", "--switches": "1",
        "--time": "10",
    },
    "srun": {
        "--account": "research", "--immediate": "60", "--partition": "normal", "--time": "1",
        "--chdir": "/", "--cpu-bind": "none", "--cpus-per-task": "1", "--error": "/dev/fd/2", "--export": "ALL",
        "--gpu-bind": "none", "--gpus-per-task": "v100:1", "--gres": "none", "--het-group": "0",
        "--hint": "nomultithread", "--input": "none",
        "--job-name": "options", "--jobid": "$SLURM_JOB_ID", "--kill-on-bad-exit": "0", "--mem": "0",
        "--mem-bind": "none", "--mem-per-cpu": "100", "--mpi": "none", "--nodelist": "$SLURMD_NODENAME",
        "--nodes": "1", "--ntasks": "1", "--ntasks-per-node": "1", "--ntasks-per-socket": "1", "--wait": "0",
    },
}  # fmt: skip
"""What is given to options that have a value."""
ALONE = {"--version", "--test-only", "--pty", "--distribution", "--gres-flags"}
"""Options that end the program, submit nothing, or need a terminal, a host file or Slurm 24.05: others try them."""
APART = {"--mem-per-cpu", "--gpus-per-task", "--hint", "--ntasks-per-socket"}
"""Options that contradict others; each has a command of its own."""


def options(program: str, values: dict[str, str] | None = None) -> list[str]:
    """Return the options of the page with their values, and for sbatch those that are passed on."""
    page = (ROOT / "docs/reference/slurm-options.md").read_text(encoding="utf-8")
    (table,) = re.findall(rf"(?ms)^## {program}\n(.*?)(?=^## |\Z)", page)
    names = [name for name in re.findall(r"(?m)^\| `(--[\w-]+)", table) if name not in ALONE]
    names += [f"--{name}" for name in PASS_THROUGH if program == "sbatch"]
    values = VALUES[program] if values is None else values
    return [f"{name}={values[name]}" if name in values else name for name in names]


def groups(program: str) -> list[list[str]]:
    """Return the options that go together, and those that do not with one that is needed beside them."""
    names = options(program)
    apart = [name for name in names if name.partition("=")[0] in APART]
    return [[name for name in names if name not in apart], *([name] for name in apart)]


@pytest.mark.exclusive
def test_sbatch_takes_every_option(site: Site, folder: Path) -> None:
    cluster = site.administrator
    reservation = ["reservationname=held", "starttime=now", "duration=10", f"users={ALICE}", "nodes=n1"]
    cluster.admin(["scontrol", "create", "reservation", *reservation])
    try:
        for words in groups("sbatch"):
            gpus = ["--ntasks=1"] if any(word.startswith("--gpus") for word in words) else []
            done = site.run("sbatch", *words, *gpus, "--wrap=true", cwd=folder)
            said = [line for line in done.stderr.splitlines() if line]
            assert (done.returncode, said) == (0, []), words
    finally:
        cluster.cancel_all()
        wait_until(lambda: not cluster.squeue(), "no job to be left")
        cluster.admin(["scontrol", "delete", "reservationname=held"])
        cluster.wait_idle()


def test_srun_takes_every_option(site: Site, folder: Path) -> None:
    """In a heterogeneous job, where all of them are in use."""
    lines = [f"srun --overlap {' '.join(words)} true || exit 1" for words in groups("srun")]
    script = "\n".join(["#!/bin/bash", "#SBATCH -n1 --mem=200", "#SBATCH hetjob", "#SBATCH -n1 --mem=200", *lines, ""])
    gpus = script.replace("#SBATCH -n1 --mem=200", "#SBATCH -n1 --mem=200 --gres=gpu:v100:1", 1)
    site.write(folder, "options.sbatch", gpus)
    done = site.run("sbatch", "--wait", f"--output={folder}/log", "options.sbatch", cwd=folder)
    log = (folder / "log").read_text()
    assert (done.returncode, done.stderr, log) == (0, "", "")


ELSEWHERE = {"--licenses=matlab:2", "--profile=task", "--resv-ports=4"}
"""Raw options that need what these clusters lack: a license, a plugin that collects profiles, ports to reserve."""
SINCE_24 = {"--tres-bind=gres/gpu:closest", "--gres-flags=allow-task-sharing"}
"""Raw options that Slurm 22.05 lacks."""


def raw_options(site: Site, key: str) -> list[str]:
    lacking = ELSEWHERE | (SINCE_24 if site.slurm.startswith("22.") else set())
    return [option for where, option in PASSED if where == key and option not in lacking]


def test_sbatch_and_srun_take_the_raw_options_that_are_passed_on(site: Site, folder: Path) -> None:
    assert site.administrator
    for option in raw_options(site, "options"):
        done = site.run("sbatch", "--test-only", "--gres=gpu:v100:1", option, "--wrap=true", cwd=folder)
        assert (done.returncode, "error" in done.stderr) == (0, False), (option, done.stderr)
    steps = [f"srun --overlap --mem=0 {option} true || exit 1" for option in raw_options(site, "srun")]
    script = ["#!/bin/bash", "#SBATCH -n1 --mem=200 --gres=gpu:v100:1", *steps, ""]
    site.write(folder, "raw.sbatch", "\n".join(script))
    done = site.run("sbatch", "--wait", f"--output={folder}/log", "raw.sbatch", cwd=folder)
    assert done.returncode == 0, (folder / "log").read_text()


def test_options_that_a_program_is_said_to_lack_are_unknown_to_it(site: Site, folder: Path) -> None:
    assert site.administrator
    for program, refused in (("sbatch", SBATCH), ("srun", SRUN)):
        for name in (name for name, why in refused.items() if f"{program} has no such option" in why):
            if name != "threads":  # an abbreviation of --threads-per-core
                done = site.run(program, f"--{name}=1", "true", cwd=folder)
                assert re.search("unrecognized option|invalid option", done.stderr), (program, name, done.stderr)


QUESTIONS = {
    "scancel": ["--signal=TERM NUMBER", "--clusters=paislurm NUMBER"],
    "scontrol": ["--details show job NUMBER", "--oneliner show node n1", "--clusters=paislurm show job NUMBER"],
    "squeue": [
        "--noheader --states=all --format=%i --jobs=NUMBER --local",
        "--noheader --me --format=%i --clusters=paislurm",
    ],
    "sacct": [
        "--parsable2 --allocations --format=JobID --jobs=NUMBER --starttime=now-1hour --clusters=paislurm",
        "--parsable2 --noheader --noconvert --duplicates --format=JobID --jobs=NUMBER",
    ],
    "sinfo": [
        "--noheader --Node --nodes=n1 --format=%N",
        "--noheader --Node --partition=normal --Format=NodeList:|,StateLong:| --local",
        "--noheader --Node --all --clusters=paislurm --Format=NodeList:|",
    ],
}


@pytest.mark.parametrize("program", QUESTIONS)
def test_the_others_take_every_option(site: Site, folder: Path, program: str) -> None:
    """Of a job that runs meanwhile."""
    given = {word.partition("=")[0] for words in QUESTIONS[program] for word in words.split() if word.startswith("--")}
    assert given == set(options(program, {}))
    assert site.administrator
    number = site.run("sbatch", "--parsable", "--output=/dev/null", "--wrap=sleep 600", cwd=folder).stdout.strip()
    try:
        if program == "sacct":
            known = ("sacct", "--parsable2", "--noheader", f"--jobs={number}")
            wait_until(lambda: bool(site.run(*known, cwd=folder).stdout), "the job to be in the accounting")
        for words in QUESTIONS[program]:
            done = site.run(program, *words.replace("NUMBER", number).split(), cwd=folder)
            assert (done.returncode, done.stderr) == (0, "")
            assert done.stdout or program == "scancel"
    finally:
        site.run("scancel", number)
