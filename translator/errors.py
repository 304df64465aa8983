"""Diagnostics, and the exceptions that carry them to the command line.

PaislurmError                 exit code
├── UsageError                2   the command line cannot be understood
├── ProtocolError             3   the job file is wrong
├── SiteError                 4   the site profile is wrong
├── PlanError                 4   the site cannot run the job
├── NotFoundError             5   no such job, task or log
├── FolderError               4   a job folder cannot be written, or its name is taken
├── InterruptedWaitError    130   the user stopped waiting; the job may go on
├── WaitTimeoutError        124   the time to wait is up; the job may go on
└── BackendError              6   the backend failed
    ├── RejectedError         4   it refused the request
    └── UnreachableError      6   it did not answer; a retry can help
        └── ThrottledError    6   it limits the rate of requests and did nothing; an immediate retry makes it worse
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, ClassVar

from msgspec import Struct

from .terminal_text import excerpt

if TYPE_CHECKING:
    from collections.abc import Iterable


def nearest(name: str, known: Iterable[str]) -> str:
    """Return the known name nearest to `name`, ignoring case, or "" if none is near."""
    import difflib

    folded = {each.lower(): each for each in known}
    near = difflib.get_close_matches(name.lower(), folded)
    # Two swapped letters are the likeliest typo: `lsit` means `list`, although `site` is as near.
    near.sort(key=lambda each: sorted(each) != sorted(name.lower()))
    return folded[near[0]] if near else ""


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return a hint with the nearest known name, or "" if none is near."""
    near = nearest(name, known)
    return f"did you mean `{near}`?" if near else ""


ABOUT_THE_SITE = frozenset({"W402"})
"""Warnings that do not depend on the job."""


class Severity(str, Enum):
    """The severity of a diagnostic: an error stops the compiler, a warning does not."""

    ERROR = "error"
    WARNING = "warning"


MAX_FAULTS = 200
"""The limit for errors of a file, and for warnings. Hints for thousands of unknown names would take minutes."""
NOTHING_SENT = frozenset(("E501", "E506", "E507", "E550", "E551", "E552", "E553"))
"""Codes of failures after which the backend certainly did nothing.

The program is missing, or Slurm or a login node is unreachable or refuses at once.
"""


class Location(Struct, frozen=True, kw_only=True):
    """A place in a file: `line` and `column` count from 1; 0 means the whole file.

    `source` is the text of the line, "" if it is unknown or secret. Comparisons ignore it.
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
    """An error or a warning with its code, message, location and hint.

    `code` is stable (`E104`, `W201`): E1xx reading, E2xx schema, E3xx semantics and references, E4xx site and plan,
    E5xx backend and job folder; W likewise. `path` is the value's path in the file, `$.taskRoles.worker.instances`.
    """

    code: str
    message: str
    location: Location | None = None
    path: str = ""
    hint: str = ""

    @property
    def severity(self) -> Severity:
        """Return the severity that the first letter of the code gives."""
        return Severity.WARNING if self.code.startswith("W") else Severity.ERROR

    @property
    def printed(self) -> FlatDiagnostic:
        """The diagnostic as a record for JSON output."""
        where = self.location
        return FlatDiagnostic(
            code=self.code,
            severity=self.severity,
            message=self.message,
            path=self.path,
            hint=self.hint,
            file=where.file if where else "",
            line=where.line if where else 0,
            column=where.column if where else 0,
        )


class FlatDiagnostic(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An error or a warning; keys without a value are left out."""

    code: str
    """The code of the message, `E104`."""
    severity: Severity
    """Error or warning."""
    message: str
    """What is wrong."""
    path: str = ""
    """The path of the value in the job file, `$.taskRoles.worker`."""
    hint: str = ""
    """How to fix it."""
    file: str = ""
    """The file with the fault."""
    line: int = 0
    """The line, from 1."""
    column: int = 0
    """The column, from 1."""


def diagnostic_text(diagnostic: Diagnostic) -> str:
    """Return a diagnostic as text: location and path, message, source line with a caret, hint."""
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
    """Return diagnostics as text, with a blank line between two."""
    return "\n\n".join(diagnostic_text(diagnostic) for diagnostic in diagnostics)


class PaislurmError(Exception):
    """Carry diagnostics to the command line, which prints them and sets the exit code.

    `warnings` concern the same file and do not depend on its errors.
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
        """The messages in one line."""
        return "; ".join(diagnostic.message for diagnostic in self.diagnostics)


class UsageError(PaislurmError):
    """Report a command line that cannot be understood."""

    exit_code = 2


class ProtocolError(PaislurmError):
    """Report all errors of a job file at once."""

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
    """Report that the user stopped waiting; the job continues."""

    exit_code = 130


class WaitTimeoutError(PaislurmError):
    """Report that the timeout for waiting expired; the job continues."""

    # Source: timeout(1).
    exit_code = 124


class BackendError(PaislurmError):
    """Report a failed backend command, with its argv, exit status and stderr.

    `options` are the options that its message names. `lasting` means that a later retry would fail too.
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
        """Whether the backend certainly did nothing; otherwise it may have carried out the request."""
        return self.diagnostics[0].code in NOTHING_SENT


class RejectedError(BackendError):
    """Report a request that the backend refused; resending it has no effect."""

    exit_code = 4

    @property
    def is_refusal(self) -> bool:
        """True: a refused request was not carried out."""
        return True


class UnreachableError(BackendError):
    """Report a backend that did not answer; it may have carried out the request."""

    exit_code = 6


class ThrottledError(UnreachableError):
    """Report a request that the backend dropped because of its rate limit. Source: slurm.conf(5), rl_enable."""
