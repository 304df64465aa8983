"""Detection of the protocol, and overrides of a job file from the command line."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from msgspec.structs import replace

from ..errors import Diagnostic, Severity, UsageError
from ..reading.document import path_text
from ..reading.scalars import plain_value
from ..validation.diagnostics import near_hint
from .v2.schema import NAME

if TYPE_CHECKING:
    from ..reading.document import Document, Path, Value


NAME_V1 = "a name of at most 255 letters (a-z, A-Z), digits, `.`, `_`, `~` and `-`"
NAME_PATTERN_V1 = r"[A-Za-z0-9._~-]{1,255}"
"""The names of jobs and task roles of protocol v1; here, because most files need no other part of it."""


def is_v1(document: Document) -> bool:
    """Whether a job is of protocol v1. Source: PAI web portal, which checks for `protocolVersion`."""
    root = document.root
    if not isinstance(root, Mapping) or "protocolVersion" in root:
        return False
    return "jobName" in root or isinstance(root.get("taskRoles"), list)


def draft_error(document: Document) -> Diagnostic | None:
    """Return the diagnostic for a document of the draft between the protocols, None for any other."""
    root = document.root
    if not isinstance(root, Mapping) or "protocolVersion" in root or "taskRoles" in root:
        return None
    draft = next((key for key in ("protocol_version", "tasks") if key in root), None)
    if draft is None:
        return None
    message = f"`{draft}` belongs to an abandoned draft of the job protocol"
    hint = "write the job as protocol v2: `protocolVersion: 2`, `prerequisites`, `taskRoles`"
    return Diagnostic(
        code="E122", message=message, location=document.location((draft,), key=True), path=f"$.{draft}", hint=hint
    )


TABLE: Path = ("extras", "slurm")
_COUNTS = (
    "instances", "minFailedInstances", "minSucceededInstances",
    "taskNumber", "minFailedTaskCount", "minSucceededTaskCount",
)  # fmt: skip
"""The keys of a role that count tasks, of v2 and v1."""


def with_slurm_options(document: Document, given: Mapping[str, str]) -> Document:
    """Return the document with these keys instead of those in its `extras.slurm`, also for its task roles.

    Raises `UsageError` with all impossible values; later checks treat the rest like values of the file.
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


def with_most_tasks(document: Document, most: int | None) -> Document:
    """Return the document with at most `most` tasks in each role, and with thresholds that these can reach."""
    roles = document.at(("taskRoles",))
    if most is None or roles is None:
        return document
    return replace(document, root={**document.mapping(()), "taskRoles": _at_most(roles, most)})


def _at_most(value: Value, most: int) -> Value:
    if isinstance(value, Mapping):
        return {
            key: min(each, most) if key in _COUNTS and isinstance(each, int) else _at_most(each, most)
            for key, each in value.items()
        }
    return [_at_most(each, most) for each in value] if isinstance(value, list) else value


def value_fault(name: str, value: str) -> Diagnostic | None:
    """Return the fault of a value, as a job file with it would report."""
    from pydantic_core import PydanticCustomError

    from .extras_slurm import sbatch_value, time_limit

    try:
        (time_limit if name == "time" else sbatch_value)(value)
    except PydanticCustomError as error:
        hint = (error.context or {}).get("hint", "")
        return Diagnostic(code="E585", message=f"--{name} {value!r}: {error.message()}", hint=hint)
    return None


def apply_overrides(
    document: Document, *, parameters: Mapping[str, str], name: str | None, secrets: Mapping[str, Value]
) -> tuple[Document, tuple[Diagnostic, ...]]:
    """Return the document with these values instead of its own, and their faults.

    A parameter that the job does not have is a fault. Secrets come from `secrets`, else from the file's second
    document, else from the file itself.
    """
    diagnostics: list[Diagnostic] = []
    own = document.mapping(("parameters",))
    for key in parameters:
        if key not in own:
            path = path_text(("parameters", key))
            hint = near_hint(key, own) or ("" if own else "the job file has no `parameters`")
            message = f"the job has no parameter `{key}`"
            diagnostics.append(Diagnostic(code="E309", message=message, path=path, hint=hint))
    v1 = is_v1(document)
    pattern, form = (NAME_PATTERN_V1, NAME_V1) if v1 else (r"[a-zA-Z0-9_-]{1,255}", NAME)
    if name is not None and not re.fullmatch(pattern, name, re.ASCII):
        path = f"$.{'jobName' if v1 else 'name'}"
        diagnostics.append(Diagnostic(code="E309", message=f"the job's name {name!r}: expected {form}", path=path))
    root = dict(document.mapping(()))
    if parameters and not diagnostics:
        values = {key: value_of(text) for key, text in parameters.items()}
        root["parameters"] = {**own, **values}
        diagnostics += (
            _no_number(key, own[key]) for key, value in values.items() if _is_number(own[key]) > _is_number(value)
        )
    if name is not None and not any(each.severity is Severity.ERROR for each in diagnostics):
        root["jobName" if v1 else "name"] = name
    given = {**(document.secrets or {}), **secrets}
    if given and v1:
        diagnostics.append(Diagnostic(code="E309", message="secrets cannot be used with protocol v1"))
    elif given:
        root["secrets"] = {**document.mapping(("secrets",)), **given}
    return replace(document, root=root), tuple(diagnostics)


def _is_number(value: Value) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _no_number(key: str, default: Value) -> Diagnostic:
    """Return the warning of a value that is no number, where the job file has one."""
    path = path_text(("parameters", key))
    message = f"--set {key}: the value is no number, and that of the job file is {default}"
    return Diagnostic(code="W343", message=message, path=path, hint=f"write a number, as in `--set {key}={default}`")


def value_of(text: str) -> Value:
    """Parse a word as YAML would read it in a job file; an empty word is empty text.

    Quotes around the whole word make it text: `'010'` is not 8.

    >>> value_of("1e-3"), value_of("'1e-3'"), value_of("[1")
    (0.001, '1e-3', '[1')
    """
    if not text:
        return ""
    if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"":
        return text[1:-1]
    return plain_value(text)
