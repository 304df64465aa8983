"""Where the job file has what a backend refuses, and the values of the site that Slurm got in its place."""

from __future__ import annotations

import time
from itertools import chain, repeat
from typing import TYPE_CHECKING, TypeVar

from msgspec.structs import replace

from paislurm.backends.slurm.refusal_table import LIMIT_REACHED, NODE_OPTIONS

from ...errors import Diagnostic, InterruptedWaitError, PaislurmError, RejectedError
from ...plural import counted, some_of
from ...reading.document import path_text
from ...times import slurm_time
from ..input.job_input import with_options
from .prepare import detect_site

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from ...pipeline import Compiled
    from ...reading.document import Document, Path
    from ...site.partitions import Limits, Partition
    from ...site.profile import Site
    from ..input.source import Source
    from ..session import Session


_ROLE_FIELDS: dict[str, Path] = {
    "nodes": ("instances",),
    "cpus-per-task": ("resourcePerInstance", "cpu"),
    "mem": ("resourcePerInstance", "memoryMB"),
    "gres": ("resourcePerInstance", "gpu"),
}
_ROLE_FIELDS_V1 = {"nodes": "taskNumber", "cpus-per-task": "cpuNumber", "mem": "memoryMB", "gres": "gpuNumber"}
_OF_VIRTUAL_CLUSTER = ("partition", "account", "qos", "reservation")
_BOUND_NODES = (
    "exclude", "nodelist", "constraint", "reservation", "mincpus", "tmp", "cores-per-socket", "sockets-per-node",
    "threads-per-core", "extra-node-info", "contiguous", "switches",
)  # fmt: skip
"""Options that restrict the nodes of a job. Source: sbatch(1)."""
MAX_OTHERS = 4
"""Most other possible fields that are named."""


def located(session: Session, error: RejectedError, compiled: Compiled, source: Source) -> RejectedError:
    """Return a rejection with its location in the job file, and with the site's valid values.

    For a temporary rejection, Slurm is not queried again.
    """
    ends_by_itself = error.diagnostics[0].code == LIMIT_REACHED
    # A detected profile is made anew: the refusal contradicts it.
    anew = None if ends_by_itself else detect_site(session, source, keep=True, again=True)
    site = compiled.site if ends_by_itself else anew or site_now(session, source.backend, compiled.site)
    refusal = locate_refusal(error, compiled.document, site_values(error.options, site, partitions_of(compiled)))
    refusal.diagnostics = with_options(refusal.diagnostics, source.typed)
    if anew is not None and anew != compiled.site:
        first = refusal.diagnostics[0]
        hint = f"{first.hint}; the detected site profile was out of date and is new now: submit the job again"
        refusal.diagnostics = (replace(first, hint=hint), *refusal.diagnostics[1:])
    return refusal


def locate_refusal(error: RejectedError, document: Document, values: str = "") -> RejectedError:
    """Return the rejection with its location in the job file, if known.

    `values` are the site's values for its options. If several fields are possible, those whose value Slurm repeats
    come first, and the hint names the others. If no node satisfies the request, the options that restrict the nodes
    come first.
    """
    words, diagnostic, options = error.stderr.split(), error.diagnostics[0], error.options
    if options == NODE_OPTIONS:
        options = (*(option for option in _BOUND_NODES if any(_own_fields(option, document))), *options)
    fields = [path for option in options for path in _fields(option, document)]
    fields.sort(key=lambda path: str(document.at(path)) not in words)
    others = [path for path in fields[1:] if fields[0][0] != "extras" or path[0] != "taskRoles"]
    if fields:
        diagnostic = replace(diagnostic, location=document.place(fields[0]), path=path_text(fields[0]))
    if others and str(document.at(fields[0])) not in words:
        values = "; ".join(filter(None, (f"or the cause is {some_of([*map(path_text, others)], MAX_OTHERS)}", values)))
    hint = "; ".join(filter(None, (diagnostic.hint, values)))
    return RejectedError(
        replace(diagnostic, hint=hint), argv=error.argv, status=error.status, stderr=error.stderr, options=error.options
    )


def _own_fields(option: str, document: Document) -> Iterator[Path]:
    """Yield the fields in `extras.slurm` that can set an option, those of the whole job first."""
    slurm_options: Path = ("extras", "slurm")
    homes = [
        slurm_options,
        *((*slurm_options, "taskRoles", role) for role in document.mapping((*slurm_options, "taskRoles"))),
    ]
    for home in homes:
        if document.at((*home, option)) is not None:
            yield (*home, option)
        for path, text in document.texts((*home, "options")):
            if text.partition("=")[0] == f"--{option}":
                yield path


def _fields(option: str, document: Document) -> Iterator[Path]:
    """Yield the fields of the job file that can set an option, those of the whole job first."""
    own = list(_own_fields(option, document))
    yield from own
    names: tuple[Path, ...] = (("defaults", "virtualCluster"), ("virtualCluster",))
    if option in _OF_VIRTUAL_CLUSTER and not any(path[-1] == option for path in own):
        yield from (name for name in names if document.at(name) is not None)
    if option in _ROLE_FIELDS_V1:
        for role_path, _ in document.mappings(("taskRoles",)):
            yield (*role_path, _ROLE_FIELDS_V1[option])
    if option in _ROLE_FIELDS:
        for role in document.mapping(("taskRoles",)):
            yield ("taskRoles", role, *_ROLE_FIELDS[option])


T = TypeVar("T")
_PAUSES = (5, 10, 20, 40)
_LONGEST = 60


def with_back_off(session: Session, attempt: Callable[[], T], patience: int, name: str) -> T:
    """Return the result of an attempt, and repeat it while it fails because of a limit on submitted jobs.

    Repetitions end after `patience` seconds. A failed attempt leaves nothing, so a job is not submitted twice. Other
    errors and the last rejection are raised.
    """
    left = patience
    for pause in chain(_PAUSES, repeat(_LONGEST)):
        try:
            return attempt()
        except RejectedError as error:
            if error.diagnostics[0].code != LIMIT_REACHED or left <= 0:
                raise
            said = error.diagnostics[0].message
        seconds = min(pause, left)
        session.say(
            f"{name} is not submitted yet: {said}; next try in {seconds} s, for at most {left} s; Ctrl-C stops trying"
        )
        try:
            time.sleep(seconds)
        except KeyboardInterrupt:
            message = f"interrupted while {name} waited for a free place in the queue: it was not submitted"
            raise InterruptedWaitError(Diagnostic(code="E532", message=message)) from None
        left -= seconds
    raise AssertionError


def site_now(session: Session, backend: str, site: Site) -> Site:
    """Return a newly detected site, because Slurm rejected a value that the profile allows; else the profile."""
    if backend != "slurm":
        return site
    from ..sites.ask import detect_from_here

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
