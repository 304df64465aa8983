"""Check the syntax of each role's commands with bash, and report errors by line of the job file."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from bisect import bisect_right
from typing import TYPE_CHECKING

from ...errors import Diagnostic, Severity
from ...protocol.expressions.command_builder import build_command
from ...protocol.expressions.secrets import without_secrets
from ...reading.document import path_text
from ...validation.diagnostics import DiagnosticCollector

if TYPE_CHECKING:
    from collections.abc import Sequence

    Lines = Sequence[tuple[int, int]]
    """Pairs of a line of a command (from 0) and its line in the job file (from 1)."""
    from collections.abc import Iterable, Mapping

    from ...job import Command, Job, Script
    from ...reading.document import Document


def bash_syntax_errors(job: Job, document: Document, environment: Mapping[str, str]) -> list[Diagnostic]:
    """Return bash's errors in the commands and hooks of roles; none if $PATH of `environment` has no bash."""
    found: dict[Diagnostic, None] = {}
    for position, role in enumerate(job.roles):
        v1, v2 = f"$.taskRoles[{position}].command", f"$.taskRoles.{role.name}.commands"
        path = v1 if job.protocol == "1" else v2
        found |= dict.fromkeys(_bash_errors(path, role.command, job, document, environment))
        for script in role.hooks.scripts:
            found |= dict.fromkeys(_bash_errors("", script, job, document, environment))
    return list(found)


def raw_syntax_errors(document: Document, environment: Mapping[str, str]) -> list[Diagnostic]:
    """Return bash's errors in the commands of a job file with other errors; each reference is replaced by a word."""
    collector = DiagnosticCollector(document)
    roles = document.at(("taskRoles",))
    found: list[Diagnostic] = []
    for name, role in roles.items() if isinstance(roles, dict) else ():
        texts = role.get("commands") if isinstance(role, dict) else None
        where = ("taskRoles", str(name), "commands")
        items = [((*where, number), text) for number, text in enumerate(texts if isinstance(texts, list) else ())]
        built = build_command([(path, text) for path, text in items if isinstance(text, str)], {}, collector, keep=True)
        text = re.sub(r"<%.*?%>", "x", built.text)
        found += _said_of(text, built.lines, f"$.taskRoles.{name}.commands", document, environment)
    # In protocol v1, roles are a list, and the command is a text.
    for path, each in document.mappings(("taskRoles",)):
        if isinstance(command := each.get("command"), str):
            place = document.location((*path, "command"))
            found += _said_of(command, ((0, place.line),), f"{path_text(path)}.command", document, environment)
    return [each for each in found if each.severity is Severity.ERROR]


def _bash_errors(
    path: str, command: Command | Script, job: Job, document: Document, environment: Mapping[str, str]
) -> Iterable[Diagnostic]:
    text = without_secrets(command.text) if job.secrets else command.text
    return _said_of(text, command.lines, path, document, environment)


def _said_of(
    text: str, lines: Lines, path: str, document: Document, environment: Mapping[str, str]
) -> Iterable[Diagnostic]:
    said = bash_says(text, environment)
    if said and "extglob" in text:
        # The commands may enable it themselves, which `bash -n` cannot see.
        said = bash_says(text, environment, "-O", "extglob")
    for number, message in said:
        warning = message.startswith("warning: ")
        yield Diagnostic(
            code="W350" if warning else "E350",
            message=f"bash: {message[9:]}" if warning else f"bash cannot read the commands: {message}",
            location=document.location_at(file_line(lines, number), 1),
            path=path,
        )


_LINE = re.compile(r"^bash: line (\d+): (.*)$")
_ECHO = re.compile(r"^`.*'$")
"""bash repeats the wrong source line in another line."""


def file_line(lines: Lines, number: int) -> int:
    """Return the line in the job file for line `number` (from 1) of a command, or 0."""
    starts = [start for start, _ in lines]
    item = bisect_right(starts, number - 1) - 1
    return lines[item][1] if item >= 0 else 0


def is_bash(text: str, environment: Mapping[str, str]) -> bool:
    """Return whether a text consists of complete bash commands; False if bash is missing."""
    has_bash = shutil.which("bash", path=environment.get("PATH", os.defpath)) is not None
    return has_bash and not bash_says(text, environment)


def bash_says(text: str, environment: Mapping[str, str], *options: str) -> list[tuple[int, str]]:
    """Return the line and the text of each message of `bash -n`, with the bash on $PATH of `environment`."""
    try:
        done = subprocess.run(
            ["bash", "--norc", "--noprofile", *options, "-n"],
            input=text.encode(errors="surrogateescape") + b"\n",
            env={"PATH": environment.get("PATH", os.defpath), "LC_ALL": "C"},
            capture_output=True,
            timeout=60,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return []
    lines = done.stderr.decode(errors="replace").splitlines()
    found = [(int(match[1]), match[2]) for line in lines if (match := _LINE.match(line))]
    return [(number, message) for number, message in found if not _ECHO.match(message)]
