"""The plan of a job as its folder keeps it: `plan.json`, read as data that anybody may have spoilt."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from .safe_read import CorruptDataError, json_object, read_end

if TYPE_CHECKING:
    from .job_folder import JobFolder

MAX_BYTES = 16 << 20


def kept_plan(folder: JobFolder) -> Mapping[str, object]:
    """Return the plan with which a job was submitted; nothing of one that cannot be read."""
    try:
        return json_object(read_end(folder.path / "plan.json", MAX_BYTES)[0])
    except (OSError, CorruptDataError):
        return {}


def objects(value: object) -> Sequence[Mapping[str, object]]:
    """Return the objects of a list of JSON, without what is none."""
    return [each for each in value if isinstance(each, Mapping)] if isinstance(value, (list, tuple)) else []


def directives(plan: Mapping[str, object]) -> Mapping[str, str]:
    """Return the options of sbatch that hold for the whole job: those of the first component that have a value."""
    components = objects(plan.get("components"))
    pairs = components[0].get("directives") if components else ()
    rows = [pair for pair in pairs if isinstance(pair, list) and len(pair) == 2] if isinstance(pairs, list) else []
    return {str(name): str(value) for name, value in rows if value is not None}


def gpu_count(plan: Mapping[str, object]) -> int:
    """Return how many GPUs the tasks of a job have in all, those that run at a time."""
    total = 0
    for role in objects(plan.get("roles")):
        resources, slots = role.get("resources"), role.get("slots")
        gpus = resources.get("gpus") if isinstance(resources, Mapping) else 0
        total += gpus * slots if isinstance(gpus, int) and isinstance(slots, int) else 0
    return total
