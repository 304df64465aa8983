"""Complete words for bash, zsh and fish: what each shell runs at TAB, and the answer to it.

click knows commands and options, `candidates` knows jobs, tasks and parameters. A word that cannot be completed gives
nothing: an error would be printed into the middle of the user's line.
"""

from __future__ import annotations

import os
import re
from contextlib import redirect_stderr
from io import StringIO
from typing import TYPE_CHECKING

from click.shell_completion import BashComplete, FishComplete, ZshComplete, split_arg_string

if TYPE_CHECKING:
    import click
    from click.shell_completion import CompletionItem, ShellComplete

PROGRAM = "paislurm"
VARIABLE = "_PAISLURM_COMPLETE"
"""Holds what is wanted, `bash_complete` for example."""
_ACTS = re.compile(r"^~|[^\w@%+=:,./~-]")
"""Characters that mean something to bash."""

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

_FISH = """\
function %(complete_func)s
    set -l reply (env COMP_WORDS=(commandline -cp) COMP_CWORD=(commandline -t) \\
        %(complete_var)s=fish_complete %(prog_name)s 2>/dev/null)
    for line in $reply
        set -l parts (string split -m 1 , -- $line)
        switch $parts[1]
            case dir
                __fish_complete_directories (commandline -ct)
            case file
                __fish_complete_path (commandline -ct)
            case plain
                echo -- $parts[2]
        end
    end
end
complete --no-files --command %(prog_name)s --arguments "(%(complete_func)s)"
"""


class Bash(BashComplete):
    """Complete for bash from 4.2 on.

    bash cuts words at `=` and `:` as well, and puts what is chosen behind the last of them; so that the line is read
    here, and what stands before that place is taken off.
    """

    source_template = _BASH

    @staticmethod
    def _check_version() -> None:
        """Say nothing of old versions: the function works there."""

    def get_completion_args(self) -> tuple[list[str], str]:
        """Return the words before the one at the cursor, and that one."""
        line = os.environ["COMP_LINE"]
        words = split_arg_string(line)[1:]
        return (words, "") if line[-1:].isspace() or not words else (words[:-1], words[-1])

    def get_completions(self, args: list[str], incomplete: str) -> list[CompletionItem[str]]:
        """Return what can stand behind the place at which bash has cut the word."""
        items = super().get_completions(args, incomplete)
        breaks = os.environ.get("COMP_WORDBREAKS", "")
        cut = max((incomplete.rfind(each) for each in "=:" if each in breaks), default=-1) + 1
        for item in items:
            if item.type == "plain":
                item.value = _quoted(item.value[cut:])
        return items


class Fish(FishComplete):
    """Complete for fish; values may have commas in them."""

    source_template = _FISH


SHELLS: dict[str, type[ShellComplete]] = {"bash": Bash, "zsh": ZshComplete, "fish": Fish}


def script(shell: str, program: click.Command) -> str:
    """Return what a shell is to read at its start."""
    return SHELLS[shell](program, {}, PROGRAM, VARIABLE).source().strip() + "\n"


def complete(program: click.Command) -> str:
    """Return the answer to what the shell's environment asks; nothing where anything is wrong with it."""
    shell, _, wanted = os.environ[VARIABLE].partition("_")
    if shell not in SHELLS or wanted != "complete":
        return ""
    try:
        # zsh would show what is said on standard error.
        with redirect_stderr(StringIO()):
            return SHELLS[shell](program, {}, PROGRAM, VARIABLE).complete()
    except Exception:  # noqa: BLE001 - the edge: nothing may be printed into a line that is being typed
        return ""


def _quoted(text: str) -> str:
    """Return a value as it can be typed in bash."""
    return _ACTS.sub(r"\\\g<0>", text)
