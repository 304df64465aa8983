"""Check job files against a site, and a site profile by itself: what can never start here, and what would."""

from __future__ import annotations

import shlex
import shutil
from pathlib import Path
from stat import S_ISREG, S_IWGRP, S_IWOTH
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from paislurm.backends.runner import LocalRunner

from ...errors import BackendError, Diagnostic, Location, PaislurmError, PlanError, ProtocolError, Severity, SiteError
from ...pipeline import compile_job
from ...site.differences import differences
from ...site.layers import layered
from ...site.load import load_layers
from ...times import slurm_time
from ...validation.diagnostics import DiagnosticCollector
from ..input.bash_syntax import bash_syntax_errors
from ..input.job_input import read_source, shown_name
from ..input.sites import find_site, site_path, user_path
from ..room import check_room
from .ask import detect_from_here

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ...pipeline import Compiled
    from ...reading.document import Document
    from ...site.profile import Site
    from ..session import Session

WRONG_FILE, CANNOT_RUN = ProtocolError.exit_code, PlanError.exit_code


class Checked(Struct, frozen=True, kw_only=True):
    """Hold what a job file comes to here: what it `asks` for, in words, or why it cannot start."""

    file: str
    job: str | None = None
    asks: str | None = None
    exit_status: int = 0
    diagnostics: tuple[Diagnostic, ...] = ()

    @property
    def verdict(self) -> str:
        """Say in a line what the file comes to."""
        if self.exit_status == WRONG_FILE:
            return "the job file is wrong"
        codes = dict.fromkeys(each.code for each in self.diagnostics if each.severity is Severity.ERROR)
        return self.asks or f"cannot start here: {', '.join(codes)}"

    def as_dict(self) -> dict[str, object]:
        """Return the record for `--json`."""
        return {
            "file": self.file,
            "job": self.job,
            "asks": self.asks,
            "exit_status": self.exit_status,
            "diagnostics": [diagnostic.as_dict() for diagnostic in self.diagnostics],
        }


def site_to_check(session: Session, option: str | None) -> Site:
    """Return the site of the profile, and without one that which Slurm describes; SiteError if there is neither."""
    if site_path(session, option) is not None:
        # A profile that is to take the place of the system's may lock something else.
        return find_site(session, option, alone=True)
    try:
        return detect_from_here(session).site
    except BackendError as error:
        raise SiteError(
            Diagnostic(
                code="E460",
                message=f"there is no site profile, and no Slurm that could be asked: {error.diagnostics[0].message}",
                hint=f"name one with --site, or run `paislurm site detect --output {user_path()}` on a login node",
            )
        ) from None


def check_job(session: Session, file: str, site: Site) -> Checked:
    """Compile a job file for a site, and say what it comes to."""
    name = shown_name(file)
    try:
        compiled = compile_job(read_source(file), file=name, site=site)
        if wrong := [each for each in bash_syntax_errors(compiled.job, compiled.document) if each.code.startswith("E")]:
            raise ProtocolError(wrong)
        check_room(session.store.home, compiled, LocalRunner())
    except PaislurmError as error:
        return Checked(file=name, exit_status=error.exit_code, diagnostics=error.diagnostics)
    return Checked(file=name, job=compiled.job.name, asks=asks(compiled), diagnostics=compiled.warnings)


def asks(compiled: Compiled) -> str:
    """Say in a line what a job would have: the least that Slurm counts for it."""
    plan = compiled.plan
    nodes = [component.nodes for component in plan.components]
    many = [
        (None if None in nodes else sum(filter(None, nodes)), "node"),
        (sum(role.slots * role.resources.cpus for role in plan.roles), "CPU"),
        (sum(role.slots * role.resources.gpus for role in plan.roles), "GPU"),
    ]
    what = [f"{count} {unit}{'s' * (count != 1)}" for count, unit in many if count]
    where = dict.fromkeys(dict(component.directives).get("partition") for component in plan.components)
    partitions = [name or compiled.site.default_partition or "the default partition" for name in where]
    time = f", for {slurm_time(plan.times.limit)} at most" if plan.times.limit else ""
    return f"{', '.join(what)} of {' and '.join(dict.fromkeys(partitions))}, layout {plan.layout.kind}{time}"


def status_of(checked: list[Checked]) -> int:
    """Return one exit code for many files: a wrong file goes before a site that cannot run one."""
    found = {each.exit_status for each in checked}
    return WRONG_FILE if WRONG_FILE in found else max(found, default=0)


def check_profile(session: Session, layers: Sequence[Document]) -> tuple[tuple[Diagnostic, ...], bool]:
    """Return what is wrong with a profile where it is, and whether Slurm answered; SiteError for a wrong one.

    `layers` are its files, the lowest first. What the cluster no longer has is an error, all else a warning.
    """
    site = load_layers(layers)
    warnings = [*_writable(layers), *_programs(site, layers)]
    try:
        found = detect_from_here(session).site
    except BackendError as error:
        session.say(f"Slurm was not asked whether the cluster is still so: {error.diagnostics[0].message}")
        return tuple(warnings), False
    collector = DiagnosticCollector(layered(layers)[0])
    for each in differences(site, found):
        near = (each.name, each.near) if each.name else None
        collector.add("E465", each.path, each.message, near=near)
    hint = "`paislurm site detect` shows what Slurm says now"
    gone = (replace(each, hint=each.hint or hint) for each in collector.of(Severity.ERROR))
    return (*gone, *warnings), True


def _writable(layers: Sequence[Document]) -> Iterator[Diagnostic]:
    """Yield a warning for each file that others can change: a profile names programs that users run."""
    for layer in layers:
        try:
            status = Path(layer.file).stat()
        except OSError:
            continue
        if S_ISREG(status.st_mode) and status.st_mode & (S_IWGRP | S_IWOTH):
            yield Diagnostic(
                code="W466",
                message="others than its owner can write to this profile, which names programs that its users run",
                location=Location(file=layer.file),
                hint=f"chmod go-w {shlex.quote(layer.file)}",
            )


def _programs(site: Site, layers: Sequence[Document]) -> Iterator[Diagnostic]:
    """Yield a warning where nobody would be told of anything, because the program is not here."""
    notifier = site.notifications.notifier
    if notifier is None or shutil.which(program := notifier.argv[0]):
        return
    collector = DiagnosticCollector(layered(layers)[0])
    path = ("notifications", "sendmail" if notifier.mail else "command")
    collector.add("W467", path, f"{program} cannot be run on this machine: no notifications will be sent from here")
    yield from collector.of(Severity.WARNING)
