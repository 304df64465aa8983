"""What a job asks for and the site locks: a job's word stands over the profile's only where that is open. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..errors import Severity
from ..protocol.extras_slurm import SlurmCompat
from ..validation.diagnostics import DiagnosticCollector
from .layers import covers

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..errors import Diagnostic
    from ..reading.document import Document, Path
    from .profile import Site

_EXTRAS: Path = ("extras", "slurm")
_OF_CLUSTERS = ("partition", "account", "qos", "reservation")


def locked_wishes(document: Document, site: Site, virtual_cluster: str) -> tuple[Diagnostic, ...]:
    """Return a diagnostic for each key of `extras.slurm` that stands for something else than what the site locks.

    What the profile leaves open in a locked table is open to jobs, too.
    """
    collector = DiagnosticCollector(document)
    for path, key, wanted in (*_choices(site), *_targets(document, site, virtual_cluster)):
        lock = next((lock for lock in site.locked if covers(lock, key)), None)
        asked = document.at(path)
        if lock is not None and asked is not None and asked != wanted:
            shown = str(wanted).lower() if isinstance(wanted, bool) else wanted
            message = f"the site locks `{'.'.join(key)}`, which is {shown}"
            collector.add("E467", path, message, hint=f"leave `{path[-1]}` out")
    return collector.of(Severity.ERROR)


def _choices(site: Site) -> Iterator[tuple[Path, tuple[str, ...], object]]:
    """Yield where a job chooses between readings of OpenPAI, the profile's key for that, and its value."""
    for name, field in SlurmCompat.model_fields.items():
        yield (*_EXTRAS, "compat", field.alias), ("compat", field.alias), getattr(site.compat, name)


def _targets(document: Document, site: Site, name: str) -> Iterator[tuple[Path, tuple[str, ...], object]]:
    """Yield the same for where jobs of a virtual cluster go."""
    cluster = site.virtual_cluster(name)
    tables = [_EXTRAS, *((*_EXTRAS, "taskRoles", role) for role in document.mapping((*_EXTRAS, "taskRoles")))]
    for option in _OF_CLUSTERS:
        value = getattr(cluster, option, None)
        if value is not None:
            yield from (((*table, option), ("virtualClusters", name, option), value) for table in tables)
