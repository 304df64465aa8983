"""What pydantic found wrong becomes diagnostics in the user's words, each with a place in the file.

Source: pydantic's error types; a type that is not listed here would be a value that no field can refuse so.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from types import UnionType
from typing import TYPE_CHECKING, Any, TypeVar, Union, get_args, get_origin

from pydantic_core import ValidationError

from ..lazy import dataclass
from ..reading.document import path_text
from .diagnostics import MAX_FAULTS, near_hint
from .model import Model, tag_of
from .partial_model import partial_model

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

    from ..reading.document import Path
    from .diagnostics import DiagnosticCollector
    from .model import Field

_Model = TypeVar("_Model", bound=Model)
_MAX_SHOWN = 40
_TYPES = "`dockerimage`, `data`, `script` or `output`"


@dataclass(frozen=True, kw_only=True)
class Wording:
    """Hold hints by key: what to write for one that is missing, here or at a path, and where an unknown one belongs."""

    missing: Mapping[str, str] = field(default_factory=dict)
    elsewhere: Mapping[str, str] = field(default_factory=dict)


_HOMES = {
    **dict.fromkeys(("cpu", "gpu", "memoryMB", "ports"), "resourcePerInstance"),
    **dict.fromkeys(("shmMB", "infiniband"), "extraContainerOptions"),
    **dict.fromkeys(("minFailedInstances", "minSucceededInstances"), "completion"),
    **dict.fromkeys(("virtualCluster", "deployment"), "defaults"),
    **dict.fromkeys(("preCommands", "postCommands"), "deployments"),
    **dict.fromkeys(("time", "layout", "onTimeout", "exportEnv", "workdir", "compat"), "extras.slurm"),
    "gangAllocation": "extras",
}
"""Where keys stand that are easily written one level too high or too low."""
V2_WORDING = Wording(
    missing={
        "protocolVersion": "begin the file with `protocolVersion: 2`",
        "$.type": "add `type: job`",
        "type": "say which kind of prerequisite this is: `type: dockerimage`, or data, script, output",
        "taskRoles": "add a role with its `dockerImage`, `resourcePerInstance` and `commands`",
        "dockerImage": "name a prerequisite of type dockerimage: `dockerImage: my_image`",
        "resourcePerInstance": "say what a task needs: `resourcePerInstance: {cpu: 4, memoryMB: 8192, gpu: 1}`",
        "cpu": "add `cpu: 1`",
        "gpu": "add `gpu: 0` for a role without GPUs",
        "memoryMB": "add `memoryMB: 1024`, which is in MiB",
        "commands": "list what the role runs, a command an item: `- python train.py`",
        "uri": "name the image: `uri: repository/image:tag`",
    },
    elsewhere={key: f"it stands under `{home}`" for key, home in _HOMES.items()},
)


def parse_model(
    model: type[_Model],
    collector: DiagnosticCollector,
    *,
    codes: int = 200,
    wording: Wording = V2_WORDING,
    inside: tuple[Path, Mapping[str, object]] | None = None,
) -> _Model:
    """Return the document's root as a `model`; a partial one when there are faults, which the collector gets.

    `codes` is where the codes of the diagnostics begin: 200 makes an unknown key E201, 450 makes it E451.
    `inside` is a mapping in the document, with its path, that is read instead of the root.
    """
    start, value = inside or ((), collector.document.mapping(()))
    try:
        return model.model_validate(value)
    except ValidationError as error:
        for detail in error.errors(include_url=False)[:MAX_FAULTS]:
            _add(detail, model, collector, codes, wording, start)
    return partial_model(model, value)


def _add(
    detail: ErrorDetails,
    model: type[Model],
    collector: DiagnosticCollector,
    codes: int,
    wording: Wording,
    start: Path,
) -> None:
    """Add the diagnostic for one of pydantic's errors."""
    loc, kind, value = detail["loc"], detail["type"], detail["input"]
    # Pydantic's word for a diagnostic of a key, unless the file has such a key.
    key = len(loc) > 1 and loc[-1] == "[key]" and kind != "extra_forbidden" and value == loc[-2]
    path, models = _walk(loc[:-1] if key else loc, model)
    if kind == "extra_forbidden":
        known = [name for each in models for name in _fields(each)]
        number, message, key = 1, f"unknown key `{_shortened(str(path[-1]))}`", True
        hint = _misplaced(path, wording) or near_hint(str(path[-1]), known)
    elif kind in ("missing", "union_tag_not_found"):
        path = path if kind == "missing" else (*path, "type")
        number, message, key = 2, f"`{path[-1]}` is missing", True
        hint = wording.missing.get(path_text(path)) or wording.missing.get(str(path[-1]), "")
    elif kind == "too_short":
        number, message = 5, f"this {'list' if isinstance(value, list) else 'mapping'} is empty"
        hint = "add to it, or leave the key out"
    elif kind == "union_tag_invalid":
        path = (*path, "type")
        number, message, hint = 3, f"expected {_TYPES}, found {_found(value['type'])}", ""
    else:
        context = detail.get("ctx", {})
        what = context.get("what") or {"list_type": "a list"}.get(kind, "a mapping")
        hidden = "auth" in path or path[:1] == ("secrets",)
        found = "another kind of value" if hidden and value is not None else _found(value)
        number, message = context.get("number", 3), f"expected {what}"
        hint, key = context.get("hint", ""), key or context.get("key", False)
        if not context.get("bare"):
            message, hint = f"{message}, found {found}", hint or _hint(what, value)
    collector.add(f"E{codes + number}", (*start, *path), message, hint=hint, key=key)


