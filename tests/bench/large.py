"""What the batch script of a large job costs: CPU time and memory on the batch node, for up to 10,000 tasks.

The batch script is the real one. srun, scontrol and getent are stood in for: one small program names the nodes, says
what the tasks of a role would report, and makes the files that they would make. What the programs take that stand in
for others is not counted.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, TypedDict

from paislurm.translator.site.profile import Address, AddressMethod, Partition, Shape, Site

from .compiling import HEAD, ROLE, script_of
from .measure import Ratio, cost, exponent

if TYPE_CHECKING:
    from collections.abc import Iterator


class Options(TypedDict, total=False):
    """What is other than in the first job: see `batch`."""

    roles: int
    gang: bool
    address: AddressMethod


SIZES = (1250, 2500, 5000, 10_000)
LOCAL_TASKS = 64
A_NODE = 8
SHAPE = Shape.of(count=1250, cpus=A_NODE, memory_mib=1 << 18)
SITE = Site.of(partitions={"big": Partition.of(nodes=(SHAPE,))}, default_partition="big").known()
MOST_SECONDS, MOST_MEMORY = 15, 64e6
OTHERS: dict[str, Options] = {
    "125 roles": {"roles": 125},
    "1,250 roles": {"roles": 1250},
    "a role without gang allocation": {"gang": False},
    "2 roles with Slurm's own addresses": {"roles": 2, "address": "node-address"},
}
STAND_IN = """
import os, queue, re, sys, threading, time
folder = os.environ["STAND_INS"]
kind, words = os.path.basename(sys.argv[0]), sys.argv[1:]

def say(text):
    os.write(1, text.encode() + b"\\n")

def lines_of_tasks(role, nodes):
    "The tasks of a step: they are prepared, begin when they are told to, and end at once."
    for slot, node in enumerate(nodes):
        say(f"ports {role} {slot} ssh:{20000 + slot % 8} http:{30000 + slot % 8}")
    say(f"launched {role} {role}")
    for node in dict.fromkeys(nodes):
        say(f"prepared {node}")
    if sys.stdin.readline() != "begin\\n":
        return
    for slot, node in enumerate(nodes):
        say(f"start {role} {slot} {slot} 0 {node} {role} 1700000000")
    for slot in range(len(nodes)):
        say(f"exit {role} {slot} {slot} 0 0 0 success 1700000001")

def lines_of_slots(role, nodes):
    "The same without gang allocation: slots take tasks until there are none left."
    commands = queue.SimpleQueue()
    threading.Thread(target=lambda: any(map(commands.put, sys.stdin)), daemon=True).start()
    say(f"launched {role} {role}")
    for slot in range(len(nodes)):
        say(f"free {role} {slot}")
    while (line := commands.get()) != "quit\\n":
        _, slot, index, attempt = line.split()
        say(f"start {role} {slot} {index} {attempt} {nodes[int(slot)]} {role} 1700000000")
        say(f"exit {role} {slot} {index} {attempt} 0 0 success 1700000001")
        say(f"free {role} {slot}")

if kind == "srun":
    role = words[words.index("--task") + 3]
    with open(os.environ["SLURM_HOSTFILE"]) as file:
        nodes = file.read().split()
    (lines_of_slots if os.environ["GANG"] == "off" else lines_of_tasks)(role, nodes)
elif words[-2:-1] == ["node"]:
    for name in words[-1].split(","):
        number = int(name[1:])
        say(f"NodeName={name} Arch=x86_64 NodeAddr=10.0.{number // 250}.{number % 250 + 1} State=MIXED")
elif kind == "scontrol":
    for first, last in re.findall(r"\\[(\\d+)-(\\d+)\\]", words[-1]):
        say("\\n".join(f"n{node}" for node in range(int(first), int(last) + 1)))
elif kind == "getent":
    for name in words[1:]:
        number = int(name[1:])
        say(f"10.0.{number // 250}.{number % 250 + 1} STREAM {name}")
with open(f"{folder}/{os.getpid()}", "w") as file:
    print(time.process_time(), file=file)
