"""Faults as records, and the errors that carry them to the command line.

PaislurmError                 exit code
├── UsageError                2   the command line cannot be understood
├── ProtocolError             3   the job file is wrong
├── SiteError                 4   the site profile is wrong
├── PlanError                 4   the site cannot run the job
├── NotFoundError             5   no such job, task or log
├── FolderError               4   a job folder cannot be written, or its name is taken
├── InterruptedWaitError    130   the user stopped waiting; the job may go on
├── WaitTimeoutError        124   the time to wait is up; the job may go on
└── BackendError              6   the backend did not do as it was told
    ├── RejectedError         4   it answered, and the answer is no
    └── UnreachableError      6   it did not answer; trying again can help
        └── ThrottledError    6   it was asked too often: it did nothing, and asking again at once makes it worse
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, ClassVar

from msgspec import Struct

from .excerpt import excerpt

if TYPE_CHECKING:
    from collections.abc import Iterable


def nearest(name: str, known: Iterable[str]) -> str:
    """Return the name that is nearest to an unknown one, "" where none is near; case is passed over."""
    import difflib

    folded = {each.lower(): each for each in known}
    near = difflib.get_close_matches(name.lower(), folded)
    # Two letters that changed places are the likeliest slip: `lsit` is `list`, though `site` is as near.
    near.sort(key=lambda each: sorted(each) != sorted(name.lower()))
    return folded[near[0]] if near else ""


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return the hint at the nearest name, "" where none is near."""
    near = nearest(name, known)
    return f"did you mean `{near}`?" if near else ""


class Severity(str, Enum):
    """How much a diagnostic matters: an error stops the pipeline, a warning does not."""

    ERROR = "error"
    WARNING = "warning"


NOTHING_SENT = frozenset(("E501", "E506", "E507", "E550", "E551", "E552", "E553"))
"""Codes of a program that does not exist, of a Slurm or a login node that cannot be reached, or that refuses at once.

The backend did nothing of what it was asked for.
"""


class Location(Struct, frozen=True, kw_only=True):
    """Name a place in a file: `line` and `column` count from 1; 0 means the whole file.

    `source` is the text of the line, "" where it is not known or may not be shown;
    it takes no part when places are compared.
    """

    file: str
    line: int = 0
    column: int = 0
    source: str = ""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Location) and self._place == other._place

    def __hash__(self) -> int:
        return hash(self._place)

    def __repr__(self) -> str:
        return f"Location(file={self.file!r}, line={self.line}, column={self.column})"

    @property
    def _place(self) -> tuple[str, int, int]:
        return self.file, self.line, self.column

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}" if self.line else self.file


class Diagnostic(Struct, frozen=True, kw_only=True):
    """Say what is wrong, where, and what to do about it.

    `code` is stable (`E104`, `W201`): E1xx reading, E2xx schema, E3xx meaning and references, E4xx site and plan,
    E5xx backend and job folder; W likewise. `path` is the value's path in the file, `$.taskRoles.worker.instances`.
    """

    code: str
    message: str
    location: Location | None = None
    path: str = ""
    hint: str = ""

    @property
    def severity(self) -> Severity:
        """Tell an error from a warning by the first letter of the code."""
        return Severity.WARNING if self.code.startswith("W") else Severity.ERROR

    def as_dict(self) -> dict[str, str | int]:
        """Return the record for `--json`: flat, with empty fields left out."""
        fields: dict[str, str | int] = {
            "code": self.code,
            "severity": self.severity.value,
            "message": self.message,
            "path": self.path,
            "hint": self.hint,
        }
        if self.location is not None:
            fields |= {"file": self.location.file, "line": self.location.line, "column": self.location.column}
        return {key: value for key, value in fields.items() if value not in ("", 0)}


