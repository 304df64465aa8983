"""Check job files against a site, and the site profile against the cluster."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from ...errors import BackendError, Diagnostic, Location, PaislurmError, PlanError, ProtocolError, Severity, SiteError
from ...files.private import writable_by_others
from ...pipeline import compile_job
from ...plural import counted
from ...site.differences import differences
from ...site.layers import layered
from ...site.load import load_layers
from ...times import slurm_time
from ...validation.diagnostics import DiagnosticCollector
from ..input.job_input import read_source, shown_name
from ..input.local_checks import bash_syntax_errors
from ..room import check_room
from .ask import detect_from_here
from .find import find_site, site_path, user_path

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ...pipeline import Compiled
    from ...reading.document import Document
    from ...site.profile import Site
    from ..session import Session


WRONG_FILE, CANNOT_RUN = ProtocolError.exit_code, PlanError.exit_code


class Checked(Struct, frozen=True, kw_only=True):
    """The result of checking a job file against a site."""

    file: str
    """The name of the job file."""
    job: str | None = None
    """The name of the job; None for a file with errors."""
    asks: str | None = None
    """The requested resources in words; None if the job cannot start."""
    exit_status: int = 0
    """The exit code of `paislurm check` for this file; 0 if the job can be submitted."""
    diagnostics: tuple[Diagnostic, ...] = ()
    """The errors, or the warnings of a file without errors."""

    @property
    def verdict(self) -> str:
        """The result in one line."""
        if self.exit_status == WRONG_FILE:
            return "the job file is wrong"
        codes = dict.fromkeys(each.code for each in self.diagnostics if each.severity is Severity.ERROR)
        return self.asks or f"cannot start here: {', '.join(codes)}"


class CheckedJobs(Struct, frozen=True, kw_only=True):
    """The results of checking job files against a site."""

    file: str | None
    """The site profile; None if Slurm was queried instead."""
    checked: tuple[Checked, ...]
    """The checked job files."""

    @property
    def exit_status(self) -> int:
        """The exit code for all files; a wrong file outranks a job that the site cannot run."""
        found = {each.exit_status for each in self.checked}
        return WRONG_FILE if WRONG_FILE in found else max(found, default=0)


class CheckedProfile(Struct, frozen=True, kw_only=True):
    """The result of checking a site profile."""

    file: str
    """The site profile."""
    backend_reachable: bool
    """Whether Slurm answered."""
    diagnostics: tuple[Diagnostic, ...]
    """Errors for what the cluster does not have, and warnings."""

    @property
    def gone(self) -> tuple[Diagnostic, ...]:
        """The errors for what the cluster does not have."""
        return tuple(each for each in self.diagnostics if each.severity is Severity.ERROR)

    @property
    def verdict(self) -> str:
        """The result, as the end of a sentence."""
        if gone := len(self.gone):
            return f"differs from the cluster in {counted(gone, 'place')}"
        return "is valid and agrees with the cluster" if self.backend_reachable else "is valid"

    @property
    def exit_status(self) -> int:
        """The exit code of `paislurm site check`."""
        return CANNOT_RUN if self.gone else 0


def site_to_check(session: Session, option: str | None) -> Site:
    """Return the site of the profile, else the detected site. Raises SiteError without either."""
    if site_path(session, option) is not None:
        # A profile that will replace the system's may have other locks.
        return find_site(session, option, alone=True)
    try:
        return detect_from_here(session).site
    except BackendError as error:
        message = f"no site profile found, and Slurm does not answer: {error.diagnostics[0].message}"
        hint = f"use --site, or run `paislurm site detect --output {user_path(session)}` on a login node"
        raise SiteError(Diagnostic(code="E460", message=message, hint=hint)) from None


def check_job(session: Session, file: str, site: Site) -> Checked:
    """Compile a job file for a site, and return the result."""
    name = shown_name(file)
    try:
        compiled = compile_job(read_source(file), file=name, site=site)
        said = bash_syntax_errors(compiled.job, compiled.document, session.environment)
        if wrong := [each for each in said if each.code.startswith("E")]:
            raise ProtocolError(wrong)
        check_room(session.store.home, compiled, session.runner)
    except PaislurmError as error:
        return Checked(file=name, exit_status=error.exit_code, diagnostics=error.diagnostics)
    return Checked(file=name, job=compiled.job.name, asks=asks(compiled), diagnostics=compiled.warnings)


def asks(compiled: Compiled) -> str:
    """Return the requested resources in one line, with the minimum that Slurm counts."""
    plan = compiled.plan
    nodes = [component.nodes for component in plan.components]
    amounts = [
        (None if None in nodes else sum(filter(None, nodes)), "node"),
        (sum(role.slots * role.resources.cpus for role in plan.roles), "CPU"),
        (sum(role.slots * role.resources.gpus for role in plan.roles), "GPU"),
    ]
    requested = [counted(count, unit) for count, unit in amounts if count]
    names = dict.fromkeys(dict(component.directives).get("partition") for component in plan.components)
    partitions = [name or compiled.site.default_partition or "the default partition" for name in names]
    time = f", for {slurm_time(plan.times.limit)} at most" if plan.times.limit else ""
    layout = "" if plan.layout.kind == "plain" else f", layout {plan.layout.kind}"
    return f"{', '.join(requested)} of {' and '.join(dict.fromkeys(partitions))}{layout}{time}"


def check_profile(session: Session, layers: Sequence[Document]) -> tuple[tuple[Diagnostic, ...], bool]:
    """Return the diagnostics of a profile, and whether Slurm answered. Raises SiteError for a wrong profile.

    `layers` are its files, the lowest first. What the cluster does not have is an error, all else a warning.
    """
    site = load_layers(layers)
    warnings = [*_writable(layers), *_programs(session, site, layers)]
    try:
        found = detect_from_here(session).site
    except BackendError as error:
        session.say(f"the profile was not compared with the cluster: {error.diagnostics[0].message}")
        return tuple(warnings), False
    collector = DiagnosticCollector(layered(layers)[0])
    for each in differences(site, found):
        near = (each.name, each.near) if each.name else None
        collector.add("E465", each.path, each.message, near=near)
    hint = "`paislurm site detect` shows the current cluster"
    gone = (replace(each, hint=each.hint or hint) for each in collector.of(Severity.ERROR))
    return (*gone, *warnings), True


def _writable(layers: Sequence[Document]) -> Iterator[Diagnostic]:
    """Yield a warning for each file that others can change: a profile names programs that users run."""
    for layer in layers:
        with suppress(OSError):
            if Path(layer.file).is_file() and (why := writable_by_others(Path(layer.file))):
                message = f"others can change this profile, which names programs that users run: {why}"
                hint = "let only root or its user own it and write to it, and to each folder above"
                yield Diagnostic(code="W466", message=message, location=Location(file=layer.file), hint=hint)


def _programs(session: Session, site: Site, layers: Sequence[Document]) -> Iterator[Diagnostic]:
    """Yield a warning if the notifier's program does not exist on this machine."""
    notifier = site.notifications.notifier
    if notifier is None or session.which(program := notifier.argv[0]):
        return
    collector = DiagnosticCollector(layered(layers)[0])
    path = ("notifications", "sendmail" if notifier.mail else "command")
    collector.add("W467", path, f"cannot run {program} on this machine: no notifications will be sent from it")
    yield from collector.of(Severity.WARNING)
