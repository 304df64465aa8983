"""What a task costs from its shell to the end of its command, by the number of tasks in the job.

The batch script's own functions write the files of a job of so many tasks, eight to a node, and one of its tasks runs
with them as Slurm would start it. Nothing is a stand-in but Slurm, which says what nodes there are, and when to begin.
"""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from paislurm.translator.pipeline import compile_job

from .compiling import before_dispatch
from .measure import Ratio, typical

if TYPE_CHECKING:
    from collections.abc import Iterator

JOB = """protocolVersion: 2
name: many
type: job
prerequisites: [{{name: plain, type: dockerimage, uri: debian}}]
taskRoles:
  w:
    instances: {tasks}
    dockerImage: plain
    resourcePerInstance: {{cpu: 1, memoryMB: 100, gpu: 0}}
    commands: ['export X=1; /bin/true; echo $EPOCHREALTIME >stamp']
"""
PREPARE = """
set_batch_defaults
PSL_SUBMIT_DIR=$PWD PSL_FOLDER=$PWD PSL_ATTEMPT=0 PSL_ATTEMPT_FOLDER=$PWD/attempts/0 PSL_JOB_USER=alice
PSL_SCRIPT=$PSL_ATTEMPT_FOLDER/job.sbatch PSL_RUN_ID=1-0 PSL_SECRETS_FOLDER=$PWD/secrets PSL_NODE_FOLDER=$PWD/node
nodes=()
for ((slot = 0; slot < PSL_INSTANCES[0]; slot++)); do
  nodes+=("n$((slot / 8))") PSL_ADDRESS_OF[n$((slot / 8))]=10.0.$((slot / 2048)).$((slot / 8 % 256))
  PSL_PORTS_OF[0.$slot.ssh]=$((20000 + slot)) PSL_PORTS_OF[0.$slot.http]=$((40000 + slot))
done
PSL_NODES_OF[0]="${nodes[*]}" PSL_TASK_COUNT=${PSL_INSTANCES[0]}
cd "$PSL_ATTEMPT_FOLDER" && lay_out_attempt && write_placement && write_environment && write_programs && write_peers
"""
SLOT = """
slot=$((PSL_INSTANCES[0] - 1))
mkdir "$PSL_ATTEMPT_FOLDER/work/0-w/$slot"
mkdir -m 0700 "$PSL_NODE_FOLDER" && mkfifo "$PSL_NODE_FOLDER/0.$slot" "$PSL_NODE_FOLDER/0.other"
echo "0 $slot ssh:1 http:2" >"$PSL_NODE_FOLDER/0.$slot.ports"
"""
"""What the first task of the node has made; one task of the node never ends, so that all of it stays."""
COUNTS = {64: 1.0, 512: 1.5, 5000: 2.0}
"""Numbers of tasks, and the limit for each."""
TURNS = 30


def run() -> Iterator[Ratio]:
    """Yield a ratio for each number of tasks, to a job of the fewest."""
    times: dict[int, list[float]] = {count: [] for count in COUNTS}
    with TemporaryDirectory() as folder:
        for count in COUNTS:
            _prepare(Path(folder, str(count)), count)
        for _ in range(TURNS):
            for count, taken in times.items():
                taken.append(_start(Path(folder, str(count)), count))
    fewest, *others = COUNTS
    *many, of_fewest = typical([times[count] for count in (*others, fewest)])
    for count, taken in zip(others, many, strict=True):
        what = f"from a task's shell to its command and a program of that in a job of {count} tasks : {fewest}"
        yield Ratio(what, taken, of_fewest, COUNTS[count])


def _environment(folder: Path, count: int) -> dict[str, str]:
    slurm = {"JOB_ID": 1, "STEP_ID": 0, "LOCALID": 7, "PROCID": count - 1}
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder), "SLURMD_NODENAME": f"n{(count - 1) // 8}"}
    return environment | {f"SLURM_{name}": str(value) for name, value in slurm.items()}


def _prepare(folder: Path, count: int) -> None:
    """Write the files of a job, and those of the node of its last task."""
    attempt = folder / "attempts/0"
    attempt.mkdir(parents=True)
    script = compile_job(JOB.format(tasks=count)).script
    (attempt / "job.sbatch").write_text(script)
    prepare = folder / "prepare.sh"
    prepare.write_text(before_dispatch(script) + PREPARE + SLOT)
    subprocess.run(["bash", "-p", str(prepare)], env=_environment(folder, count), cwd=folder, check=True)


def _start(folder: Path, count: int) -> float:
    """Run the last task; return the seconds from the start of its shell to the end of a program of its command."""
    attempt = folder / "attempts/0"
    words = ["bash", "-p", str(attempt / "job.sbatch"), "--task", str(folder), "0", "0"]
    began = time.time()
    done = subprocess.run(
        words, env=_environment(folder, count), input="begin\n", text=True, capture_output=True, cwd=attempt, check=True
    )
    assert "\n exit 0 " in done.stdout, done
    return float((attempt / "work/0-w" / str(count - 1) / "stamp").read_text()) - began
