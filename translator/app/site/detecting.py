"""Write a site profile by what Slurm says."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from ...errors import Diagnostic, UsageError
from ...site.detection.profile_text import profile_text
from .ask import detect_at, detect_from_here
from .profile_file import Written, write_profile

if TYPE_CHECKING:
    import os

    from ..session import Session
    from .ask import ProbeOptions


class NotLearnt(Struct, frozen=True, kw_only=True):
    """A setting that the detection could not learn."""

    setting: str
    """The key of the site profile, `partitions.NAME.nodes`."""
    reason: str
    """Why it was not learnt."""
    ask: str | None
    """The command that would tell."""


class DetectedSite(Struct, frozen=True, kw_only=True):
    """A site profile made from what Slurm says, and what became of its file."""

    file: str | None
    """The file of the profile; None where none was named."""
    text: str
    """The site profile."""
    written: bool
    """Whether the file was written."""
    difference: str | None
    """How an older file differs from what Slurm says, as `diff -u` prints it."""
    kept_as: str | None
    """The file in which the older profile is kept."""
    not_learnt: tuple[NotLearnt, ...]
    """Settings that the detection could not learn."""

    @property
    def outcome(self) -> str:
        """What became of the file, in a sentence."""
        if self.written:
            return f"wrote {self.file}" + (f"; what was there is in {self.kept_as}" if self.kept_as else "")
        if self.difference:
            return f"{self.file} stays as it is: Slurm says something else. Take over what you like, or all by --force"
        return f"{self.file} says what Slurm says"


def detect_site(
    session: Session,
    output: str | os.PathLike[str] | None = None,
    *,
    force: bool = False,
    host: str | None = None,
    probe: ProbeOptions | None = None,
) -> DetectedSite:
    """Return a site profile by what Slurm says here, or at the login node `host`; write it to `output`.

    With `probe` a short job looks at one node, too. A file that differs stays as it is; `force` writes over it and
    keeps the older one. Raises BackendError if Slurm does not answer.
    """
    if probe is not None and host is not None:
        message = "--probe looks at files that this machine and a node share: call it at the login node"
        raise UsageError(Diagnostic(code="E547", message=message))
    found = detect_from_here(session, probe) if host is None else detect_at(session, host)
    text = profile_text(found)
    done = write_profile(Path(output), text, force=force) if output else Written(written=False)
    return DetectedSite(
        file=None if output is None else str(output),
        text=text,
        written=done.written,
        difference=done.difference or None,
        kept_as=done.kept_as or None,
        not_learnt=tuple(NotLearnt(setting=gap.key, reason=gap.reason, ask=gap.command or None) for gap in found.gaps),
    )
