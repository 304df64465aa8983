"""The group of all commands: it knows a line about each, and imports a command only to run it."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from collections.abc import Mapping

GROUPS: Mapping[str, Mapping[str, str]] = {
    "compiler": {
        "check": "Say what is wrong with a job file.",
        "plan": "Show what would be asked of Slurm, and why.",
        "script": "Print the batch script.",
        "explain": "Say which lines of the script come from where.",
        "convert": "Rewrite a job file of protocol v1 as protocol v2.",
        "diff": "Show what differs between two jobs.",
        "verify": "Tell whether a script is what paislurm makes.",
    },
    "running": {
        "submit": "Compile a job file and submit it.",
        "wait": "Wait for the end of a job.",
        "exec": "Open a shell in a task that runs, or run a command there.",
        "port-forward": "Reach a port of a task from elsewhere.",
        "update": "Change a job that waits or runs: its time limit, partition, retries.",
        "cancel": "End a job.",
        "remove": "Remove jobs that have ended.",
        "monitor": "Look after your jobs: retry what is to be retried.",
    },
    "showing": {
        "list": "List your jobs.",
        "status": "Show how a job and its tasks stand.",
        "logs": "Show what the tasks print.",
        "top": "Show what the tasks of a job use: CPU, memory, GPUs.",
        "watch": "Show how jobs stand, as it changes.",
        "du": "Show how much room jobs take.",
        "report": "Write a page about a job, or one that compares jobs.",
        "explain-exit": "Say what an exit code or a state of Slurm means.",
    },
    "program": {
        "site": "Write a site profile by what Slurm says, show it, or check jobs against it.",
        "schema": "Print the JSON Schema of job files, of site profiles, or of what commands print.",
        "runtime": "Print the part of scripts that is the same in every job.",
        "completion": "Print what makes bash, zsh or fish complete words.",
        "help": "Show the help of a command.",
        "version": "Print the version.",
    },
}
"""By the folder of `commands` that they are in; each is `command` of the module of its name, `_` for `-`."""
TITLES: Mapping[str, str] = {
    "compiler": "Compile job files",
    "running": "Run jobs",
    "showing": "Look at jobs",
    "program": "The site and the program",
}
COMMANDS: Mapping[str, str] = {name: line for group in GROUPS.values() for name, line in group.items()}
"""A line about each command."""

ALIASES: Mapping[str, str] = {"describe": "status", "ls": "list", "ps": "list", "rm": "remove", "ssh": "exec"}
"""What people type who know other programs."""
_UPDATE = "paislurm update JOB changes time, partition, retries; for all else change FILE and paislurm submit FILE"
HINTS: Mapping[str, str] = {
    "apply": "paislurm submit FILE",
    "delete": "paislurm cancel JOB ends a job, paislurm remove JOB removes its folder",
    "download": "paislurm status JOB shows the job's folder, which has all its files",
    "edit": _UPDATE,
    "get": "paislurm list or paislurm status JOB",
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
    "scale": _UPDATE,
    "shell": "paislurm exec JOB TASK",
    "start": "paislurm submit FILE",
    "stop": "paislurm cancel JOB",
    "tail": "paislurm logs -f JOB",
    "usage": "paislurm du",
    "validate": "paislurm check FILE",
}
"""What to type instead of words that would mean more than one thing here, or need something else behind them."""

OTHER_CHANGES = "Commands, images, tasks and resources stay as they are: change the job file and `paislurm submit` it."
"""What to do where `update` cannot change what somebody wants to."""


class LazyGroup(click.Group):
    """A group whose `--help` imports none of its commands."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """Return the names in the order of the table."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Import a command."""
        cmd_name = ALIASES.get(cmd_name, cmd_name)
        if cmd_name not in COMMANDS:
            return None
        folder = next(folder for folder, group in GROUPS.items() if cmd_name in group)
        module = f".commands.{folder}.{cmd_name.replace('-', '_')}"
        command = import_module(module, __package__).command
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """Write a table for each group, all with the same columns."""
        width = max(map(len, COMMANDS))
        for folder, group in GROUPS.items():
            with formatter.section(TITLES[folder]):
                formatter.write_dl([(name.ljust(width), line) for name, line in group.items()])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Suggest a near name for one that there is not."""
        if args and ALIASES.get(args[0], args[0]) not in COMMANDS and not args[0].startswith("-"):
            ctx.fail(f"there is no command '{args[0]}'; {_hint(args[0])}")
        return super().resolve_command(ctx, args)


def _hint(word: str) -> str:
    from ..errors import nearest

    if word in HINTS:
        return f"what you look for is: {HINTS[word]}"
    near = nearest(word, COMMANDS)
    return f"did you mean '{near}'?" if near else "there are: " + ", ".join(COMMANDS)