def _walk(loc: tuple[int | str, ...], model: type[Model]) -> tuple[Path, list[type[Model]]]:
    """Return the path in the file, without pydantic's own steps, and the models that hold its last step."""
    path: list[int | str] = []
    kinds: list[Any] = [model]
    before: list[Any] = []
    for step in loc:
        models = [kind for kind in kinds if _is_model(kind)]
        tagged = [kind for kind in models if len(models) > 1 and step in _tags(kind)]
        if tagged:
            kinds = tagged
        else:
            path.append(step)
            before, kinds = models, [inner for kind in kinds for inner in inside(kind, step)]
    return tuple(path), before


def inside(kind: Any, step: int | str) -> list[Any]:
    """Return the types that may stand at a step below a type."""
    if _is_model(kind):
        field = next((each for key, each in _fields(kind).items() if key == step), None)
        return _alternatives(field.annotation) if field else []
    if get_origin(kind) in (list, dict):
        return _alternatives(get_args(kind)[-1])
    return []


def _alternatives(annotation: Any) -> list[Any]:
    """Return the types of a union, and a single type as a list of one; `Annotated` is taken off."""
    while hasattr(annotation, "__metadata__"):
        annotation = get_args(annotation)[0]
    if get_origin(annotation) in (Union, UnionType):
        return [inner for each in get_args(annotation) for inner in _alternatives(each)]
    return [annotation]


def _is_model(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, Model)


def _fields(model: type[Model]) -> dict[str, Field]:
    return {field.alias: field for field in model.model_fields.values()}


def _tags(model: type[Model]) -> tuple[Any, ...]:
    """Return the values by which the models of a union are told apart."""
    tag = tag_of(model)
    return get_args(model.model_fields[tag].annotation) if tag else ()


def _misplaced(path: Path, wording: Wording) -> str:
    """Return the hint for a key that exists, but elsewhere."""
    if "\u00a0" in str(path[-1]):
        return "replace the no-break space (U+00A0) in front of it or in it by an ordinary one"
    return wording.elsewhere.get(str(path[-1]), "")


def _hint(what: str, value: object) -> str:
    """Return what helps with a value of the wrong kind."""
    if isinstance(value, str) and "number" in what and value.strip().lstrip("-").isdigit():
        return f"write it without quotes: `{value.strip()}`"
    if isinstance(value, (bool, int, float)) and what.startswith("text"):
        return "put it in quotes"
    if isinstance(value, str) and what == "a list":
        return "write it as a list, each item on a line of its own: `- item`"
    if isinstance(value, str) and what == "true or false" and value.lower() in ("yes", "no", "on", "off"):
        return f"write `{'true' if value.lower() in ('yes', 'on') else 'false'}`"
    if isinstance(value, dict) and what == "text":
        return "text that contains `: ` needs quotes around all of it"
    return ""


def _found(value: object) -> str:
    """Return a value as messages show it."""
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (Mapping, list)):
        kind = "mapping" if isinstance(value, Mapping) else "list"
        return f"a {kind}" if value else f"an empty {kind}"
    if isinstance(value, str):
        return repr(_shortened(str(value))) if value else "an empty text"
    return _shortened(str(value))


def _shortened(text: str) -> str:
    return text if len(text) <= _MAX_SHOWN else text[: _MAX_SHOWN - 3] + "..."
