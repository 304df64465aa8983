"""Translation of pydantic's errors into diagnostics with a location.

Source: pydantic's error types. No field can raise an error of a type that is missing here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from math import ceil
from typing import TYPE_CHECKING, Any, TypeVar, get_args, get_origin

from msgspec import Struct, field
from pydantic import BaseModel, ValidationError

from ..errors import MAX_FAULTS, nearest
from ..reading.document import path_text
from ..times import duration, elapsed_text
from .diagnostics import near_hint
from .partial_model import alternatives, is_model, partial_model, tags_of
from .strict_model import key_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pydantic.fields import FieldInfo
    from pydantic_core import ErrorDetails

    from ..reading.document import Path
    from .diagnostics import DiagnosticCollector

_Model = TypeVar("_Model", bound=BaseModel)
_Loc = tuple[int | str, ...]
_MAX_SHOWN = 40
_TYPES = "`dockerimage`, `data`, `script` or `output`"


class Wording(Struct, frozen=True, kw_only=True):
    """Hints by key: the value to write for a missing key, and the right place of a misplaced key."""

    missing: Mapping[str, str] = field(default_factory=dict)
    elsewhere: Mapping[str, str] = field(default_factory=dict)


_NO_WORDING = Wording()


def parse_model(
    model: type[_Model],
    collector: DiagnosticCollector,
    *,
    codes: int = 200,
    wording: Wording = _NO_WORDING,
    inside: tuple[Path, Mapping[str, object]] | None = None,
) -> _Model:
    """Return the document's root as a `model`; if it has faults, report them and return a partial model.

    `codes` is the first number of the diagnostic codes: with 200 an unknown key is E201, with 450 it is E451.
    `inside` is a mapping in the document, with its path, to read instead of the root.
    """
    start, value = inside or ((), collector.document.mapping(()))
    try:
        return model.model_validate(value)
    except ValidationError as error:
        details = error.errors(include_url=False)[:MAX_FAULTS]
        misspelled = _misspelled_keys(details)
        for detail in details:
            if detail["type"] == "missing" and detail["loc"] in misspelled.values():
                continue  # already reported as misspelt
            number, path, message, hint, key = _diagnostic_parts(detail, model, wording, misspelled)
            collector.add(f"E{codes + number}", (*start, *path), message, hint=hint, key=key)
    return partial_model(model, value)


_DEEP = 3
"""The steps of a path to a key of `extras.slurm` itself."""


def _diagnostic_parts(
    detail: ErrorDetails, model: type[BaseModel], wording: Wording, misspelled: Mapping[_Loc, _Loc]
) -> tuple[int, Path, str, str, bool]:
    """Return the diagnostic for a pydantic error: number, path, message, hint, and whether it is at the key."""
    loc, kind, value = detail["loc"], detail["type"], detail["input"]
    # Pydantic reports a missing key at the key, unless the file has such a key.
    key = len(loc) > 1 and loc[-1] == "[key]" and kind != "extra_forbidden" and value == loc[-2]
    path, models = _walk(loc[:-1] if key else loc, model)
    if kind == "extra_forbidden":
        known = [name for each in models for name in _fields(each)]
        number, message, key = 1, f"unknown key `{_shortened(str(path[-1]))}`", True
        near = near_hint(str(misspelled[loc][-1]) if loc in misspelled else str(path[-1]), known)
        hints = [_misplaced(path, wording), near]
        if path[:2] == ("extras", "slurm") and len(path) > _DEEP:
            # Tables there have keys of the same names as parts of the job.
            hints.reverse()
        hint = _cut_off(path, value) or next(filter(None, hints), "remove it")
    elif kind in ("missing", "union_tag_not_found"):
        path = path if kind == "missing" else (*path, "type")
        number, message, key = 2, f"`{path[-1]}` is missing", True
        hint = _missing(path, wording)
    elif kind == "too_short":
        number, message = 5, f"this {'list' if isinstance(value, list) else 'mapping'} is empty"
        hint = _missing(path, wording) or "add an item, or remove the key"
    elif kind == "union_tag_invalid":
        path = (*path, "type")
        number, message, hint = 3, f"expected {_TYPES}, found {_value_text(value['type'])}", ""
    else:
        context = detail.get("ctx", {})
        what = context.get("what") or {"list_type": "a list", "tuple_type": "a list"}.get(kind, "a mapping")
        hidden = "auth" in path or path[:1] == ("secrets",)
        found = "another kind of value" if hidden and value is not None else _value_text(value)
        number, message = context.get("number", 3), f"expected {what}"
        hint, key = context.get("hint", ""), key or context.get("key", False)
        if not context.get("bare"):
            message, hint = f"{message}, found {found}", hint or hint_at_value(str(path[-1]), what, value)
    return number, path, message, hint, key


def _misspelled_keys(details: Sequence[ErrorDetails]) -> dict[_Loc, _Loc]:
    """Return the missing keys that the file has under a similar name: from the written to the expected location."""
    missing: dict[_Loc, list[str]] = {}
    for detail in details:
        if detail["type"] == "missing":
            missing.setdefault(detail["loc"][:-1], []).append(str(detail["loc"][-1]))
    found: dict[_Loc, _Loc] = {}
    for detail in details:
        loc = detail["loc"]
        names = missing.get(loc[:-1])
        if detail["type"] == "extra_forbidden" and names and (near := nearest(str(loc[-1]), names)):
            names.remove(near)
            found[loc] = (*loc[:-1], near)
    return found


def _walk(loc: tuple[int | str, ...], model: type[BaseModel]) -> tuple[Path, list[type[BaseModel]]]:
    """Return the path in the file, without pydantic's own steps, and the models that contain its last step."""
    path: list[int | str] = []
    kinds: list[Any] = [model]
    before: list[Any] = []
    for step in loc:
        models = [kind for kind in kinds if is_model(kind)]
        tagged = [kind for kind in models if len(models) > 1 and step in tags_of(kind)]
        if tagged:
            kinds = tagged
        else:
            path.append(step)
            before, kinds = models, [inner for kind in kinds for inner in inside(kind, step)]
    return tuple(path), before


