"""Parse srun's command line: only the options that job scripts use."""

from __future__ import annotations

import argparse
import os
from typing import NamedTuple

FLAGS = ("--exact", "--exclusive", "--overlap", "--quiet", "-Q")
"""Options without a value that do nothing on one machine."""

VALUES = (
    "--cpu-bind", "--cpus-per-task", "-c", "--distribution", "-m", "--gpu-bind", "--gpus-per-task", "--gres", "--hint",
    "--job-name", "-J", "--jobid", "--mem", "--mem-bind", "--mem-per-cpu", "--mem-per-gpu", "--mpi", "--nodes", "-N",
    "--ntasks-per-socket", "--time", "-t", "--wait", "-W",
)  # fmt: skip
"""Options with a value that do nothing on one machine."""


class Options(NamedTuple):
    """Hold the command of a step, the number of its tasks, and their streams.

    `output` and `error` are files, "" for srun's own streams; `input` is `all`, `none` or a task's number. `pty`
    gives the task srun's terminal. `unbuffered` relays output as it arrives, not by lines. `environment` is added to
    that of the tasks.
    """

    command: list[str]
    tasks: int
    directory: str
    input: str
    output: str
    error: str
    kill_on_bad_exit: bool
    pty: bool
    unbuffered: bool
    environment: dict[str, str]


def parse(words: list[str]) -> Options:
    """Return the options. Exit with a usage error for an unsupported option. Source: srun(1)."""
    parser = _parser()
    arguments = parser.parse_args(words)
    if not arguments.command:
        parser.error("no command")
    hosts = _hosts(parser)
    if hosts and arguments.ntasks not in (None, len(hosts)):
        # So does slurmctld since September 2026. Source: its messages in 26.05.5.
        parser.error(f"SLURM_HOSTFILE must have a line for each task: {len(hosts)} for --ntasks={arguments.ntasks}")
    nodes = hosts or arguments.nodelist.split(",")
    if unknown := {node for node in nodes if node not in ("", "localhost")}:
        parser.error(f"no such node: {', '.join(sorted(unknown))}")
    everything, *settings = arguments.export.split(",")
    if everything != "ALL" or any("=" not in setting for setting in settings):
        parser.error(f"--export={arguments.export}: only ALL and ALL,NAME=VALUE are supported")
    return Options(
        command=arguments.command,
        tasks=arguments.ntasks or _default_tasks(arguments.het_group, len(hosts)),
        directory=arguments.chdir,
        input=arguments.input,
        output=arguments.output,
        error=arguments.error,
        kill_on_bad_exit=arguments.kill_on_bad_exit != "0",
        pty=arguments.pty,
        unbuffered=arguments.unbuffered,
        environment=dict(setting.split("=", 1) for setting in settings),
    )


def _parser() -> argparse.ArgumentParser:
    usage = "srun [options] command [arguments]"
    parser = argparse.ArgumentParser(prog="srun", usage=usage, allow_abbrev=False, add_help=False)
    for flag in FLAGS:
        parser.add_argument(flag, action="store_true")
    for value in VALUES:
        parser.add_argument(value)
    parser.add_argument("--pty", action="store_true")
    parser.add_argument("-u", "--unbuffered", action="store_true")
    parser.add_argument("-n", "--ntasks", type=int)
    parser.add_argument("--ntasks-per-node", type=int)
    parser.add_argument("--het-group", type=_group)
    parser.add_argument("-w", "--nodelist", default="")
    parser.add_argument("-D", "--chdir", default="")
    parser.add_argument("-i", "--input", type=_input, default="all")
    parser.add_argument("-o", "--output", default="")
    parser.add_argument("-e", "--error", default="")
    parser.add_argument("-K", "--kill-on-bad-exit", nargs="?", const="1", default="0", choices=("0", "1"))
    parser.add_argument("--export", default="ALL")
    parser.add_argument("command", nargs=argparse.REMAINDER)
    return parser


def _group(text: str) -> int:
    """Return a component's number, which must exist in the job. A call from outside the job allows 128 components."""
    size = int(os.environ.get("SLURM_HET_SIZE", "1" if "SLURM_JOB_ID" in os.environ else "128"))
    if not text.isdigit() or int(text) >= size:
        raise argparse.ArgumentTypeError(f"Invalid --het-group value: {text}, the job has {size}")
    return int(text)


def _input(text: str) -> str:
    if text not in ("all", "none") and not text.isdigit():
        raise argparse.ArgumentTypeError(f"{text} is not all, none or a task's number")
    return text


def _hosts(parser: argparse.ArgumentParser) -> list[str]:
    """Return the lines of SLURM_HOSTFILE, one node per task. Source: srun(1), --distribution=arbitrary."""
    path = os.environ.get("SLURM_HOSTFILE")
    if not path:
        return []
    try:
        with open(path, encoding="utf-8") as file:  # noqa: PTH123 - the only file here
            return file.read().split()
    except OSError as fault:
        parser.error(f"SLURM_HOSTFILE: {fault}")


def _default_tasks(group: int | None, hosts: int) -> int:
    suffix = "" if group is None else f"_HET_GROUP_{group}"
    return hosts or int(os.environ.get(f"SLURM_NTASKS{suffix}", "1"))
