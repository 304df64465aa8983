"""The group of all commands. It contains a summary of each, and imports a command only to run it."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from collections.abc import Mapping

GROUPS: Mapping[str, Mapping[str, str]] = {
    "compiler": {
        "check": "Report all errors and warnings of a job file.",
        "plan": "Show the request to Slurm and its reasons.",
        "script": "Print the batch script of a job file.",
        "explain": "Explain an exit code, or the origin of each line of the script.",
        "convert": "Convert a job file of protocol v1 to protocol v2.",
        "diff": "Show the differences between two jobs.",
        "verify": "Compare a script with paislurm's output.",
    },
    "running": {
        "submit": "Compile a job file and submit it.",
        "rehearse": "Break a job on purpose, and show whether its retry continues.",
        "wait": "Wait for the end of a job.",
        "exec": "Open a shell in a running task, or run a command in it.",
        "port-forward": "Reach a port of a task from another machine.",
        "update": "Change a waiting or running job: its time limit, partition, retries.",
        "cancel": "Cancel a job.",
        "remove": "Remove jobs that have ended.",
        "monitor": "Monitor your jobs: record how they end, and submit retries.",
    },
    "showing": {
        "list": "List your jobs.",
        "status": "Show the state of a job and its tasks.",
        "logs": "Show the output of tasks.",
        "watch": "Show the state of jobs, live.",
        "nodes": "Show, add or remove bad nodes.",
        "report": "Write an HTML page about a job, or a comparison of jobs.",
    },
    "program": {
        "site": "Detect, show or check the site profile.",
        "schema": "Print the JSON Schema of job files, site profiles, or command output.",
        "completion": "Print a completion script for bash, zsh or fish.",
    },
}
"""Summaries by command, by folder of `commands`. The command NAME is `command` of the module NAME, `_` for `-`."""
TITLES: Mapping[str, str] = {
    "compiler": "Compile job files",
    "running": "Run jobs",
    "showing": "Show jobs",
    "program": "The site and the program",
}
COMMANDS: Mapping[str, str] = {name: line for group in GROUPS.values() for name, line in group.items()}
"""A summary of each command."""

ALIASES: Mapping[str, str] = {"describe": "status", "ls": "list", "ps": "list", "rm": "remove", "ssh": "exec"}
"""Commands of other programs, with ours."""
_UPDATE = (
    "paislurm update JOB changes time, partition and retries; for other changes edit FILE and run paislurm submit FILE"
)
_SIZES = "paislurm list --columns name,size"
HINTS: Mapping[str, str] = {
    "apply": "paislurm submit FILE",
    "delete": "paislurm cancel JOB to end a job, paislurm remove JOB to remove its folder",
    "download": "paislurm status JOB, which shows the job's folder with all its files",
    "du": _SIZES,
    "edit": _UPDATE,
    "explain-exit": "paislurm explain CODE",
    "get": "paislurm list or paislurm status JOB",
    "help": "paislurm --help; paislurm submit --help shows the help of a command",
    "hold": "paislurm update JOB --hold",
    "info": "paislurm status JOB",
    "kill": "paislurm cancel JOB",
    "logs-follow": "paislurm logs -f JOB",
    "modify": _UPDATE,
    "patch": _UPDATE,
    "queue": "paislurm list",
    "release": "paislurm update JOB --release",
    "render": "paislurm script FILE",
    "rerun": "paislurm submit --again JOB",
    "resubmit": "paislurm submit --again JOB",
    "retry": "paislurm submit --again JOB",
    "run": "paislurm submit FILE --follow",
    "runtime": "paislurm verify --runtime",
    "scale": _UPDATE,
    "shell": "paislurm exec JOB TASK",
    "start": "paislurm submit FILE",
    "stop": "paislurm cancel JOB",
    "tail": "paislurm logs -f JOB",
    "top": "paislurm status JOB --usage",
    "usage": f"paislurm status JOB --usage for CPU and memory, {_SIZES} for disk",
    "validate": "paislurm check FILE",
    "version": "paislurm --version",
}
"""Hints for words that have several meanings here, or need other arguments."""


class LazyGroup(click.Group):
    """A group whose `--help` imports none of its commands."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """Return the names in the order of COMMANDS."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Import a command and return it."""
        cmd_name = ALIASES.get(cmd_name, cmd_name)
        if cmd_name not in COMMANDS:
            return None
        folder = next(folder for folder, group in GROUPS.items() if cmd_name in group)
        module = f".commands.{folder}.{cmd_name.replace('-', '_')}"
        command = import_module(module, __package__).command
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """Write a table for each group of commands, all with the same columns."""
        width = max(map(len, COMMANDS))
        for folder, group in GROUPS.items():
            with formatter.section(TITLES[folder]):
                formatter.write_dl([(name.ljust(width), line) for name, line in group.items()])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Suggest a similar name for an unknown one."""
        if args and ALIASES.get(args[0], args[0]) not in COMMANDS and not args[0].startswith("-"):
            ctx.fail(f"unknown command '{args[0]}'; {_hint(args[0])}")
        return super().resolve_command(ctx, args)


def _hint(word: str) -> str:
    from ..errors import nearest

    if word in HINTS:
        return f"use {HINTS[word]}"
    near = nearest(word, COMMANDS)
    return f"did you mean '{near}'?" if near else "commands are: " + ", ".join(COMMANDS)