os._exit(0)
"""


@dataclass(frozen=True)
class Batch:
    """What the batch side of a job took: CPU seconds without those of stand-ins, and bytes of memory."""

    cpu: float
    memory: float


def run() -> Iterator[Ratio]:
    """Yield the ratios: for two roles, for many, and without gang allocation."""
    costs = [batch(size, roles=2) for size in SIZES]
    tasks = f"{SIZES[-1]:,} tasks of"
    yield Ratio(f"CPU seconds of the batch script, {tasks} 2 roles : {MOST_SECONDS}", costs[-1].cpu, MOST_SECONDS, 1)
    yield Ratio(f"memory of it : {MOST_MEMORY / 1e6:.0f} MB", costs[-1].memory, MOST_MEMORY, 1)
    slope = exponent(SIZES, [each.cpu for each in costs])
    yield Ratio(f"exponent of tasks in the CPU time of {SIZES[0]:,} to {SIZES[-1]:,} : 1", slope, 1, 1.15)
    yield _inodes()
    for what, options in OTHERS.items():
        costs = [batch(size, **options) for size in (SIZES[0], SIZES[-1])]
        yield Ratio(f"CPU seconds, {tasks} {what} : {MOST_SECONDS}", costs[1].cpu, MOST_SECONDS, 1)
        each = [taken.cpu / size for taken, size in zip(costs, (SIZES[0], SIZES[-1]), strict=True)]
        yield Ratio(f"CPU seconds a task, {what}: of {SIZES[-1]:,} : of {SIZES[0]:,}", each[1], each[0], 1.4)


def _inodes() -> Ratio:
    """Count what a real job of tasks leaves on this machine, which is one node to it."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "job.yaml").write_text(job(LOCAL_TASKS, 1))
        words = [
            sys.executable,
            "-m",
            "paislurm.translator.cli.main",
            "submit",
            "job.yaml",
            "--backend",
            "local",
            "--wait",
        ]
        env = {**os.environ, "PAISLURM_HOME": f"{folder}/home"}
        subprocess.run(words, env=env, cwd=folder, capture_output=True, check=True)
        (left,) = (folder / "home/jobs").iterdir()
        count = sum(1 for _ in left.rglob("*"))
    return Ratio(f"inodes a task of a job of {LOCAL_TASKS}, all told : 4", count / LOCAL_TASKS, 4, 1)


def job(tasks: int, roles: int, *, gang: bool = True) -> str:
    """Return a job file with so many tasks in equal roles."""
    extras = "" if gang else "extras: {gangAllocation: false}\n"
    return HEAD + "".join(ROLE % (k, tasks // roles) for k in range(roles)) + extras


def batch(tasks: int, roles: int = 1, *, gang: bool = True, address: AddressMethod = "getent") -> Batch:
    """Run the batch script of a job to its end, and return what it took."""
    script = script_of(job(tasks, roles, gang=gang), SITE.model_copy(update={"address": Address(address)}))
    with TemporaryDirectory() as name:
        folder = Path(name)
        for path in ("bin", "attempts/0", "times"):
            (folder / path).mkdir(parents=True)
        (folder / "attempts/0/job.sbatch").write_text(script)
        _stand_in(folder / "bin")
        words = ["bash", "-p", str(folder / "attempts/0/job.sbatch"), str(folder), "0", "tag"]
        taken = cost(words, _environment(folder, script, gang=gang))
        result = json.loads((folder / "attempts/0/result.json").read_text())
        assert (result["outcome"], len(result["tasks"])) == ("succeeded", tasks), result["reason"]
        assert all(task["state"] == "SUCCEEDED" for task in result["tasks"])
        others = sum(float(word) for file in (folder / "times").iterdir() for word in file.read_text().split())
    return Batch(taken.cpu - others, taken.memory)


def _stand_in(folder: Path) -> None:
    for name in ("srun", "scontrol", "getent"):
        (folder / name).write_text(f"#!{sys.executable} -SI\n{STAND_IN}")
        (folder / name).chmod(0o755)


def _environment(folder: Path, script: str, *, gang: bool) -> dict[str, str]:
    """Return what Slurm would say of the nodes that the script asks for, which for each component are others."""
    asked = [int(count) for count in re.findall(r"(?m)^#SBATCH --nodes=(\d+)", script)]
    slurm = {"SLURM_JOB_ID": "1"}
    first = 0
    for component, count in enumerate(asked):
        group = f"_HET_GROUP_{component}" if len(asked) > 1 else ""
        slurm[f"SLURM_JOB_ID{group}"] = str(component + 1)
        slurm[f"SLURM_JOB_NUM_NODES{group}"] = str(count)
        slurm[f"SLURM_JOB_NODELIST{group}"] = f"n[{first}-{first + count - 1}]"
        slurm[f"SLURM_TASKS_PER_NODE{group}"] = f"{A_NODE}(x{count})"
        first += count
    own = {"PATH": f"{folder}/bin:/usr/bin:/bin", "HOME": str(folder), "TMPDIR": str(folder), "SLURMD_NODENAME": "n0"}
    return own | {"STAND_INS": f"{folder}/times", "GANG": "on" if gang else "off"} | slurm
