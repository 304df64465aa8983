"""What the submit host adds to a job file: sbatch's variables of the shell, and the version of Slurm."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from msgspec.structs import replace

from paislurm.backends.registry import OF_THIS_SLURM

from ...errors import BackendError, UsageError
from ...files.private import make_private, write_durably
from ...protocol.overrides import TABLE, is_v1, value_fault
from ...reading.document import path_text
from ...reading.read import read
from ...site.slurm_version import slurm_version
from ..paths import this_host

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from ...reading.document import Document
    from ...site.profile import Site
    from ..session import Session
    from .source import Source


VARIABLES = {
    "SBATCH_ACCOUNT": "account",
    "SBATCH_PARTITION": "partition",
    "SBATCH_QOS": "qos",
    "SBATCH_RESERVATION": "reservation",
    "SBATCH_TIMELIMIT": "time",
}
"""The variables that count, with their keys of `extras.slurm`."""
OF_SBATCH = ("SBATCH_", "SLURM_CLUSTERS")
"""Prefixes of variables that mean something to sbatch."""


def with_shell_options(session: Session, source: Source, site: Site) -> Source:
    """Return the source with its text and the options that the shell's variables set; send an event about all of them.

    The job file counts before a variable, also by a virtual cluster or priority class that the profile maps, and so
    do options and locks of the profile; its defaults count after it. In an allocation, on a login node by SSH, and
    for the local backend none counts. Raises UsageError for an impossible value.
    """
    environment = session.environment
    asked = {name: value for name, value in environment.items() if value and name.startswith(OF_SBATCH)}
    if not asked or source.backend not in OF_THIS_SLURM or "SLURM_JOB_ID" in environment:
        return source
    from .job_input import shown_name, text_of

    text = text_of(source)
    document, options = read(text, file=shown_name(source.file)), dict(source.slurm)
    why_not = {
        name: next(_before(document, options, site, VARIABLES[name]), "")
        if name in VARIABLES
        else "which only sbatch itself reads"
        for name in asked
    }
    given = {name: VARIABLES[name] for name, why in why_not.items() if not why}
    for name, option in given.items():
        if fault := value_fault(option, asked[name]):
            raise UsageError(replace(fault, message=fault.message.replace(f"--{option} ", f"{name}=", 1)))
    if given:
        session.say("of your shell: " + ", ".join(f"{given[name]} {asked[name]} ({name})" for name in given))
    if len(given) < len(asked):
        session.say("not used of your shell: " + "; ".join(f"{name}, {why}" for name, why in why_not.items() if why))
    return replace(
        source,
        text=text,
        slurm=(*source.slurm, *((option, asked[name]) for name, option in given.items())),
        typed={**source.typed, **{path_text((*TABLE, option)): name for name, option in given.items()}},
    )


def _before(document: Document, options: Mapping[str, str], site: Site, option: str) -> Iterator[str]:
    """Yield what counts before the variable of an option."""
    from ...site.layers import locked_target

    if option in options:
        yield f"as `--{option}` counts"
    if option in document.mapping(TABLE):
        yield f"as the job file has `{option}`"
    if any(option in document.mapping((*TABLE, "taskRoles", role)) for role in document.mapping((*TABLE, "taskRoles"))):
        yield f"as a task role has `{option}`"
    named = document.at(("virtualCluster",) if is_v1(document) else ("defaults", "virtualCluster"))
    if isinstance(named, str) and getattr(site.virtual_cluster(named), option, None):
        yield f"as the virtual cluster {named} of the job file has its own"
    asked = document.at(("extras", "hivedScheduler", "jobPriorityClass"))
    if any(name == asked and getattr(priority, option, None) for name, priority in site.priorities.items()):
        yield f"as the priority class {asked} of the job file has its own"
    cluster = named if isinstance(named, str) else "default"
    if locked_target(site, cluster, option) or (option == "time" and {"time", "time.default"} & {*site.locked}):
        yield f"as the site locks `{option}`"


DAY = 24 * 3600


def installed_version(session: Session, backend_name: str) -> str:
    """Return the version, "" if unknown; bugs of a version are not considered then."""
    file = session.home / "slurm-version" / f"{backend_name}@{this_host()}"
    kept = _kept(session, file)
    if kept:
        return kept
    try:
        found = slurm_version(session.backend(backend_name).version())
    except BackendError:
        # The submission reports this error better.
        return ""
    if found:
        _keep(file, str(found))
    return str(found or "")


def _kept(session: Session, file: Path) -> str:
    """Return the version cached in the last day, "" without a readable one."""
    if not is_of_today(session, file):
        return ""
    try:
        found = slurm_version(file.read_text(encoding="ascii"))
    except (OSError, ValueError):
        return ""
    return str(found or "")


def is_of_today(session: Session, file: Path) -> bool:
    """Return whether a file was written in the last day."""
    try:
        return abs(session.now() - file.stat().st_mtime) < DAY
    except OSError:
        return False


def _keep(file: Path, version: str) -> None:
    """Cache the version if the home exists; ignore errors of writing."""
    if not file.parent.parent.is_dir():
        return
    with suppress(OSError):
        make_private(file.parent)
        write_durably(file, f"{version}\n".encode())
