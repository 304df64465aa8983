"""Options of the command line that take the place of keys of `extras.slurm`: for the job and all its task roles."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from msgspec.structs import replace

from ..errors import Diagnostic, UsageError

if TYPE_CHECKING:
    from ..reading.document import Document, Path, Value

TABLE: Path = ("extras", "slurm")


def with_slurm_options(document: Document, given: Mapping[str, str]) -> Document:
    """Return the document with these keys in place of those of its `extras.slurm`, of task roles too.

    Raises `UsageError` with all values that cannot be meant; the rest is checked as what stands in a file.
    """
    if not given or not all(isinstance(document.at(path) or {}, Mapping) for path in (TABLE[:1], TABLE)):
        return document
    faults = [fault for name, value in given.items() if (fault := value_fault(name, value))]
    if faults:
        raise UsageError(faults)
    root, extras, slurm = (dict(document.mapping(path)) for path in ((), TABLE[:1], TABLE))
    roles = document.mapping((*TABLE, "taskRoles"))
    if roles:
        slurm["taskRoles"] = {name: _without(role, given) for name, role in roles.items()}
    root["extras"] = {**extras, "slurm": {**slurm, **given}}
    new = {(*TABLE, name): f"--{name}" for name in given}
    old = {(*TABLE, "taskRoles", role, name) for role in roles for name in given} | new.keys()
    spans = {path: span for path, span in document.spans.items() if path not in old}
    return replace(document, root=root, spans=spans, given=new)


def _without(role: Value, names: Mapping[str, str]) -> Value:
    return {key: value for key, value in role.items() if key not in names} if isinstance(role, Mapping) else role


def value_fault(name: str, value: str) -> Diagnostic | None:
    """Return what is wrong with a value, in the words of what checks the same key of a file."""
    from pydantic_core import PydanticCustomError

    from .extras_slurm import sbatch_value, time_limit

    try:
        (time_limit if name == "time" else sbatch_value)(value)
    except PydanticCustomError as error:
        hint = (error.context or {}).get("hint", "")
        return Diagnostic(code="E585", message=f"--{name} {value!r}: {error.message()}", hint=hint)
    return None
