"""Trace what Slurm refuses back to the job file: from an sbatch option to the field that it was made of."""

from __future__ import annotations

import time
from itertools import chain, repeat
from typing import TYPE_CHECKING, TypeVar

from msgspec.structs import replace

from paislurm.backends.slurm.refusal_table import NODE_OPTIONS, OTHER_OPTIONS, UNKNOWN_OPTION
from paislurm.backends.slurm.refusals import named_options

from ...errors import Diagnostic, InterruptedWaitError, RejectedError, nearest
from ...plural import some_of, verb
from ...reading.document import path_text
from ..input.typed_options import with_options
from .site_values import partitions_of, site_now, site_values

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ...errors import Diagnostic
    from ...pipeline import Compiled
    from ...reading.document import Document, Path
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
"""Options that leave a job fewer of a partition's nodes. Source: sbatch(1)."""
MAX_OTHERS = 4
"""So many fields that can be meant, too, are named."""


def located(session: Session, error: RejectedError, compiled: Compiled, source: Source) -> RejectedError:
    """Return a refusal with its place in the job file, and with what the site has instead.

    Of a refusal that ends by itself, Slurm is not asked more.
    """
    ends_by_itself = error.diagnostics[0].code == LIMIT_REACHED
    site = compiled.site if ends_by_itself else site_now(session, source.backend, compiled.site)
    error = with_suspects(error, compiled.document)
    values = site_values(error.options, site, partitions_of(compiled))
    refusal = locate_refusal(error, compiled.document, values)
    refusal.diagnostics = with_options(refusal.diagnostics, source.typed)
    return refusal


def with_suspects(error: RejectedError, document: Document) -> RejectedError:
    """Return a refusal for want of nodes with the options, first, by which the job itself leaves out nodes."""
    bounds = [option for option in _BOUND_NODES if any(_own_fields(option, document))]
    if error.options != NODE_OPTIONS or not bounds:
        return error
    options, diagnostic = (*bounds, *error.options), error.diagnostics[0]
    message = diagnostic.message.replace(named_options(error.options), named_options(options), 1)
    words = " and ".join(f"`{option}`" for option in bounds)
    leaves = f"{words} {verb(len(bounds), 'leaves', 'leave')} the job fewer nodes: look there first"
    hint = f"{leaves}; else ask for less: `instances`, `cpu`, `memoryMB` or `gpu`"
    return _again(error, replace(diagnostic, message=message, hint=hint), options)


def locate_refusal(error: RejectedError, document: Document, values: str = "") -> RejectedError:
    """Return the refusal with the place in the job file that it is about, as far as that is known.

    `values` is what the site has for the options that it is about. Where several fields can be meant, those whose value
    Slurm repeats go first, and the others are named in the hint.
    """
    fields = [path for option in error.options for path in _fields(option, document)]
    if not fields:
        return _with(error, values)
    words = error.stderr.split()
    fields.sort(key=lambda path: str(document.at(path)) not in words)
    first, *others = fields
    if str(document.at(first)) in words:
        others = []
    elif first[0] == "extras":
        others = [path for path in others if path[0] != "taskRoles"]
    diagnostic = _with_near_option(error)
    also = f"or it is about {some_of([*map(path_text, others)], MAX_OTHERS)}" if others else ""
    diagnostic = replace(
        diagnostic,
        location=document.place(first),
        path=path_text(first),
        hint="; ".join(part for part in (diagnostic.hint, also) if part),
    )
    return _with(_again(error, diagnostic, error.options), values)


def _with_near_option(error: RejectedError) -> Diagnostic:
    """Return the diagnostic of a refusal, with an option that is near to one that sbatch does not know."""
    from ...protocol.extras_slurm import OWN_KEYS, RESERVED

    diagnostic = error.diagnostics[0]
    unknown = UNKNOWN_OPTION.search(error.stderr)
    near = nearest(unknown[1], (*RESERVED, *OTHER_OPTIONS)) if unknown else ""
    if not near:
        return diagnostic
    where = ""
    if near in OWN_KEYS:
        where = f" Write `{near}` under `extras.slurm`"
    elif near in RESERVED:
        where = " paislurm sets it itself"
    return replace(diagnostic, hint=f"{diagnostic.hint}; did you mean `--{near}`?{where}")


def _with(error: RejectedError, values: str) -> RejectedError:
    """Return a refusal with more in its hint."""
    diagnostic = error.diagnostics[0]
    hint = "; ".join(part for part in (diagnostic.hint, values) if part)
    return _again(error, replace(diagnostic, hint=hint), error.options)


def _again(error: RejectedError, diagnostic: Diagnostic, options: tuple[str, ...]) -> RejectedError:
    return RejectedError(diagnostic, argv=error.argv, status=error.status, stderr=error.stderr, options=options)


def _own_fields(option: str, document: Document) -> Iterator[Path]:
    """Yield the fields below `extras.slurm` that an option can come from, those of the whole job first."""
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
    """Yield the fields of the job file that an option can come from, those of the whole job first."""
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
LIMIT_REACHED = "E508"
_PAUSES = (5, 10, 20, 40)
_LONGEST = 60


def with_back_off(session: Session, attempt: Callable[[], T], patience: int, name: str) -> T:
    """Return what an attempt comes to; one that meets a limit of submitted jobs is made again.

    That goes on for `patience` seconds at most. An attempt leaves nothing behind when it fails, so that nothing is
    submitted twice. Other errors pass, and so does the last refusal.
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
            f"{name} is not submitted yet: {said}; trying again in {seconds} s, {left} s at most; Ctrl-C gives up"
        )
        try:
            time.sleep(seconds)
        except KeyboardInterrupt:
            message = f"interrupted while {name} waited for room in the queue: it was not submitted"
            raise InterruptedWaitError(Diagnostic(code="E532", message=message)) from None
        left -= seconds
    raise AssertionError
