"""Make jobs ready to be submitted: all of them are compiled before the first one is, and all that is wrong is said."""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from msgspec import Struct, field
from msgspec.structs import replace

from paislurm.backends.registry import is_elsewhere

from ...errors import PaislurmError, PlanError, ProtocolError
from ..input.code_size import code_size_errors
from ..input.job_input import compile_source, read_source
from ..input.sites import hint_at_profile
from ..jobs.folders.housekeeping import HOUR, is_due
from .at_host import at_host
from .choose_backend import choose_backend
from .detected_site import detect_site
from .slurm_version import installed_version

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from ...errors import Diagnostic
    from ...pipeline import Compiled
    from ...site.profile import Site
    from ...state.job_folder import JobFolder
    from ...state.records import Dependency
    from ..input.job_input import Source
    from ..session import Session


ABOUT_THE_SITE = frozenset({"W402"})
"""Warnings that are the same for all jobs of a user."""


class Prepared(Struct, frozen=True, kw_only=True):
    """Hold a job that is ready to be submitted, and the jobs that it waits for; `group` and `sweep` as in `Created`."""

    source: Source
    text: bytes
    compiled: Compiled
    folder: JobFolder
    after: tuple[Dependency, ...] = ()
    group: str = ""
    sweep: Mapping[str, str] = field(default_factory=dict)


def prepare(
    session: Session, sources: Sequence[Source], *, keep: bool, after: tuple[Dependency, ...] = ()
) -> list[Prepared]:
    """Compile jobs that differ by values and names only, and say the warnings, each once.

    What Slurm says of the site is kept for a day with `keep`. Raises what is wrong with all of them.
    """
    first, site = at_host(session, sources[0])
    first = replace(first, backend=choose_backend(session, first.backend))
    detected = detect_site(session, first, keep=keep)
    text = read_source(first.file) if first.text is None else first.text
    ready = [replace(each, backend=first.backend, host=first.host, text=text) for each in sources]
    try:
        compiled = _compile_all(session, ready, detected or site)
    except PlanError:
        # What Slurm said some hours ago may not be so any more: accounts and reservations come and go.
        anew = None if detected else detect_site(session, first, keep=keep, again=True)
        if anew is None:
            raise
        compiled = _compile_all(session, ready, anew)
    if not is_elsewhere(first.backend):
        errors = dict.fromkeys(error for each in compiled for error in code_size_errors(each, session.user))
        if errors:
            raise ProtocolError(errors)
    session.warn(_due(session, dict.fromkeys(warning for each in compiled for warning in each.warnings), keep=keep))
    return [
        Prepared(
            source=source,
            text=text,
            compiled=each,
            folder=session.store.folder(session.user, each.job.name),
            after=after,
        )
        for source, each in zip(ready, compiled, strict=True)
    ]


def _due(session: Session, warnings: Iterable[Diagnostic], *, keep: bool) -> list[Diagnostic]:
    """Return the warnings to print. With `keep` those about the site are printed once an hour, not at each submit."""
    return [each for each in warnings if not keep or each.code not in ABOUT_THE_SITE or _is_due(session, each.code)]


def _is_due(session: Session, code: str) -> bool:
    with suppress(OSError):
        return is_due(session, f"warned-{code}", HOUR)
    return True


def _compile_all(session: Session, sources: Sequence[Source], site: Site) -> list[Compiled]:
    compiled: list[Compiled] = []
    faults: list[PaislurmError] = []
    for source in sources:
        try:
            compiled.append(compile_source(session, source, partial(installed_version, session), site, quiet=True)[1])
        except PaislurmError as error:  # noqa: PERF203 - what is wrong with all jobs is said at once
            faults.append(error)
    if all(isinstance(fault, PlanError) for fault in faults):
        hint_at_profile(session, compiled[0].site if compiled else site)
    if faults:
        faults[0].diagnostics = tuple(dict.fromkeys(each for fault in faults for each in fault.diagnostics))
        raise faults[0]
    return compiled
