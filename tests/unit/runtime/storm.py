"""Run whole batch scripts with a bash of one's choice, and signal them as Slurm does. Slurm itself is stood in for."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import re
import shutil
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from paislurm.translator.pipeline import compile_job
from tests.cluster.processes import wait_until

from ..written_files import write_programs

SRUN = """#!/bin/sh
while [ "$1" != bash ]; do shift; done
export SLURM_STEP_ID=$$ SLURM_PROCID=0 SLURM_LOCALID=0
exec 3<&0
env --default-signal=TERM,INT,HUP,USR1,USR2 "$@" <&3 3<&- &
echo "$!" >"$STEPS/$$"
wait "$!"
"""
SCONTROL = """#!/bin/sh
[ "$1 $2" != 'show hostnames' ] || echo "$3"
"""
SCANCEL = """#!/bin/sh
read -r task <"$STEPS/${2#*.}" && kill "-${1#--signal=}" "$task"
"""
JOB = """
protocolVersion: 2
name: storm
type: job
prerequisites: [{{name: plain, type: dockerimage, uri: debian}}]
taskRoles:
  worker:
    dockerImage: plain
    resourcePerInstance: {{cpu: 1, memoryMB: 100, gpu: 0}}
    commands: [sleep 1000]
extras: {{gangAllocation: {gang}, slurm: {{time: 60}}}}
"""


def script_of(gang: str) -> str:
    """Return the script of the job, without a warning of its own."""
    return re.sub(r"(?m)^PSL_WARNING=.*", "", compile_job(JOB.format(gang=gang)).script)


SCRIPTS = [
    re.sub(
        r"(?m)^((?:readonly )?PSL_PROVISIONAL_SECONDS)=.*",
        r"\1=20",
        re.sub(r"(?m)^(PSL_JOB_NAME=.*)", r"\1\nPSL_INTERRUPTED_GRACE=3\nPSL_WARNING=3", script_of(gang)),
    )
    for gang in ("true", "false")
]
"""A task that bash did not hand TERM on to, as it began just then, is killed after 3 s. Under this load the script may
hear of TERM seconds after its task."""
ENDS = {signal.SIGTERM: ("interrupted", -210, 3), signal.SIGUSR1: ("failed", -1004, 1)}
"""What the result says, and the status of the script."""


class Storm:
    """A folder with what the scripts take for Slurm, and a bash for them."""

    def __init__(self, folder: Path, bash: Sequence[str]) -> None:
        self.folder = folder
        self.programs = folder / "bin"
        start = f'#!/bin/sh\nexec {" ".join(bash)} "$@"\n'
        write_programs(self.programs, {"bash": start, "srun": SRUN, "scontrol": SCONTROL, "scancel": SCANCEL})
        self._numbers = itertools.count(os.getpid() * 10_000)

    def strike(self, number: signal.Signals, script: str, pause: float, *, begun: bool) -> list[Any]:
        """Signal a job a while after its claim, or after its task has `begun`; return what is wrong with its end."""
        job = str(next(self._numbers))
        folder = self.folder / job
        attempt = folder / "attempts" / "0"
        steps = folder / "steps"
        for path in (attempt, steps):
            path.mkdir(parents=True)
        (attempt / "job.sbatch").write_text(script)
        sign = attempt / "tasks/localhost.log" if begun else attempt / "claim/owner"
        log = folder / "slurm.log"
        with log.open("wb") as output:
            batch = subprocess.Popen(
                [self.programs / "bash", attempt / "job.sbatch", folder, "0", "tag"],
                env={
                    "PATH": f"{self.programs}:/usr/bin:/bin",
                    "HOME": str(folder),
                    "TMPDIR": str(folder),
                    "STEPS": str(steps),
                    "SLURM_JOB_ID": job,
                    "SLURM_JOB_NODELIST": "localhost",
                    "SLURM_JOB_NUM_NODES": "1",
                    "SLURM_TASKS_PER_NODE": "1",
                    "SLURMD_NODENAME": "localhost",
                },
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        try:
            wait_until(lambda: sign.exists() and sign.stat().st_size > 0, f"{sign}")
            with contextlib.suppress(subprocess.TimeoutExpired):
                batch.wait(pause)
            batch.send_signal(number)
            if number == signal.SIGTERM:
                for step in steps.iterdir():
                    with contextlib.suppress(ProcessLookupError, ValueError):
                        os.kill(int(step.read_text()), number)
            status = batch.wait(60)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(batch.pid, signal.SIGKILL)
            batch.wait()
            for left in Path("/tmp").glob(f"paislurm-{job}-*"):
                shutil.rmtree(left, ignore_errors=True)
        return faults(attempt / "result.json", log.read_text(errors="replace"), status, ENDS[number])


def faults(file: Path, log: str, status: int, end: tuple[str, int, int]) -> list[Any]:
    """Return nothing where the result is there, whole and right, and the script said nothing else."""
    try:
        result = json.loads(file.read_text())
        found = (result["outcome"], result["exit_code"], status)
        tasks = [(task["role"], task["index"], task["state"]) for task in result["tasks"]]
    except (OSError, ValueError, KeyError) as fault:
        return [fault, status, log]
    right = found == end and tasks == [("worker", 0, "STOPPED")]
    lines = log.splitlines()
    return [] if right and len(lines) == 1 and lines[0].startswith("paislurm: ") else [found, tasks, log]
