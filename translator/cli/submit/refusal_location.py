"""Trace what Slurm refuses back to the job file: from an sbatch option to the field that it was made of."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from paislurm.backends.slurm.refusal_table import OTHER_OPTIONS, UNKNOWN_OPTION

from ...errors import RejectedError, nearest
from ...reading.document import path_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ...errors import Diagnostic
    from ...reading.document import Document, Path

_ROLE_FIELDS: dict[str, Path] = {
    "nodes": ("instances",),
    "cpus-per-task": ("resourcePerInstance", "cpu"),
    "mem": ("resourcePerInstance", "memoryMB"),
    "gres": ("resourcePerInstance", "gpu"),
}
_ROLE_FIELDS_V1 = {"nodes": "taskNumber", "cpus-per-task": "cpuNumber", "mem": "memoryMB", "gres": "gpuNumber"}
_OF_VIRTUAL_CLUSTER = ("partition", "account", "qos", "reservation")


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
    diagnostic = _with_near_option(error)
    also = f"or it is about {', '.join(map(path_text, others))}" if others else ""
    diagnostic = replace(
        diagnostic,
        location=document.place(first),
        path=path_text(first),
        hint="; ".join(part for part in (diagnostic.hint, also) if part),
    )
    located = RejectedError(
        diagnostic, argv=error.argv, status=error.status, stderr=error.stderr, options=error.options
    )
    return _with(located, values)


def _with_near_option(error: RejectedError) -> Diagnostic:
    """Return the diagnostic of a refusal, with an option that is near to one that sbatch does not know."""
    from ...protocol.extras_slurm import OWN_KEYS, RESERVED

    diagnostic = error.diagnostics[0]
    unknown = UNKNOWN_OPTION.search(error.stderr)
    near = nearest(unknown[1], (*RESERVED, *OTHER_OPTIONS)) if unknown else ""
    if not near:
        return diagnostic
    where = (
        f" Write `{near}` under `extras.slurm`"
        if near in OWN_KEYS
        else " paislurm sets it itself"
        if near in RESERVED
        else ""
    )
    return replace(diagnostic, hint=f"{diagnostic.hint}; did you mean `--{near}`?{where}")


def _with(error: RejectedError, values: str) -> RejectedError:
    """Return a refusal with more in its hint."""
    diagnostic = error.diagnostics[0]
    hint = "; ".join(part for part in (diagnostic.hint, values) if part)
    return RejectedError(
        replace(diagnostic, hint=hint),
        argv=error.argv,
        status=error.status,
        stderr=error.stderr,
        options=error.options,
    )


def _fields(option: str, document: Document) -> Iterator[Path]:
    """Yield the fields of the job file that an option can come from, those of the whole job first."""
    slurm_options: Path = ("extras", "slurm")
    homes = [
        slurm_options,
        *((*slurm_options, "taskRoles", role) for role in document.mapping((*slurm_options, "taskRoles"))),
    ]
    found = False
    for home in homes:
        if document.at((*home, option)) is not None:
            found = True
            yield (*home, option)
        for path, text in document.texts((*home, "options")):
            if text.partition("=")[0] == f"--{option}":
                yield path
    names: tuple[Path, ...] = (("defaults", "virtualCluster"), ("virtualCluster",))
    if option in _OF_VIRTUAL_CLUSTER and not found:
        yield from (name for name in names if document.at(name) is not None)
    if option in _ROLE_FIELDS_V1:
        for role_path, _ in document.mappings(("taskRoles",)):
            yield (*role_path, _ROLE_FIELDS_V1[option])
    if option in _ROLE_FIELDS:
        for role in document.mapping(("taskRoles",)):
            yield ("taskRoles", role, *_ROLE_FIELDS[option])