def diagnostic_text(diagnostic: Diagnostic) -> str:
    """Return a diagnostic as the user reads it: place and path, the message, the line with a caret, the hint."""
    where = "  ".join(
        part for part in (str(diagnostic.location) if diagnostic.location else "", diagnostic.path) if part
    )
    lines = [where] if where else []
    lines.append(f"{diagnostic.severity.value} {diagnostic.code}: {diagnostic.message}")
    place = diagnostic.location
    if place is not None and (shown := excerpt(place.source, place.line, place.column)):
        lines.append(shown)
    if diagnostic.hint:
        lines.append(f"hint: {diagnostic.hint}")
    return "\n".join(lines)


def diagnostics_text(diagnostics: Iterable[Diagnostic]) -> str:
    """Return many diagnostics, one after the other, with a blank line between."""
    return "\n\n".join(diagnostic_text(diagnostic) for diagnostic in diagnostics)


class PaislurmError(Exception):
    """Carry one or more diagnostics to the edge, where they become text and an exit code.

    `warnings` are of the same file: its errors do not depend on them.
    """

    exit_code: ClassVar[int] = 1

    def __init__(self, diagnostics: Iterable[Diagnostic] | Diagnostic, *, warnings: Iterable[Diagnostic] = ()) -> None:
        self.warnings = tuple(warnings)
        self.diagnostics: tuple[Diagnostic, ...] = (
            (diagnostics,) if isinstance(diagnostics, Diagnostic) else tuple(diagnostics)
        )
        super().__init__(diagnostics_text(self.diagnostics))

    @property
    def words(self) -> str:
        """What is wrong, in one line."""
        return "; ".join(diagnostic.message for diagnostic in self.diagnostics)


class UsageError(PaislurmError):
    """Report a command line that cannot be understood."""

    exit_code = 2


class ProtocolError(PaislurmError):
    """Report everything that is wrong with a job file, at once."""

    exit_code = 3


class SiteError(PaislurmError):
    """Report a site profile that cannot be used."""

    exit_code = 4


class PlanError(PaislurmError):
    """Report a job that the site cannot run."""

    exit_code = 4


class NotFoundError(PaislurmError):
    """Report a job, task or log that does not exist."""

    exit_code = 5


class FolderError(PaislurmError):
    """Report a job folder that cannot be written, or whose name is taken."""

    exit_code = 4


class InterruptedWaitError(PaislurmError):
    """Report that the user stopped waiting, which does not stop the job."""

    exit_code = 130


class WaitTimeoutError(PaislurmError):
    """Report that the time to wait is up, which does not stop the job."""

    # Source: timeout(1).
    exit_code = 124


class BackendError(PaislurmError):
    """Report a tool that did not do as it was told; argv, status and stderr are kept.

    `options` are the names of the options that it complains about, as far as its words tell. What is `lasting` would be
    refused later, too: it is wrong by itself.
    """

    exit_code = 6

    def __init__(
        self,
        diagnostics: Iterable[Diagnostic] | Diagnostic,
        *,
        argv: tuple[str, ...] = (),
        status: int | None = None,
        stderr: str = "",
        options: tuple[str, ...] = (),
        lasting: bool = False,
    ) -> None:
        super().__init__(diagnostics)
        self.lasting = lasting
        self.argv = argv
        self.status = status
        self.stderr = stderr
        self.options = options

    @property
    def is_refusal(self) -> bool:
        """Whether the backend certainly did nothing; else it may have carried the request out."""
        return self.diagnostics[0].code in NOTHING_SENT


class RejectedError(BackendError):
    """Report a request that the backend refused: sending it again has no effect."""

    exit_code = 4

    @property
    def is_refusal(self) -> bool:
        """Whether the backend certainly did nothing: it said so."""
        return True


class UnreachableError(BackendError):
    """Report a backend that gave no answer: the request may or may not have been carried out."""

    exit_code = 6


class ThrottledError(UnreachableError):
    """Report a backend that was asked too often and did nothing. Source: slurm.conf(5), rl_enable."""