def inside(kind: Any, step: int | str) -> list[Any]:
    """Return the possible types at a step below a type."""
    if is_model(kind):
        field = next((each for key, each in _fields(kind).items() if key == step), None)
        return alternatives(field.annotation) if field else []
    if get_origin(kind) in (list, tuple, dict):
        return alternatives(get_args(kind)[0 if get_origin(kind) is tuple else -1])
    return []


def _fields(model: type[BaseModel]) -> dict[str, FieldInfo]:
    return {key_of(model, name): field for name, field in model.model_fields.items()}


def _cut_off(path: Path, value: object) -> str:
    """Return the hint for a list of numbers in a flow mapping, whose comma ends the value: `{cpus: 0-15,128-143}`."""
    is_rest = value is None and str(path[-1])[:1].isdigit()
    return "in `{ }` a comma ends a value: put a value with a comma in quotes" if is_rest else ""


def _missing(path: Path, wording: Wording) -> str:
    """Return what to write for a missing or empty key; the most exact of its hints."""
    within = ".".join([step for step in path if isinstance(step, str)][-2:])
    return next(filter(None, map(wording.missing.get, (path_text(path), within, str(path[-1])))), "")


def _misplaced(path: Path, wording: Wording) -> str:
    """Return the hint for a key that is known, but at another place."""
    if "\u00a0" in str(path[-1]):
        return "replace the no-break space (U+00A0) in front of it or in it by an ordinary one"
    return wording.elsewhere.get(str(path[-1]), "") if path[0] != "deployments" else ""


def _value_text(value: object) -> str:
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


IN_DIGITS = "write it in digits, without a unit"
_WHOLE = re.compile(r"-?\d{1,10}", re.ASCII)
"""A whole number in quotes. YAML reads one of hundreds of digits as text, without quotes."""
_AMOUNT = re.compile(r"(\d{1,9}(?:\.\d{1,9})?)\s*([kmgtp])?(?:i|i?b(?:ytes?)?)?", re.IGNORECASE)
_MIB = {"k": 1 / 1024, "m": 1, "g": 1024, "t": 1024**2, "p": 1024**3}
_REST_OF_UNIT = re.compile(r"(?<=[wdhms])(?:eeks?|ays?|(?:ou)?rs?|in(?:ute)?s?|ec(?:ond)?s?)\b|\s", re.ASCII)
"""The part of `90 minutes` that `90m` does not have."""


def hint_at_value(key: str, what: str, value: object) -> str:
    """Return how to correct a value of `key`, where `what` is expected; "" if unknown."""
    if isinstance(value, str) and "number" in what and _WHOLE.fullmatch(value.strip()):
        return f"remove the quotes: `{value.strip()}`"
    if isinstance(value, str) and "number" in what and key.endswith("MB") and (hint := _in_mib(value)):
        return hint
    if isinstance(value, str) and "number" in what and ("<%" in value or "$" in value):
        return "expressions apply to commands; for one number in several places use a YAML anchor: `&n 4`, then `*n`"
    if isinstance(value, str) and what.startswith("a whole number") and re.search("[A-Za-z]", value):
        return IN_DIGITS
    if isinstance(value, (bool, int, float)) and what.startswith(("text", "a name")):
        return "add quotes"
    if value is None:
        return "write a value, or remove it"
    if what == "a list":
        return "write it as a list, one item per line: `- item`"
    if what == "a mapping":
        return "write it as a mapping, one key per line: `key: value`"
    if isinstance(value, str) and what == "true or false" and value.lower() in ("yes", "no", "on", "off"):
        return f"write `{'true' if value.lower() in ('yes', 'on') else 'false'}`"
    if isinstance(value, dict) and what == "text":
        return "put text that contains `: ` in quotes"
    return ""


def hint_at_time(text: str) -> str:
    """Return a hint for a time limit such as `2h` or `90 minutes`; "" for any other text.

    >>> hint_at_time("1.5"), hint_at_time("90min"), hint_at_time("1 day 2h")
    ('', 'write `01:30:00`', 'write `1-02:00:00`')
    """
    seconds = duration(_REST_OF_UNIT.sub("", text.lower()))
    return "" if seconds is None else f"write `{elapsed_text(seconds)}`"


def _in_mib(text: str) -> str:
    """Return a hint for an amount of memory with a unit; "" for any other text."""
    match = _AMOUNT.fullmatch(text.strip())
    if match is None or not match[2]:
        return ""
    return f"write `{ceil(float(match[1]) * _MIB[match[2].lower()])}`: the unit is MiB"
