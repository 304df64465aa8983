"""Prepare jobs for submission: compile all of them first, and report all errors."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from msgspec import Struct, field
from msgspec.structs import replace

from paislurm.backends.registry import AUTO, OF_THIS_SLURM, SSH, is_remote

from ...errors import ABOUT_THE_SITE, BackendError, PaislurmError, PlanError, ProtocolError, UnreachableError
from ...planning.growth import growth_of
from ...state.changes import MEMORY, TIME
from ...state.history import History
from ...state.journal_records import RetryPolicy
from ..input.job_input import compile_source, name_errors, read_source, site_of
from ..input.local_checks import code_size_errors
from ..input.submit_host import installed_version, is_of_today, with_shell_options
from ..jobs.refresh import ledger
from ..jobs.removing import HOUR, is_due
from ..room import check_room
from ..sites.find import detected_path, find_site, hint_at_profile, is_named, site_path, user_path

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from ...errors import Diagnostic
    from ...pipeline import Compiled
    from ...planning.job_plan import Plan
    from ...site.profile import Site
    from ...state.journal_records import Dependency, Pace
    from ..input.source import Source
    from ..session import Session


class Prepared(Struct, frozen=True, kw_only=True):
    """A job that is ready to submit, with its name (`user~job`) and dependencies.

    `group`, `sweep` and `pace` are as in `Created`.
    """

    source: Source
    text: bytes
    compiled: Compiled
    name: str
    after: tuple[Dependency, ...] = ()
    group: str = ""
    sweep: Mapping[str, str] = field(default_factory=dict)
    pace: Pace | None = None


def prepare(
    session: Session, sources: Sequence[Source], *, keep: bool, after: tuple[Dependency, ...] = ()
) -> list[Prepared]:
    """Compile jobs that differ only in values and names, and send each warning once.

    With `keep`, a detected site is cached for a day. Raises the errors of all jobs.
    """
    first, site = at_host(session, sources[0])
    first = replace(first, backend=choose_backend(session, first.backend))
    detected = detect_site(session, first, keep=keep)
    text = read_source(first.file) if first.text is None else first.text
    first = replace(first, text=text)
    # A job that is submitted again keeps what its first submit found.
    shell = first if first.submit_folder else with_shell_options(session, first, detected or site)
    ready = [
        replace(
            each,
            backend=first.backend,
            host=first.host,
            text=text,
            slurm=shell.slurm,
            typed={**shell.typed, **each.typed},
        )
        for each in sources
    ]
    try:
        compiled = _compile_all(session, ready, detected or site)
    except PlanError:
        # The cached site may be stale: accounts and reservations change.
        anew = None if detected else detect_site(session, first, keep=keep, again=True)
        if anew is None:
            raise
        compiled = _compile_all(session, ready, anew)
    if long_names := [error for each in compiled for error in name_errors(session, each)]:
        raise ProtocolError(long_names)
    if not is_remote(first.backend):
        errors = dict.fromkeys(error for each in compiled for error in code_size_errors(each, session))
        if errors:
            raise ProtocolError(errors)
    # Check the space before any write, including the time of a warning.
    check_room(session.store.home, compiled[0], session.runner)
    session.warn(_due(session, dict.fromkeys(warning for each in compiled for warning in each.warnings), keep=keep))
    return [
        Prepared(
            source=source,
            text=text,
            compiled=each,
            name=f"{session.user}~{each.job.name}",
            after=after,
        )
        for source, each in zip(ready, compiled, strict=True)
    ]


def _due(session: Session, warnings: Iterable[Diagnostic], *, keep: bool) -> list[Diagnostic]:
    """Return the warnings to send. With `keep`, those about the site are sent at most once an hour."""
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


def at_host(session: Session, source: Source) -> tuple[Source, Site]:
    """Return the source with its backend and host resolved, and the site profile."""
    if is_remote(source.backend):
        source = replace(source, backend="slurm", host=source.backend.removeprefix(SSH))
    site = site_of(session, source)
    host = source.host or site.host
    if source.backend != "slurm" or not host:
        return source, site
    return replace(source, backend=f"{SSH}{host}", host=host), site


def choose_backend(session: Session, name: str) -> str:
    """Return the name of a backend; resolve `auto`.

    Raises UsageError for an unknown name, and BackendError if pyslurm cannot be used.
    """
    if name == AUTO:
        try:
            return choose_backend(session, "pyslurm")
        except BackendError:
            return "slurm"
    chosen = session.backend(name)
    if name == "pyslurm":
        from paislurm.backends.pyslurm.backend import PyslurmBackend

        assert isinstance(chosen, PyslurmBackend)
        chosen.check()
    return name


def detect_site(session: Session, source: Source, *, keep: bool, again: bool = False) -> Site | None:
    """Detect the site from Slurm. Return None if a profile exists or the site was detected in the last day.

    With `again`, Slurm is always queried, because the cached site rejects a job. If Slurm does not answer, return
    None: the submission reports the error better. Raises UnreachableError for an unreachable login node.
    """
    path = detected_path(session, source.host if is_remote(source.backend) else None)
    if _has_profile(session, source, path) or (is_of_today(session, path) and not again):
        return None
    try:
        return _ask(session, source, path, keep=keep)
    except PaislurmError as error:
        if is_remote(source.backend) and isinstance(error, UnreachableError) and error.is_refusal:
            raise
    except OSError:
        pass
    return None


def _has_profile(session: Session, source: Source, detected: Path) -> bool:
    """Return whether a written profile exists, or none is needed."""
    if is_remote(source.backend):
        return is_named(session, source.site) or find_site(session, None).host == source.host
    return source.backend not in OF_THIS_SLURM or site_path(session, source.site) not in (None, detected)


def _ask(session: Session, source: Source, path: Path, *, keep: bool) -> Site:
    from ...files.private import make_private, write_durably
    from ...site.detection.profile_text import profile_text
    from ...site.load import load_site
    from ..sites.ask import detect_at, detect_from_here

    host = source.host if is_remote(source.backend) else None
    detection = detect_at(session, host) if host else detect_from_here(session)
    text = profile_text(detection).encode()
    found = load_site(text, file=str(path))
    if keep:
        for folder in (session.store.home, path.parent):
            make_private(folder)
        write_durably(path, text)
    kept = f" and keeps it for a day in {path}" if keep else ""
    option = f" --host {host}" if host else ""
    session.say(
        f"no site profile found: paislurm detects one from Slurm{kept}; "
        f"`paislurm site detect{option} --output {user_path(session)}` saves it"
    )
    return found


def retry_policy(compiled: Compiled) -> RetryPolicy:
    """Return the retry policy of a job."""
    retry, default = compiled.site.retry, compiled.site.avoid_nodes
    growth = growth_of(compiled.job, compiled.site, compiled.plan)
    whys = ((MEMORY, growth.no_more_memory), (TIME, growth.no_more_time))
    avoid_s, avoid_most = compiled.job.slurm_options.avoid_nodes or (default.limits if default else (0, 0))
    return RetryPolicy(
        retry_limit=compiled.job.retry_limit,
        max_transient_retries=retry.max_transient_retries,
        max_restarts=retry.most_restarts,
        on_timeout=compiled.job.slurm_options.on_timeout,
        on_root_cancel=retry.on_root_cancel,
        spare_nodes=spare_nodes(compiled.plan, compiled.site),
        avoid_s=avoid_s,
        avoid_most=avoid_most,
        memory_steps=growth.memory,
        time_steps=growth.times,
        no_more={name: why for name, why in whys if why},
    )


def nodes_to_avoid(session: Session, compiled: Compiled, backend: str) -> tuple[str, ...]:
    """Return the bad nodes that a submit of a job to this backend would avoid now."""
    cluster = compiled.plan.slurm.cluster
    known = History(retry_policy=retry_policy(compiled), backend=backend, tag=f"@{cluster}" if cluster else "")
    return known.excluded_nodes(session.now(), ledger(session).read(known))


def spare_nodes(plan: Plan, site: Site) -> int | None:
    """Return how many nodes an attempt can exclude and still start, None if sbatch itself would reject it.

    sbatch does not reject a job of several components with too few nodes: it stays pending forever. So such a job
    excludes no nodes if the nodes are unknown. Source: observed on Slurm 22.05 and 24.11.
    """
    wanted: Counter[str | None] = Counter()
    for component in plan.components:
        wanted[dict(component.directives).get("partition")] += component.nodes or 0
    partitions = {name: site.partition(name) for name in wanted}
    known = {name: partition.node_count for name, partition in partitions.items() if partition is not None}
    if all(known.get(name) for name in wanted) and all(component.nodes for component in plan.components):
        return max(0, min(known[name] - nodes for name, nodes in wanted.items()))
    return None if len(plan.components) == 1 else 0
