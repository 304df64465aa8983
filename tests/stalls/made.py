"""Job files of stalls and of quiet healthy jobs, by seed."""

from __future__ import annotations

import random
import shlex
from pathlib import Path

from msgspec import Struct

HERE = Path(__file__).parent
WITHIN = 3
"""The window of all these jobs, in seconds."""
KINDS = (
    ("tcp", "stop"), ("gloo", "barrier"), ("mpi", "sleep"), ("tcp", "pipe"), ("tcp", "files"),
    ("gloo", "stop"), ("mpi", "stop"), ("gloo", "sleep"), ("gloo", "pipe"), ("gloo", "files"), ("mpi", "barrier"),
)  # fmt: skip
"""How tasks reach each other, and what stalls one."""
WORDS = {
    "stop": "is stopped by a signal",
    "barrier": "barrier|MPI_Barrier@libmpi.*, and the others in MPI_Allreduce@libmpi",
    "sleep": "hrtimer_nanosleep|stall@",
    "pipe": "writes to a full pipe",
    "files": "waits for a file system",
}


class Stall(Struct, frozen=True, kw_only=True):
    """A job in which a task stalls: its file, the task, and words that the report must contain."""

    text: str
    kind: str
    victim: str
    words: str
    moment: str
    """The file in the attempt's folder that has the time of the stall."""


def job(name: str, commands: str, instances: int, progress: str, more: str = "") -> str:
    """Return a job file with one task role."""
    body = "\n".join(f"          {line}" for line in commands.splitlines())
    return f"""
protocolVersion: 2
name: {name}
type: job
prerequisites:
  - {{type: dockerimage, name: image, uri: debian}}
  - {{type: script, name: before, callbacks: [{{event: taskStarts, commands: [sleep 0]}}]}}
taskRoles:
  worker:
    instances: {instances}
    completion: {{minFailedInstances: 1, minSucceededInstances: -1}}
    dockerImage: image
    resourcePerInstance: {{cpu: 1, memoryMB: 100, gpu: 0}}
    commands:
      - |
{body.replace("          ", "        ")}
extras:
  {more}
  slurm:
    progress: {progress}
"""


def stall(seed: int, ranks: Path, python: str, files: Path) -> Stall:
    """Return the stall of a seed. `ranks` is the MPI program, `files` the folder that hangs."""
    chance = random.Random(seed)
    way, how = KINDS[seed % len(KINDS)]
    size, step = chance.randint(3, 4), chance.randint(2, 8)
    victim = chance.randrange(size)
    what = f"files:{files}" if how == "files" else how
    port, more, moment = chance.randint(34000, 60000), "", f"work/0-worker/{victim}/stalled.at"
    index = "$PAI_CURRENT_TASK_ROLE_CURRENT_TASK_INDEX"
    if way == "mpi":
        hosts = ",".join(f"worker-{number}" for number in range(size))
        commands = (
            f"if ((PAI_CURRENT_TASK_ROLE_CURRENT_TASK_INDEX > 0)); then exec sleep infinity; fi\n"
            f"mpirun --allow-run-as-root --oversubscribe -np {size} -H {hosts} -x PATH {ranks} {victim} {step} {how} "
            '"$PWD/stalled.at"'
        )
        moment = "work/0-worker/0/stalled.at"
        more = (
            "com.microsoft.pai.runtimeplugin: [{plugin: ssh, "
            "parameters: {jobssh: true, sshbarrier: true, sshbarrierTimeout: 60}}]"
        )
    else:
        trainer = shlex.quote(str(HERE / "trainer.py"))
        commands = f"{python} {trainer} {way} {index} {size} {port} {victim} {step} {shlex.quote(what)}"
    return Stall(
        text=job(f"stall-{seed}", commands, size, f"{{within: {WITHIN}s, warmUp: 1s}}", more),
        kind=f"{way} {how}",
        victim=f"worker-{victim}",
        words=WORDS[how],
        moment=moment,
    )


ONLY_FIRST = "if [[ $PAI_CURRENT_TASK_ROLE_CURRENT_TASK_INDEX != 0 ]]; then sleep {all}; exit; fi\n"
QUIET = {
    "only one task logs": (ONLY_FIRST + "for i in {{1..{n}}}; do sleep {gap}; echo $i; done", ""),
    "each task logs at its time": ("sleep 0.$RANDOM; for i in {{1..{n}}}; do sleep {gap}; echo $i; done", ""),
    "through a pipe": ("for i in {{1..{n}}}; do sleep {gap}; echo $i; done | cat", ""),
    "a log is opened again": ("for i in {{1..{n}}}; do sleep {gap}; echo $i >>/dev/stderr; done", ""),
    "a long warm-up": ("sleep {warm}; for i in {{1..{n}}}; do echo $i; sleep {gap}; done", ""),
    "a file": ("for i in {{1..{n}}}; do sleep {gap}; echo $i >>loss.1; done", "by: {file: 'loss.*'}, "),
    "a command": ("for i in {{1..{n}}}; do sleep {gap}; echo $i >n; done", "by: {command: 'cat n'}, "),
    "a command in the background": ("(for i in {{1..{n}}}; do sleep {gap}; echo $i; done) & wait", ""),
    "busy": ("for i in {{1..{n}}}; do timeout {gap} sh -c 'while :; do :; done' || :; echo $i; done", ""),
    "tasks that end one by one": (
        "sleep $((PAI_CURRENT_TASK_ROLE_CURRENT_TASK_INDEX * 2)); for i in {{1..{n}}}; do echo $i; sleep {gap}; done",
        "",
    ),
}


def quiet(seed: int) -> tuple[str, str]:
    """Return the kind and the file of a healthy job, whose tasks are quiet for up to two thirds of the window."""
    chance = random.Random(seed)
    kind = list(QUIET)[seed % len(QUIET)]
    commands, by = QUIET[kind]
    number, gap = chance.randint(3, 6), round(chance.uniform(0.2, 0.67) * WITHIN, 2)
    filled = commands.format(n=number, gap=gap, all=round(number * gap + 0.5, 2), warm=WITHIN * 1.5)
    return kind, job(f"quiet-{seed}", filled, chance.randint(1, 3), f"{{{by}within: {WITHIN}s}}")
