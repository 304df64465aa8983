"""What the monitor costs: a step with many live jobs, and waiting for few. Its Slurm is a file that stands still."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from pwd import getpwuid
from typing import TYPE_CHECKING

from paislurm.translator.state.journal_records import Created, Intent, JobRole, Observed, RetryPolicy, Submitted, dump

from .measure import Cost, Ratio, cost

if TYPE_CHECKING:
    from collections.abc import Iterator

TURNS = 3
FEW, MANY = 1000, 10_000
IDLE_JOBS = 50
WARM_SECONDS, IDLE_SECONDS = 10, 300
"""The time in which a monitor begins, and that in which it looks at files and asks five times or less."""
MONITOR = [sys.executable, "-m", "paislurm.translator.cli.main", "monitor"]


def run() -> Iterator[Ratio]:
    """Yield the ratios."""
    few, many = _step(FEW), _step(MANY)
    yield Ratio(f"CPU seconds of one step with {FEW:,} live jobs : 2 s", few.cpu, 2, 1)
    yield Ratio(f"memory of one step with {FEW:,} live jobs : 100 MB", few.memory, 100e6, 1)
    yield Ratio(f"CPU seconds of one step with {MANY:,} live jobs : 1.5 s", many.cpu, 1.5, 1)
    yield Ratio(f"CPU seconds for a job of a step: of {MANY:,} : of {FEW:,}", many.cpu / MANY, few.cpu / FEW, 1.2)
    own, all_of_it, resident = _idle(IDLE_JOBS)
    yield Ratio(f"CPU seconds in an hour of a monitor that waits for {IDLE_JOBS} jobs : 1 s", own * 3600, 1, 1)
    yield Ratio("the same with the programs that it calls : 2 s", all_of_it * 3600, 2, 1)
    yield Ratio(f"memory of a monitor that waits for {IDLE_JOBS} jobs : 40 MB", resident, 40e6, 1)


def make_home(folder: Path, jobs: int) -> dict[str, str]:
    """Make a home with so many jobs that run, and a squeue that says so; return the environment."""
    user = getpwuid(os.getuid()).pw_name
    now = int(time.time())
    roles = (JobRole(name="worker", folder="0-worker", instances=4),)
    lines = []
    for number in range(jobs):
        name, job_id = f"job-{number}", str(1000 + number)
        path = folder / "home/jobs" / f"{user}~{name}"
        (path / "attempts/0").mkdir(parents=True)
        records = (
            Created(
                happened_at=now,
                job=name,
                user=user,
                backend="slurm",
                roles=roles,
                retry_policy=RetryPolicy(retry_limit=2),
            ),
            Intent(happened_at=now, attempt=0, tag=f"paislurm-{number}"),
            Submitted(happened_at=now, attempt=0, job_id=job_id, job=name, user=user, backend="slurm", task_count=4),
            Observed(happened_at=now, attempt=0, backend_state="RUNNING", backend_reason="None"),
        )
        (path / "journal.jsonl").write_bytes(b"".join(dump(record) for record in records))
        lines.append(f"{job_id}|{name}|RUNNING|{now}|{now}|{now + 86400}|n[1-4]||||||None\n")
    (folder / "queue").write_text("".join(lines))
    squeue = folder / "bin/squeue"
    squeue.parent.mkdir()
    squeue.write_text(f"#!/bin/sh\nexec cat {folder}/queue\n")
    squeue.chmod(0o755)
    path = f"{squeue.parent}:{os.environ['PATH']}"
    return {**os.environ, "PAISLURM_HOME": str(folder / "home"), "PATH": path, "XDG_CONFIG_HOME": str(folder)}


def _step(jobs: int) -> Cost:
    """Return the least that `monitor --once` takes, interpreter and imports included."""
    with tempfile.TemporaryDirectory() as folder:
        env = make_home(Path(folder), jobs)
        costs = [cost([*MONITOR, "--once"], env) for _ in range(TURNS)]
    return Cost(min(cost.cpu for cost in costs), min(cost.memory for cost in costs))


def _idle(jobs: int) -> tuple[float, float, int]:
    """Return what part of a core a monitor uses when nothing happens, by itself, with what it calls, and memory."""
    with tempfile.TemporaryDirectory() as folder:
        env = make_home(Path(folder), jobs)
        with subprocess.Popen(MONITOR, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as monitor:
            time.sleep(WARM_SECONDS)
            before, began = _used(monitor.pid), time.monotonic()
            time.sleep(IDLE_SECONDS)
            after, ended = _used(monitor.pid), time.monotonic()
            assert monitor.poll() is None, "the monitor has ended"
            resident = int(Path(f"/proc/{monitor.pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
            monitor.terminate()
    own, children = (((after[k] - before[k]) / (ended - began)) for k in range(2))
    return own, own + children, resident


def _used(pid: int) -> tuple[float, float]:
    """Return the CPU seconds of a process, and of its children that have ended. Source: proc(5), fields 14 to 17."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    times = [int(field) / os.sysconf("SC_CLK_TCK") for field in fields[11:15]]
    return sum(times[:2]), sum(times[2:])
