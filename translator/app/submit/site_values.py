"""What a site has of that which Slurm refused: the end of the hint at a refusal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...errors import PaislurmError
from ...plural import counted
from ...site.partitions import Qos
from ...times import slurm_time

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from ...pipeline import Compiled
    from ...site.partitions import Amounts, Limits
    from ...site.profile import Site
    from ..session import Session


def site_now(session: Session, backend: str, site: Site) -> Site:
    """Return what Slurm says of the site now, as it has just refused what the profile allows; else the profile."""
    if backend != "slurm":
        return site
    from ..site.ask import detect_from_here

    try:
        return detect_from_here(session).site
    except PaislurmError:
        return site


def partitions_of(compiled: Compiled) -> tuple[str, ...]:
    """Return the partitions that the components of a job go to, as far as they, or the site profile, name them."""
    default = compiled.site.default_partition
    asked = (dict(component.directives).get("partition") or default for component in compiled.plan.components)
    return tuple(dict.fromkeys(filter(None, asked)))


def site_values(options: Sequence[str], site: Site, partitions: Sequence[str] = ()) -> str:
    """Return what the site has for options of sbatch, "" where that is not known.

    Of nodes it is what the job's `partitions` have, as far as the site knows them; else what all have.
    """
    names = {each for words in partitions for each in words.split(",")}
    own = {name: each for name, each in site.partitions.items() if name in names}
    near = site.model_copy(update={"partitions": own}) if own else site
    pairs = ((option, near if option in _OF_NODES else site) for option in options if option in _VALUES)
    return "; ".join(dict.fromkeys(text for option, each in pairs for text in _VALUES[option](each)))


def _accounts(site: Site) -> Iterator[str]:
    if site.accounts is not None:
        yield f"your accounts are {_listed(_with_limits(name, each) for name, each in site.accounts.items())}"


def _qos(site: Site) -> Iterator[str]:
    if site.qos is not None:
        yield f"your QOS are {_listed(_with_limits(name, each) for name, each in site.qos.items())}"


def _partitions(site: Site) -> Iterator[str]:
    if site.partitions:
        limits = ((name, each.time_limit) for name, each in site.partitions.items())
        yield f"partitions are {_listed(f'{name} ({slurm_time(limit)})' if limit else name for name, limit in limits)}"


def _times(site: Site) -> Iterator[str]:
    yield from _partitions(site)
    bounds: list[tuple[str, str, Limits]] = [("account", name, each) for name, each in (site.accounts or {}).items()]
    bounds += [("QOS", name, each) for name, each in (site.qos or {}).items()]
    for what, name, limits in bounds:
        if limits.max_time is not None:
            yield f"the {what} {name} allows {slurm_time(limits.max_time)}"


def _reservations(site: Site) -> Iterator[str]:
    if site.reservations is not None:
        yield f"reservations are {_listed(site.reservations)}"


def _features(site: Site) -> Iterator[str]:
    shapes = [shape for partition in site.partitions.values() for shape in partition.nodes]
    if shapes and all(shape.features is not None for shape in shapes):
        yield f"nodes have the features {_listed({name for shape in shapes for name in shape.features or ()})}"


def _resources(site: Site) -> Iterator[str]:
    shapes = [shape for partition in site.partitions.values() for shape in partition.nodes]
    gpus = ((site.gpus.gres, shape.gpu_type, str(shape.gpus)) for shape in shapes if shape.gpus)
    found = {":".join(filter(None, words)) for words in gpus}
    found |= {text for shape in shapes for text in shape.gres or ()}
    if shapes:
        yield f"nodes have {_listed(found)}"


def _nodes(site: Site) -> Iterator[str]:
    for partition in site.partitions.values():
        if partition.nodes:
            cpus = max(shape.cpus for shape in partition.nodes)
            memory = max(shape.memory_mib for shape in partition.nodes)
            nodes, most = counted(partition.node_count, "node"), counted(cpus, "CPU")
            yield f"{partition.name} has {nodes} of up to {most} and {memory} MiB"


_VALUES: dict[str, Callable[[Site], Iterator[str]]] = {
    "account": _accounts,
    "qos": _qos,
    "partition": _partitions,
    "time": _times,
    "reservation": _reservations,
    "constraint": _features,
    "gres": _resources,
    "mem": _nodes,
    "cpus-per-task": _nodes,
    "nodes": _nodes,
}
_OF_NODES = frozenset({"constraint", "gres", "mem", "cpus-per-task", "nodes"})


def _with_limits(name: str, limits: Limits) -> str:
    """Return a name with what it allows, if there is anything that it does not."""
    counts = ((limits.max_submit_jobs, "jobs in the queue"), (limits.max_jobs, "jobs at a time"))
    texts = [f"{count} {what}" for count, what in counts if count is not None]
    texts += _amounts(limits.per_job, "a job")
    texts += _amounts(limits.per_user, "a user") if isinstance(limits, Qos) else []
    texts += _amounts(limits.total, "in all")
    return f"{name} ({', '.join(texts)})" if texts else name


def _amounts(amounts: Amounts, whose: str) -> list[str]:
    pairs = ((amounts.nodes, "nodes"), (amounts.cpus, "CPUs"), (amounts.memory_mib, "MiB"), (amounts.gpus, "GPUs"))
    return [f"{count} {unit} {whose}" for count, unit in pairs if count is not None]


def _listed(names: Iterable[str]) -> str:
    return ", ".join(sorted(names)) or "none"
