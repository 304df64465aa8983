"""The site's valid values for an option that Slurm rejected, for the hint."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...errors import PaislurmError
from ...plural import counted
from ...times import slurm_time

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from ...pipeline import Compiled
    from ...site.partitions import Limits, Partition
    from ...site.profile import Site
    from ..session import Session


def site_now(session: Session, backend: str, site: Site) -> Site:
    """Return a newly detected site, because Slurm rejected a value that the profile allows; else the profile."""
    if backend != "slurm":
        return site
    from ..site.ask import detect_from_here

    try:
        return detect_from_here(session).site
    except PaislurmError:
        return site


def partitions_of(compiled: Compiled) -> tuple[str, ...]:
    """Return the known partitions of a job's components, by the job or the site profile."""
    default = compiled.site.default_partition
    asked = (dict(component.directives).get("partition") or default for component in compiled.plan.components)
    return tuple(dict.fromkeys(filter(None, asked)))


def site_values(options: Sequence[str], site: Site, partitions: Sequence[str] = ()) -> str:
    """Return the site's values for options of sbatch, "" if unknown.

    Properties of nodes are those of the job's `partitions` if the site knows them, else those of all nodes.
    """
    names = {each for words in partitions for each in words.split(",")}
    own = {name: each for name, each in site.partitions.items() if name in names} or site.partitions
    found = {**_names_and_times(site), **_of_nodes(own, site.gpus.gres)}
    return "; ".join(dict.fromkeys(text for option in options if (text := found.get(option))))


def _names_and_times(site: Site) -> dict[str, str]:
    """Return the names that the site has for an option, and the limits of `time`."""
    limits = {name: each.time_limit for name, each in site.partitions.items()}
    texts = [f"{name} ({slurm_time(limit)})" if limit else name for name, limit in limits.items()]
    found = {
        option: f"{what} are {_listed(names)}"
        for option, what, names in (
            ("account", "your accounts", site.accounts),
            ("qos", "your QOS", site.qos),
            ("reservation", "reservations", site.reservations),
            ("partition", "partitions", texts or None),
        )
        if names is not None
    }
    bounds: list[tuple[str, Limits]] = [(f"account {name}", each) for name, each in (site.accounts or {}).items()]
    bounds += [(f"QOS {name}", each) for name, each in (site.qos or {}).items()]
    times = [f"the {what} allows {slurm_time(each.max_time)}" for what, each in bounds if each.max_time is not None]
    return {**found, "time": "; ".join([found["partition"], *times] if texts else times)}


def _of_nodes(partitions: Mapping[str, Partition], gres: str) -> dict[str, str]:
    """Return what the nodes of partitions have, for the options that select nodes."""
    shapes = [shape for partition in partitions.values() for shape in partition.nodes]
    if not shapes:
        return {}
    sizes = "; ".join(
        f"{name} has {counted(each.node_count, 'node')} of up to "
        f"{counted(max(shape.cpus for shape in each.nodes), 'CPU')} and "
        f"{max(shape.memory_mib for shape in each.nodes)} MiB"
        for name, each in partitions.items()
        if each.nodes
    )
    gpus = {":".join(filter(None, (gres, kind, str(n)))) for shape in shapes for kind, n in shape.gpus_by_type.items()}
    found = dict.fromkeys(("mem", "cpus-per-task", "nodes"), sizes)
    found["gres"] = f"nodes have {_listed(gpus.union(*(shape.gres or () for shape in shapes)))}"
    if all(shape.features is not None for shape in shapes):
        found["constraint"] = (
            f"nodes have the features {_listed({name for each in shapes for name in each.features or ()})}"
        )
    return found


def _listed(names: Iterable[str]) -> str:
    return ", ".join(sorted(names)) or "none"
