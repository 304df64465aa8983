"""What other programs take to make scripts of the same size, each in an environment of its own in the user's cache."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from .measure import Note

PACKAGES = ("torchx", "submitit")
BEST = """
import sys, time
def best(call, turns=7):
    taken = []
    for _ in range(turns):
        began = time.process_time()
        call()
        taken.append(time.process_time() - began)
    print(min(taken))
count = int(sys.argv[1])
"""
TORCHX = """
from torchx.schedulers.slurm_scheduler import create_scheduler
from torchx.specs import AppDef, Resource, Role
scheduler = create_scheduler("bench")
scheduler._partition_memmb = lambda partition: None  # it asks sinfo
resource = Resource(cpu=64, gpu=0, memMB=1024)
def job():
    roles = [
        Role(name=f"r{k}", image="", entrypoint="python", args=["train.py"], num_replicas=1, resource=resource)
        for k in range(count)
    ]
    return str(scheduler.submit_dryrun(AppDef(name="bench", roles=roles), {}))
assert job().count("hetjob") == count - 1
best(job)
"""
SUBMITIT = """
from submitit.slurm.slurm import _make_sbatch_string
def jobs():
    for k in range(count):
        _make_sbatch_string("python train.py", "/tmp", job_name=f"r{k}", cpus_per_task=64, mem="1024M")
best(jobs)
"""


def torchx_seconds(roles: int) -> float | Note:
    """Return how long torchx takes for a dry run of so many roles, which it makes components of one job."""
    return _seconds("torchx", TORCHX, roles)


def submitit_seconds(jobs: int) -> float | Note:
    """Return how long submitit takes for the sbatch scripts of so many jobs; it has no roles."""
    return _seconds("submitit", SUBMITIT, jobs)


def _seconds(name: str, code: str, count: int) -> float | Note:
    python = _folder() / "bin" / "python"
    try:
        if not python.with_name(name).exists() and not list(_folder().glob(f"lib/*/site-packages/{name}")):
            _output([sys.executable, "-m", "venv", str(_folder())])
            _output([str(python), "-m", "pip", "install", "-q", *PACKAGES])
        return float(_output([str(python), "-c", BEST + code, str(count)]))
    except (OSError, subprocess.CalledProcessError) as error:
        said = str(getattr(error, "stderr", "") or error).strip().splitlines()
        return Note(f"{name} is not compared with: {said[-1] if said else error}")


def _output(argv: list[str]) -> str:
    return subprocess.run(argv, check=True, capture_output=True, text=True).stdout


def _folder() -> Path:
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return cache / "paislurm-bench" / "peers"
