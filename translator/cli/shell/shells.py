"""Completion for bash, zsh and fish: the script of each shell, and the answer to TAB.

click completes commands and options, `candidates` completes jobs, tasks and parameters. On an error the answer is
empty, because a message would appear in the middle of the user's command line.
"""

from __future__ import annotations

import os
import re
from contextlib import redirect_stderr
from io import StringIO
from typing import TYPE_CHECKING, Literal

from click.shell_completion import BashComplete, FishComplete, ZshComplete, split_arg_string
from msgspec import Struct

if TYPE_CHECKING:
    import click
    from click.shell_completion import CompletionItem, ShellComplete

Shell = Literal["bash", "zsh", "fish"]
PROGRAM = "paislurm"
VARIABLE = "_PAISLURM_COMPLETE"
"""The environment variable with the request, such as `bash_complete`."""
_ACTS = re.compile(r"^~|[^\w@%+=:,./~-]")
"""Characters that are special to bash."""

_BASH = """\
%(complete_func)s() {
  local reply type value current=$2
  COMPREPLY=()
  reply=$(COMP_LINE=${COMP_LINE:0:COMP_POINT} COMP_WORDBREAKS=$COMP_WORDBREAKS \\
    %(complete_var)s=bash_complete "${1/#\\~/$HOME}" 2>/dev/null) || return 0
  while IFS=, read -r type value; do
    case $type in
      plain)
        COMPREPLY+=("$value")
        case $value in *[=,/]) compopt -o nospace ;; esac
        ;;
      # bash itself completes files: it knows about quotes, ~ and folders.
      dir) compopt -o dirnames ;;
      file) compopt -o default ;;
    esac
  done <<<"$reply"
}
complete -F %(complete_func)s %(prog_name)s
"""


class Bash(BashComplete):
    """Completion for bash 4.2 or later.

    bash also splits words at `=` and `:`, and before `@`, and inserts the candidate after the last split. So this class
    parses the line itself, and removes the part before that place from candidates.
    """

    source_template = _BASH

    @staticmethod
    def _check_version() -> None:
        """Do not warn of old versions: the function works with them."""

    def get_completion_args(self) -> tuple[list[str], str]:
        """Return the words before the cursor's, and the word at the cursor."""
        line = os.environ["COMP_LINE"]
        words = split_arg_string(line)[1:]
        return (words, "") if line[-1:].isspace() or not words else (words[:-1], words[-1])

    def get_completions(self, args: list[str], incomplete: str) -> list[CompletionItem[str]]:
        """Return the candidates without the part before bash's last split."""
        items = super().get_completions(args, incomplete)
        breaks = os.environ.get("COMP_WORDBREAKS", "")
        cut = max(0, *(incomplete.rfind(each) + (each != "@") for each in "=:@" if each in breaks))
        for item in items:
            if item.type == "plain":
                item.value = _quoted(item.value[cut:])
        return items


class Fish(FishComplete):
    """Completion for fish; values may contain commas."""

    source_template = FishComplete.source_template.replace('string split ","', 'string split -m 1 ","')


SHELLS: dict[str, type[ShellComplete]] = {"bash": Bash, "zsh": ZshComplete, "fish": Fish}


class ShellCompletion(Struct, frozen=True, kw_only=True):
    """A completion script for a shell."""

    shell: Shell
    """The shell."""
    text: str
    """The completion script."""


def script(shell: str, program: click.Command) -> str:
    """Return the completion script of a shell."""
    return SHELLS[shell](program, {}, PROGRAM, VARIABLE).source().strip() + "\n"


def complete(program: click.Command) -> str:
    """Return the answer to the request in the environment; empty on an error."""
    shell, _, wanted = os.environ[VARIABLE].partition("_")
    if shell not in SHELLS or wanted != "complete":
        return ""
    try:
        # zsh would show messages on standard error.
        with redirect_stderr(StringIO()):
            return SHELLS[shell](program, {}, PROGRAM, VARIABLE).complete()
    except Exception:  # noqa: BLE001 - the edge: nothing may be printed into a line that is being typed
        return ""


def _quoted(text: str) -> str:
    """Quote a value for bash."""
    return _ACTS.sub(r"\\\g<0>", text)
