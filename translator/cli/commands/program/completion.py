"""`paislurm completion`: completion scripts for shells."""

from __future__ import annotations

from typing import get_args

import click

from ...options import examples, json_option
from ...output.console import print_file, print_json
from ...shell.shells import Shell, ShellCompletion, script


@click.command(
    epilog=examples(
        "paislurm completion bash > ~/.local/share/bash-completion/completions/paislurm",
        "source <(paislurm completion bash)                    # in this shell only",
        "paislurm completion zsh > ~/.zfunc/_paislurm          # where ~/.zfunc is in $fpath before compinit",
        "paislurm completion fish > ~/.config/fish/completions/paislurm.fish",
    )
)
@click.argument("shell", type=click.Choice(get_args(Shell)))
@json_option
def command(shell: Shell, *, as_json: bool) -> int:
    """Print the script with which bash, zsh or fish completes commands, options, files, jobs, tasks and parameters.

    An administrator can install it for all users: for bash in /usr/share/bash-completion/completions. Completion reads
    files only; TAB never calls Slurm.
    """
    from ...main import cli

    text = script(shell, cli)
    if as_json:
        print_json(ShellCompletion(shell=shell, text=text))
    else:
        print_file(text)
    return 0
