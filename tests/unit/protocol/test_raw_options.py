"""Raw options of sbatch and srun: each reaches its place in the script, or is refused with the reason."""

from __future__ import annotations

import pytest

from paislurm.translator.pipeline import compile_job
from paislurm.translator.site.profile import Site

from .jobs import faults, job

PASSED = [
    ("options", "--exclusive"),
    ("options", "--gres-flags=enforce-binding"),
    ("options", "--hint=memory_bound"),
    ("options", "--licenses=matlab:2"),
    ("options", "--network=sn_all"),
    ("options", "--switches=1@00:10:00"),
    ("options", "--threads-per-core=1"),
    ("options", "--mail-type=END"),
    ("srun", "--cpu-bind=verbose,cores"),
    ("srun", "--gpu-bind=closest"),
    ("srun", "--gres-flags=allow-task-sharing"),
    ("srun", "--hint=nomultithread"),
    ("srun", "--mem-bind=local"),
    ("srun", "--network=sn_all"),
    ("srun", "--ntasks-per-socket=1"),
    ("srun", "--profile=task"),
    ("srun", "--propagate=STACK"),
    ("srun", "--resv-ports=4"),
    ("srun", "--threads-per-core=1"),
    ("srun", "--tres-bind=gres/gpu:closest"),
]
TASKS = "write it under `extras.slurm.binding` or `extras.slurm.srun`: it concerns tasks, not the allocation"
LOGS = "each task writes to its own files, and the output of a step carries reports"
PLACE = "the planner places each task with a host file"
SIZE = "`resourcePerInstance` and the planner set the resources of a task"
SHARE = "the layout sets the resources that steps share"
POLICY = "the completion policy stops tasks"
JOB = "write it under `extras.slurm`, as a key or in `options`: it concerns the allocation, not a step"
IMAGE = "the image and the site profile's `containers` set the container"
REFUSED = [
    ("options", "--cpu-bind=cores", TASKS),
    ("options", "--gpu-bind=closest", TASKS),
    ("options", "--tres-bind=gres/gpu:closest", TASKS),
    ("options", "--gres-flags=allow-task-sharing", "write it under `extras.slurm.srun`: only srun has"),
    ("options", "--kill-on-bad-exit=1", f"sbatch has no such option; in srun, {POLICY}"),
    ("options", "--mpi=pmix", "sbatch has no such option; in srun, `mpi` under `extras.slurm` sets the plugin"),
    ("srun", "--whole", SHARE),
    ("srun", "--pack-group=0", SHARE),
    ("srun", "--tres-per-node=gres/gpu:1", SIZE),
    ("srun", "--tres-per-job=gres/gpu:1", SIZE),
    ("srun", "--debugger-test", "the script starts the step"),
    ("options", "--overlap", f"sbatch has no such option; in srun, {SHARE}"),
    ("options", "--compress=lz4", "write it under `extras.slurm.srun`: sbatch has no such option"),
    ("options", "--het-group=0", "`layout` under `extras.slurm` sets the components"),
    ("options", "--wait-all-nodes=1", "with it, sbatch would not start the job as planned"),
    ("options", "--signal=USR2@60", "the script uses it for the warning before the time limit"),
    ("options", "--output=log", LOGS),
    ("options", "--outpu=log", f"sbatch reads it as `--output`: {LOGS}"),
    ("options", "-olog", f"sbatch reads it as `--output`: {LOGS}"),
    ("options", "-N4", f"sbatch reads it as `--nodes`: {SIZE}"),
    ("options", "-m", f"sbatch reads it as `--distribution`: {PLACE}"),
    ("options", "-C=ib", "sbatch reads it as `--constraint`: write `constraint` under `extras.slurm` instead"),
    ("options", "-S2", "write `--core-spec`"),
    ("options", "--container-image=debian", IMAGE),
    ("srun", "--container-image=debian", IMAGE),
    ("srun", "--no-container-entrypoint", IMAGE),
    ("srun", "-mblock", f"srun reads it as `--distribution`: {PLACE}"),
    ("srun", "-K1", f"srun reads it as `--kill-on-bad-exit`: {POLICY}"),
    ("srun", "--mem_bind=local", "write `--mem-bind`"),
    ("srun", "--cpus_per_task=2", f"srun reads it as `--cpus-per-task`: {SIZE}"),
    ("srun", "--exclusive", SHARE),
    ("srun", "--overlap", SHARE),
    ("srun", "--het-group=1", SHARE),
    ("srun", "--signal=USR2@60", JOB),
    ("srun", "--switches=1", JOB),
    ("srun", "--core-spec=2", JOB),
    ("srun", "--epilog=/bin/true", "the script starts the step"),
    ("srun", "--wait-all-nodes=1", "srun has no such option; in sbatch, with it, sbatch would not start the job"),
    ("srun", "--requeue", "srun has no such option; in sbatch, the retry policy controls retries"),
]


@pytest.mark.parametrize(("key", "option"), PASSED)
@pytest.mark.parametrize("of", ["job", "role"])
def test_a_raw_option_reaches_its_place_in_the_script(key: str, option: str, of: str) -> None:
    """An option of sbatch is a directive of the job, one of srun an option of the srun of the role, nowhere else."""
    slurm = {key: [option]} if of == "job" else {"taskRoles": {"worker": {key: [option]}}}
    script = compile_job(job("extras/slurm", slurm), site=Site.of()).script
    head, _, _ = script.replace(" \\\n    ", " ").replace("'", "").partition("# ---- paislurm runtime")
    lines = [line for line in head.splitlines() if option in line and not line.startswith("# ")]
    (line,) = lines
    assert line == f"#SBATCH {option}" if key == "options" else " exec srun " in line


@pytest.mark.parametrize(("key", "option", "reason"), REFUSED)
def test_a_refused_raw_option_has_the_true_reason(key: str, option: str, reason: str) -> None:
    (found,) = faults(job(f"extras/slurm/{key}", [option]))
    assert (found.hint or "").startswith(reason), found
    assert found.code == ("E207" if option.startswith("--") and "_" not in option else "E203")


@pytest.mark.parametrize("option", ["--", "-", "-%", "---x", "--Nice", "nice"])
def test_what_is_no_option_has_no_long_form(option: str) -> None:
    (found,) = faults(job("extras/slurm/options", [option]))
    assert (found.code, found.hint or "") == ("E203", "")
