"""What a head may be made of: read one as bash and sbatch would, and name every line that the compiler does not write.

A head that was edited by hand is fine as long as it has this form. What is left for a person to read are the texts of
the job file in it, commands and steps, and raw options of sbatch.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ..planning.settings import job_setting_names, role_setting_names
from ..protocol.extras_slurm import RESERVED
from ..slurm_options import PASS_THROUGH

if TYPE_CHECKING:
    from collections.abc import Callable

QUOTED = r"'[^']*'(?:\\''[^']*')*"
_WORD = rf"(?:[A-Za-z0-9_@%+=:,./-]+|{QUOTED})"
_VALUE = rf"(?:{QUOTED}|-?\d+|\((?:{_WORD}(?: {_WORD})*)?\))"
_COMMENT = r"#(?: [^\n]*)?\n"
_SETTING = re.compile(rf"PSL_(\w+?)(\[\d+\])?={_VALUE}(?: +# [^\n]*)?\n")
_EXPORT = re.compile(rf"(?:  )?export [A-Za-z_]\w*={QUOTED}(?:\"\$PAI_USER_NAME\"{QUOTED})*\n")
_DIRECTIVE = re.compile(r"#SBATCH (hetjob|--([a-z][a-z0-9-]*)(?:=[^\s\"'`\\#]+)?)\n")
_FUNCTION = re.compile(r"(job_environment|(\w+)_of_role_\d+)\(\) \{\n")
_STEP = re.compile(r"(?:start|success|exit)_\d+")
_DOCUMENT = re.compile(r"  cat_stdin <<'(\w+)'\n")
_SRUN_OPTIONS = (
    "het-group job-name ntasks cpus-per-task hint gpus-per-task gres exact mem-per-cpu mem mpi kill-on-bad-exit wait "
    "distribution input"
)
_SRUN_WORD = re.compile(
    rf"--(?:{'|'.join(_SRUN_OPTIONS.split())})(?:={_WORD})?|--export=ALL|:"
    r'|--nodelist="\$PSL_SCRATCH/hosts\.\d+"|--chdir="\$PSL_ATTEMPT_FOLDER"'
    r'|bash -p "\$PSL_SCRIPT" --task "\$PSL_FOLDER" "\$PSL_ATTEMPT" \d+'
)
_SRUN = re.compile(r'  (?:SLURM_HOSTFILE="\$PSL_SCRATCH/hosts\.\d+" )?exec srun ')
_BLANK = re.compile(r" (?:\\\n    )?")
_OPTIONS = """
    job-name no-requeue time signal nice nodes ntasks ntasks-per-node cpus-per-task mem mem-per-cpu hint gres
    gpus-per-task network switches
"""
OURS_OF_SBATCH = frozenset((*_OPTIONS.split(), *PASS_THROUGH))
"""The options that the compiler writes; any other one is the job's own, and a person's to read."""


@dataclass(frozen=True, slots=True)
class Passage:
    """Name lines of a script (from 1) that no rule can judge, and what they are."""

    first: int
    last: int
    what: str


@dataclass(slots=True)
class Reading:
    """Hold what was found in a head: lines that do not belong there, by number, and passages for a person."""

    diagnostics: list[tuple[int, str]] = field(default_factory=list)
    to_read: list[Passage] = field(default_factory=list)


def read_head(text: str) -> Reading:
    """Read the head of a script; a line that the compiler does not write is a fault, and reading goes on after it."""
    return _Reader(text).read()


class _Reader:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._found = Reading()
        self._settings = (job_setting_names(), role_setting_names())

    def read(self) -> Reading:
        """Read line after line, or what several lines are together."""
        first = ("#!/bin/bash -p\n", "expected the line of every script, #!/bin/bash -p")
        if not self._take(re.escape(first[0])):
            self._diagnostic(first[1])
        # sbatch reads options up to the first line that is neither blank nor a comment.
        self._lines(self._options)
        for line in ('unset -v "${!PSL_@}"\n', "set -u +o posix\n"):
            if not self._take(re.escape(line)):
                self._diagnostic(f"expected {line.rstrip()}")
        self._lines(self._body)
        return self._found

    def _lines(self, read: Callable[[], bool]) -> None:
        while self._at < len(self._text) and read():
            pass

    def _options(self) -> bool:
        """Read an option of sbatch or a comment; False where the script begins."""
        if match := self._take(_DIRECTIVE):
            name = match[2]
            if name and name not in OURS_OF_SBATCH:
                line = self._line(match.start())
                if name in RESERVED:
                    self._found.diagnostics.append((line, f"#SBATCH --{name} is not the job's to set"))
                else:
                    self._found.to_read.append(Passage(line, line, f"raw option of sbatch, --{name}"))
            return True
        if self._text.startswith("unset ", self._at):
            return False
        if self._text.startswith("#SBATCH", self._at) or not self._take(_COMMENT):
            self._diagnostic("neither an option of sbatch nor a comment")
        return True

    def _body(self) -> bool:
        if self._take(r"\n") or self._take(_COMMENT):
            return True
        if match := self._take(_SETTING):
            if match[1] not in self._settings[bool(match[2])]:
                self._found.diagnostics.append((self._line(match.start()), f"PSL_{match[1]} is no setting"))
        elif match := self._take(_FUNCTION):
            self._function(match)
        else:
            self._diagnostic("neither a setting nor a function of the job")
        return True

    def _function(self, match: re.Match[str]) -> None:
        """Read a function of the head to its end, by its name."""
        kind = match[2] or match[1]
        start = self._line(match.start())
        if kind == "srun":
            self._srun()
        elif kind == "environment":
            self._while(_EXPORT)
        elif kind == "job_environment":
            if document := self._take(_DOCUMENT):
                self._while(_EXPORT)
                self._expect(f"{document[1]}\n")
        elif kind == "commands" or _STEP.fullmatch(kind):
            self._texts(f"{kind} of task role {match[1].rpartition('_')[2]}")
        else:
            self._found.diagnostics.append((start, f"{match[1]} is no function of a job"))
        self._expect("}\n")

    def _srun(self) -> None:
        if not self._take(_SRUN):
            self._diagnostic("expected srun")
            return
        while self._take(_SRUN_WORD):
            if not self._take(_BLANK):
                break
        self._expect("\n")

    def _texts(self, what: str) -> None:
        """Pass over here-documents with texts of the job file."""
        while document := self._take(_DOCUMENT):
            first, end = self._line(self._at), re.compile(rf"^{document[1]}\n", re.MULTILINE)
            closing = end.search(self._text, self._at)
            if closing is None:
                self._diagnostic(f"the here-document {document[1]} has no end")
                return
            self._at = closing.end()
            self._found.to_read.append(Passage(first, self._line(closing.start()) - 1, what))

    def _while(self, pattern: re.Pattern[str]) -> None:
        while self._take(pattern):
            pass

    def _expect(self, text: str) -> None:
        if not self._take(re.escape(text)):
            self._diagnostic(f"expected {text.rstrip() or 'the end of the line'}")

    def _take(self, pattern: str | re.Pattern[str]) -> re.Match[str] | None:
        """Read what matches here, and return it."""
        match = re.compile(pattern).match(self._text, self._at)
        if match:
            self._at = match.end()
        return match

    def _diagnostic(self, message: str) -> None:
        """Note a fault in the rest of the line, and pass over it."""
        line = self._line(self._at)
        end = self._text.find("\n", self._at)
        self._at = len(self._text) if end < 0 else end + 1
        self._found.diagnostics.append((line, message))

    def _line(self, position: int) -> int:
        return self._text.count("\n", 0, position) + 1
