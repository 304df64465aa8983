"""Checks of a job file by this machine: bash on the syntax of commands, and the size of codeDir."""

from __future__ import annotations

import os
import re
import subprocess
from bisect import bisect_right
from pathlib import Path
from typing import TYPE_CHECKING

from ...errors import BackendError, Diagnostic, Severity
from ...protocol.expressions.command_builder import build_command
from ...protocol.expressions.secrets import without_secrets
from ...reading.document import path_text
from ...validation.diagnostics import DiagnosticCollector

if TYPE_CHECKING:
    from ...pipeline import Compiled
    from ..session import Session


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
    import shutil

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


MAX_CODE_BYTES = 200_000_000
"""The same as PSL_MAX_CODE_BYTES of the runtime. Source: PAI rest-server, protocol v1."""
MAX_SECONDS = 5.0
"""Seconds for the measurement; after that, only the batch script checks the folder."""


def code_size_errors(compiled: Compiled, session: Session) -> list[Diagnostic]:
    """Return the diagnostic for a too large codeDir; none if it cannot be measured here."""
    parts = dict(compiled.plan.environment.paths).get("PAI_CODE_DIR", ())
    path = session.user.join(parts).removeprefix("file://")
    size = _bytes_in(path, session) if path.startswith("/") and path.strip("/") else None
    if size is None or size <= MAX_CODE_BYTES:
        return []
    where = (*compiled.job.paths.directories.split(".")[1:], "codeDir")
    return [
        Diagnostic(
            code="E337",
            message=f"codeDir {path} has {size} bytes; the limit is {MAX_CODE_BYTES}, because each task gets a copy",
            location=compiled.document.location(where),
            path=".".join(("$", *where)),
            hint="move data and results to another folder, and set `dataDir` to it",
        )
    ]


def _bytes_in(path: str, session: Session) -> int | None:
    """Return the bytes of a folder as the batch script counts them, None if that fails."""
    if not Path(path).exists():
        return None
    try:
        done = session.runner.run(["du", "-sbD", "--", path], timeout=MAX_SECONDS)
    except BackendError:
        return None
    number = done.stdout.partition("\t")[0]
    return int(number) if done.status == 0 and number.isdecimal() else None
