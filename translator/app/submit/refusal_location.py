"""Trace a rejection by Slurm back to the job file: from an sbatch option to the field that set it."""

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
"""Options that restrict the nodes of a job. Source: sbatch(1)."""
MAX_OTHERS = 4
"""Most other possible fields that are named."""


def located(session: Session, error: RejectedError, compiled: Compiled, source: Source) -> RejectedError:
    """Return a rejection with its location in the job file, and with the site's valid values.

    For a temporary rejection, Slurm is not queried again.
    """
    ends_by_itself = error.diagnostics[0].code == LIMIT_REACHED
    site = compiled.site if ends_by_itself else site_now(session, source.backend, compiled.site)
    error = with_suspects(error, compiled.document)
    values = site_values(error.options, site, partitions_of(compiled))
    refusal = locate_refusal(error, compiled.document, values)
    refusal.diagnostics = with_options(refusal.diagnostics, source.typed)
    return refusal


def with_suspects(error: RejectedError, document: Document) -> RejectedError:
    """Add to a rejection for lack of nodes the options of the job that restrict its nodes."""
    bounds = [option for option in _BOUND_NODES if any(_own_fields(option, document))]
    if error.options != NODE_OPTIONS or not bounds:
        return error
    options, diagnostic = (*bounds, *error.options), error.diagnostics[0]
    message = diagnostic.message.replace(named_options(error.options), named_options(options), 1)
    words = " and ".join(f"`{option}`" for option in bounds)
    leaves = f"{words} {verb(len(bounds), 'restricts', 'restrict')} the nodes of the job: check this first"
    hint = f"{leaves}; else request less: `instances`, `cpu`, `memoryMB` or `gpu`"
    return _again(error, replace(diagnostic, message=message, hint=hint), options)


def locate_refusal(error: RejectedError, document: Document, values: str = "") -> RejectedError:
    """Return the rejection with its location in the job file, if known.

    `values` are the site's values for its options. If several fields are possible, those whose value Slurm repeats
    come first, and the hint names the others.
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
    also = f"or the cause is {some_of([*map(path_text, others)], MAX_OTHERS)}" if others else ""
    diagnostic = replace(
        diagnostic,
        location=document.place(first),
        path=path_text(first),
        hint="; ".join(part for part in (diagnostic.hint, also) if part),
    )
    return _with(_again(error, diagnostic, error.options), values)


def _with_near_option(error: RejectedError) -> Diagnostic:
    """Return the diagnostic of a rejection, with an option similar to the one that sbatch does not know."""
    from ...protocol.raw_options import OWN_KEYS, SBATCH

    diagnostic = error.diagnostics[0]
    unknown = UNKNOWN_OPTION.search(error.stderr)
    near = nearest(unknown[1], (*SBATCH, *OTHER_OPTIONS)) if unknown else ""
    if not near:
        return diagnostic
    why = f" A job file cannot set it: {SBATCH[near]}" if near in SBATCH else ""
    if near in OWN_KEYS:
        why = f" Write `{near}` under `extras.slurm`"
    return replace(diagnostic, hint=f"{diagnostic.hint}; did you mean `--{near}`?{why}")


def _with(error: RejectedError, values: str) -> RejectedError:
    """Add `values` to the hint of a rejection."""
    diagnostic = error.diagnostics[0]
    hint = "; ".join(part for part in (diagnostic.hint, values) if part)
    return _again(error, replace(diagnostic, hint=hint), error.options)


def _again(error: RejectedError, diagnostic: Diagnostic, options: tuple[str, ...]) -> RejectedError:
    return RejectedError(diagnostic, argv=error.argv, status=error.status, stderr=error.stderr, options=options)


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
LIMIT_REACHED = "E508"
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
