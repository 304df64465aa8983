"""What a head may be made of: read one as bash and sbatch would, and name every line that the compiler does not write.

A head that was edited by hand is fine as long as it has this form. What is left for a person to read are the texts of
the job file in it, commands and steps, and what no form can judge: raw options of sbatch, paths, images, and variables
that are not OpenPAI's.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import TYPE_CHECKING

from ..lazy import regex
from ..planning.infiniband import infiniband_names
from ..planning.settings.choose import job_setting_forms, role_setting_forms
from .command_grammar import OURS_OF_SBATCH, directive_fault, srun_fault
from .head_reading import Found, Passage, Reading, missing_and_double

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..planning.settings.forms import Value

_QUOTED = r"'[^']*'(?:\\''[^']*')*"
_WORD = rf"(?:[A-Za-z0-9_@%+=:,./-]+|{_QUOTED})"
_VALUE = rf"({_QUOTED}|0|-?[1-9][0-9]{{0,17}}|\((?:{_WORD}(?: {_WORD})*)?\))"
_COMMENT = regex(r"#(?: [^\n]*)?\n")
_SETTING = regex(rf"PSL_([A-Z_]+)(?:\[(0|[1-9][0-9]{{0,8}})\])?={_VALUE}(?: +# [^\n]*)?\n")
_EXPORT = regex(rf"(?:  )?export ([A-Za-z_][A-Za-z0-9_]*)={_QUOTED}(?:\"\$PAI_USER_NAME\"{_QUOTED})*\n")
_DIRECTIVE = regex(r"#SBATCH (hetjob|--([a-z][a-z0-9-]*)(?:=([^\s\"'`\\#]+))?)\n")
_FUNCTION = regex(r"(?:(job_environment|environment_of_every_role)|([a-z_0-9]+)_of_role_(0|[1-9][0-9]{0,8}))\(\) \{\n")
_COMMAND = regex(r"(?:[^\n]*\\\n)*[^\n]*\n")
"""A command up to the end of its last line."""
_REST_OF_FUNCTION = regex(rf"(?:(?!\}}\n|{_FUNCTION.pattern})[^\n]+\n)*(?:\}}\n)?")
"""What follows a faulty line in a function: its other lines are no faults of their own."""
_STEP = regex(r"(?:start|success|failure|exit)_[0-9]+")
_DOCUMENT = regex(r"  cat_stdin <<'(END_OF_[A-Z]+(?:_[0-9]+)?)'\n")
_SPECIAL = frozenset(("PAI_CODE_DIR", "PAI_OUTPUT_DIR", "PAI_USER_NAME", "PAI_USERNAME"))
"""Paths that the batch script itself fetches or makes, and a name that is part of paths."""


class _Reader:
    def __init__(self, text: str) -> None:
        self._text = text
        self._text_lines = text.split("\n")
        self._starts = [0, *(match.end() for match in re.finditer("\n", text))]
        self._at = 0
        self._found = Reading()
        self._in_component: set[str] = set()

    def read(self) -> Reading:
        """Read line after line, or what several lines are together."""
        if not self._take(re.escape("#!/bin/bash -p\n")):
            self._diagnostic("expected the line of every script, #!/bin/bash -p")
        # sbatch reads options up to the first line that is neither blank nor a comment.
        self._lines(self._options)
        for line in ('unset -v "${!PSL_@}"\n', "set -u +o posix\n"):
            if not self._take(re.escape(line)):
                self._diagnostic(f"expected {line.rstrip()}")
        self._lines(self._body)
        self._found.diagnostics += missing_and_double(self._found, self._line(len(self._text)))
        self._found.diagnostics.sort()
        return self._found

    def _lines(self, read: Callable[[], bool]) -> None:
        while self._at < len(self._text) and read():
            pass

    def _options(self) -> bool:
        """Read an option of sbatch or a comment; False where the script begins."""
        if match := self._take(_DIRECTIVE):
            self._directive(self._line(match.start()), match[2], match[3])
            return True
        if self._text.startswith("unset ", self._at):
            return False
        if self._text.startswith("#SBATCH", self._at) or not self._take(_COMMENT):
            self._diagnostic("neither an option of sbatch nor a comment")
        return True

    def _directive(self, line: int, name: str | None, value: str | None) -> None:
        if name is None:
            self._in_component.clear()
        elif fault := directive_fault(name, value):
            self._found.diagnostics.append((line, fault))
        elif name not in OURS_OF_SBATCH:
            self._passage(line, line, f"raw option of sbatch, --{name}")
        elif name in self._in_component:
            self._found.diagnostics.append((line, f"duplicate #SBATCH --{name}"))
        else:
            self._in_component.add(name)

    def _body(self) -> bool:
        if self._take(r"\n") or self._take(_COMMENT):
            return True
        if match := self._take(_SETTING):
            self._setting(match)
        elif match := self._take(_FUNCTION):
            self._function(match)
        else:
            self._diagnostic("neither a setting nor a function of the job")
            self._take(_REST_OF_FUNCTION)
        return True

    def _setting(self, match: re.Match[str]) -> None:
        line, name, role, value = self._line(match.start()), match[1], match[2], _value(match[3])
        form = (job_setting_forms() if role is None else role_setting_forms()).get(name)
        if form is None:
            self._found.diagnostics.append((line, f"PSL_{name} is no setting"))
        elif not form.fits(value):
            self._found.diagnostics.append((line, f"PSL_{name} is not {form.what}"))
        elif form.to_read:
            self._passage(line, self._line(match.end() - 1), f"PSL_{name}, {form.what}")
        self._found.settings.append(Found(line, name, role or "", value))
        if name == "ROLE_NAME" and role is not None:
            self._found.role_names[role] = str(value)

    def _function(self, match: re.Match[str]) -> None:
        """Read a function of the head to its end, by its name."""
        kind, role, start = match[1] or match[2], match[3] or "", self._line(match.start())
        self._found.functions.append(Found(start, kind, role))
        if kind == "srun":
            command = self._take(_COMMAND)
            if fault := srun_fault(command[0] if command else "", role, self._found.role_name(role)):
                self._found.diagnostics.append((start + 1 + fault[0], fault[1]))
                self._take(_REST_OF_FUNCTION)
                return
        elif kind in ("environment", "environment_of_every_role"):
            if kind == "environment" and self._take("  environment_of_every_role\n"):
                self._found.calls_environment_of_every_role = True
            while self._export(len(self._text)):
                pass
        elif kind == "job_environment":
            self._documents("", self._exports)
        elif kind == "commands" or _STEP.fullmatch(kind):
            self._documents(f"{kind} of task role {self._found.role_name(role)}", self._text_of_job)
        else:
            self._found.diagnostics.append((start, f"{kind}_of_role_{role} is no function of a job"))
        if not self._take(r"\}\n"):
            self._diagnostic("expected }")
            self._take(_REST_OF_FUNCTION)

    def _documents(self, what: str, read: Callable[[int, str], None]) -> None:
        """Read here-documents, each up to the line that is its delimiter: there bash ends it, within quotes or not."""
        while document := self._take(_DOCUMENT):
            closing = re.compile(rf"^{document[1]}\n", re.MULTILINE).search(self._text, self._at)
            if closing is None:
                self._diagnostic(f"the here-document {document[1]} has no end")
                return
            read(closing.start(), what)
            self._at = closing.end()

    def _exports(self, end: int, _: str) -> None:
        while self._export(end):
            pass
        if self._at != end:
            self._diagnostic("no export of a quoted value")

    def _text_of_job(self, end: int, what: str) -> None:
        self._passage(self._line(self._at), self._line(end) - 1, what)

    def _export(self, end: int) -> bool:
        match = _EXPORT.match(self._text, self._at, end)
        if match is None:
            return False
        self._at = match.end()
        name, line = match[1], self._line(match.start())
        if name.startswith("PSL_"):
            self._found.diagnostics.append((line, f"{name} is not for tasks to have"))
        elif name in _SPECIAL or not (name.startswith(("PAI_", "FC_")) or name in infiniband_names()):
            self._passage(line, self._line(match.end() - 1), f"variable {name}")
        return True

    def _passage(self, first: int, last: int, what: str) -> None:
        text = "".join(self._text_lines[first - 1 : last])
        hidden = any(not char.isprintable() and char != "\t" for char in text)
        self._found.to_read.append(Passage(first, last, what + ", with characters that terminals do not show" * hidden))

    def _take(self, pattern: str | re.Pattern[str]) -> re.Match[str] | None:
        """Read what matches here, and return it."""
        expression = re.compile(pattern) if isinstance(pattern, str) else pattern
        match = expression.match(self._text, self._at)
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
        return bisect_right(self._starts, position)


def read_head(text: str) -> Reading:
    """Read the head of a script; a line that the compiler does not write is a fault, and reading goes on after it."""
    return _Reader(text).read()


def _value(text: str) -> Value:
    """Return what a setting is, as bash reads it."""
    if text.startswith("'"):
        return _plain(text)
    if text.startswith("("):
        return tuple(_plain(word[0]) for word in re.finditer(_WORD, text[1:-1]))
    return int(text)


def _plain(word: str) -> str:
    return word[1:-1].replace("'\\''", "'") if word.startswith("'") else word
