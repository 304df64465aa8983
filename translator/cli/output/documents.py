"""What `--json` prints: one document with the version of its keys, in which points in time can be read."""

from __future__ import annotations

import json
from datetime import datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

SCHEMA_VERSION = 4
"""Of the keys: another one when a key goes, or means something else."""
_IS_TIME = "_at"
"""How the names of points in time end."""
DATA = frozenset({"backend_states", "overrides", "parameters", "ports_by_label", "slurm_options", "states", "sweep"})
"""Objects whose keys are data."""
NULL_IF_EMPTY = frozenset(
    {
        "advice", "backend", "cache", "certificates", "cluster", "difference", "gpu_gres", "image_path",
        "image_version", "job", "monitor_after", "node_suffix", "note", "parameter_difference", "plan_difference",
        "program", "reason", "rule", "runtime_difference", "script_difference", "secrets_file", "slurm_version",
        "suffix", "sysfs", "user", "virtual_cluster",
    }
)  # fmt: skip
"""Keys that are null in a document where the record has an empty text."""


def document(value: Mapping[str, object]) -> dict[str, object]:
    """Return a result as it is printed: seconds since 1970 become ISO 8601 with the zone of this machine.

    Nothing to say is null.
    """
    shown = _shown(value)
    assert isinstance(shown, dict)
    return {"schemaVersion": SCHEMA_VERSION, **shown}


def document_text(value: Mapping[str, object], *, indent: int | None = 2) -> str:
    """Return a document as text, on one line without `indent`."""
    return json.dumps(document(value), indent=indent)


def iso_time(seconds: int) -> str:
    """Return a point in time as `2026-11-23T08:10:00+00:00`; one that no calendar has stays a number."""
    try:
        return datetime.fromtimestamp(seconds).astimezone().isoformat(timespec="seconds")
    except (OverflowError, OSError, ValueError):
        return str(seconds)


def _shown(value: object, key: str = "") -> object:
    if value == "" and key in NULL_IF_EMPTY:
        return None
    if key in DATA:
        return value
    if isinstance(value, dict):
        return {name: _shown(each, name) for name, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_shown(each) for each in value]
    return iso_time(value) if key.endswith(_IS_TIME) and isinstance(value, int) else value
