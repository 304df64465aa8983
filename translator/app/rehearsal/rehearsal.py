"""The results of rehearsals."""

from __future__ import annotations

from msgspec import Struct

from .faults import Fault
from .resuming import Resuming


class Rehearsal(Struct, frozen=True, kw_only=True):
    """What one fault did to a job."""

    fault: Fault
    """`term`, `kill`, `node` or `stall`."""
    first_end: str | None
    """How the first attempt ended; None if nothing could be broken."""
    retry_rule: str | None
    """Why there was a second attempt; None without one."""
    resuming: Resuming
    """Whether the second attempt continued."""
    remark: str | None
    """How the fault differs from the real one; None if it does not, or was not tried."""


class Rehearsals(Struct, frozen=True, kw_only=True):
    """The rehearsals of a job."""

    rehearsals: tuple[Rehearsal, ...]
    """One for each fault."""

    @property
    def all_continued(self) -> bool:
        """Whether there was a second attempt, and each one continued."""
        verdicts = {each.resuming.verdict for each in self.rehearsals}
        return "continued" in verdicts and verdicts <= {"continued", "not retried", "not tried"}
