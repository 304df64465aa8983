"""Make jobs ready to be submitted: all of them are compiled before the first one is, and all that is wrong is said."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import field, replace
from typing import TYPE_CHECKING

from paislurm.backends.registry import is_elsewhere
from paislurm.backends.runner import LocalRunner

from ...errors import PaislurmError, PlanError, ProtocolError
from ...lazy import dataclass
from ..context import store, user_name
from ..input.code_size import code_size_errors
from ..input.job_input import compile_source, read_source
from ..input.sites import hint_at_profile
from ..jobs.folders.housekeeping import HOUR, is_due
from ..output.console import log_diagnostics
from ..room import check_room
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


ABOUT_THE_SITE = frozenset({"W402"})
"""Warnings that are the same for all jobs of a user."""


@dataclass(frozen=True, kw_only=True)
class Prepared:
    """Hold a job that is ready to be submitted, and the jobs that it waits for; `group` and `sweep` as in `Created`."""

    source: Source
    text: bytes
    compiled: Compiled
    folder: JobFolder
    after: tuple[Dependency, ...] = ()
    group: str = ""
    sweep: Mapping[str, str] = field(default_factory=dict)


def prepare(sources: Sequence[Source], *, keep: bool, after: tuple[Dependency, ...] = ()) -> list[Prepared]:
    """Compile jobs that differ by values and names only, and say the warnings, each once.

    What Slurm says of the site is kept for a day with `keep`. Raises what is wrong with all of them, and FolderError
    where the home has no room for the first.
    """
    first, site = at_host(sources[0])
    first = replace(first, backend=choose_backend(first.backend))
    detected = detect_site(first, keep=keep)
    text = read_source(first.file) if first.text is None else first.text
    ready = [replace(each, backend=first.backend, host=first.host, text=text) for each in sources]
    try:
        compiled = _compile_all(ready, detected or site)
    except PlanError:
        # What Slurm said some hours ago may not be so any more: accounts and reservations come and go.
        anew = None if detected else detect_site(first, keep=keep, again=True)
        if anew is None:
            raise
        compiled = _compile_all(ready, anew)
    if not is_elsewhere(first.backend):
        errors = dict.fromkeys(error for each in compiled for error in code_size_errors(each, user_name()))
        if errors:
            raise ProtocolError(errors)
    # Before anything is written, as when a warning was told.
    check_room(store().home, compiled[0], LocalRunner())
    log_diagnostics(_due(dict.fromkeys(warning for each in compiled for warning in each.warnings), keep=keep))
    return [
        Prepared(
            source=source,
            text=text,
            compiled=each,
            folder=store().folder(user_name(), each.job.name),
            after=after,
        )
        for source, each in zip(ready, compiled, strict=True)
    ]


def _due(warnings: Iterable[Diagnostic], *, keep: bool) -> list[Diagnostic]:
    """Return the warnings to print. With `keep` those about the site are printed once an hour, not at each submit."""
    return [each for each in warnings if not keep or each.code not in ABOUT_THE_SITE or _is_due(each.code)]


def _is_due(code: str) -> bool:
    with suppress(OSError):
        return is_due(f"warned-{code}", HOUR)
    return True


def _compile_all(sources: Sequence[Source], site: Site) -> list[Compiled]:
    compiled: list[Compiled] = []
    faults: list[PaislurmError] = []
    for source in sources:
        try:
            compiled.append(compile_source(source, installed_version, site, quiet=True)[1])
        except PaislurmError as error:  # noqa: PERF203 - what is wrong with all jobs is said at once
            faults.append(error)
    if all(isinstance(fault, PlanError) for fault in faults):
        hint_at_profile(compiled[0].site if compiled else site)
    if faults:
        faults[0].diagnostics = tuple(dict.fromkeys(each for fault in faults for each in fault.diagnostics))
        raise faults[0]
    return compiled
