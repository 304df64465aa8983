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
_CLUSTERS = "virtualClusters"
_NAMES: tuple[Path, ...] = (("defaults", "virtualCluster"), ("virtualCluster",))
"""Where a job of protocol v2, and one of v1, names its virtual cluster."""
_OF_CLUSTERS = ("partition", "account", "qos", "reservation")


def locked_wishes(document: Document, site: Site, virtual_cluster: str) -> tuple[Diagnostic, ...]:
    """Return a diagnostic for each wish of a job, `extras.slurm` or a virtual cluster, that the site locks otherwise.

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
    if _CLUSTERS in site.locked and site.virtual_clusters and site.virtual_cluster(virtual_cluster) is None:
        # It would be a partition of that name, with nothing of what the site has its virtual clusters ask for.
        hint = f"name one of {', '.join(site.virtual_clusters)}"
        for path in (path for path in _NAMES if document.at(path) is not None):
            collector.add("E467", path, f"the site locks `{_CLUSTERS}`, which has no `{virtual_cluster}`", hint=hint)
    return collector.of(Severity.ERROR)


def _choices(site: Site) -> Iterator[tuple[Path, tuple[str, ...], object]]:
    """Yield where a job chooses between readings of OpenPAI, the profile's key for that, and its value."""
    for name in SlurmCompat.model_fields:
        key = SlurmCompat.key(name)
        yield (*_EXTRAS, "compat", key), ("compat", key), getattr(site.compat_options, name)


def _targets(document: Document, site: Site, name: str) -> Iterator[tuple[Path, tuple[str, ...], object]]:
    """Yield the same for where jobs of a virtual cluster go."""
    cluster = site.virtual_cluster(name)
    tables = [_EXTRAS, *((*_EXTRAS, "taskRoles", role) for role in document.mapping((*_EXTRAS, "taskRoles")))]
    for option in _OF_CLUSTERS:
        value = getattr(cluster, option, None)
        if value is not None:
            yield from (((*table, option), (_CLUSTERS, name, option), value) for table in tables)
