"""Files of another kind that are given for a job file: one error says what a file looks like. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping

from ..errors import Diagnostic, Location

_SBATCH = re.compile(r"^#SBATCH\b", re.MULTILINE)
_SHELL = re.compile(r"#![^\n]*sh\b")
_PYTHON = re.compile(r"(?:#[^\n]*\n|\s)*(?:import \w|from [\w.]+ import |def \w+\()")
_BATCH_SCRIPT = (
    "a batch script of Slurm",
    "sbatch submits it as it is; a job file begins with `protocolVersion: 2` and has the commands under `taskRoles`",
)
_PROGRAM = "a job file begins with `protocolVersion: 2`; its `commands` say what is run, as in `- python train.py`"
_SITE = ("a site profile", "name it beside a job file: `--site FILE`")
SITE_KEYS = frozenset(("partitions", "defaultPartition", "virtualClusters", "nodeTypes", "slurmVersion", "storages"))
"""Keys that a site profile has, and no job file at its top level."""
_OF_OTHERS: tuple[tuple[frozenset[str], str], ...] = (
    (frozenset(("apiVersion", "kind")), "a manifest of Kubernetes"),
    (frozenset(("services",)), "a file of docker compose"),
    (frozenset(("resources", "run")), "a task of SkyPilot"),
    (frozenset(("setup", "run")), "a task of SkyPilot"),
    (frozenset(("num_nodes", "run")), "a task of SkyPilot"),
)
"""Keys by which other files are known, and what these are."""
_WRITE = "write the job as protocol v2: `protocolVersion: 2`, `prerequisites`, `taskRoles`"
_OF_JOBS = ("protocolVersion", "taskRoles", "jobName", "prerequisites")


def error_of_text(text: str, file: str) -> Diagnostic | None:
    """Return the error for a script that cannot be read as YAML, None for what is no script."""
    if any(key in text for key in _OF_JOBS):
        return None
    if _SBATCH.search(text):
        return _error(*_BATCH_SCRIPT, Location(file=file))
    if _SHELL.match(text):
        return _error("a shell script", _PROGRAM, Location(file=file))
    return _error("a program in Python", _PROGRAM, Location(file=file)) if _PYTHON.match(text) else None


def error_of_mapping(root: object, file: str) -> Diagnostic | None:
    """Return the error for a file that is of another kind by its keys, None for what may be a job file."""
    if not isinstance(root, Mapping) or any(key in root for key in _OF_JOBS):
        return None
    if SITE_KEYS & root.keys():
        return _error(*_SITE, Location(file=file))
    found = next((what for keys, what in _OF_OTHERS if keys <= root.keys()), None)
    return _error(found, _WRITE, Location(file=file)) if found else None


def _error(what: str, hint: str, location: Location) -> Diagnostic:
    return Diagnostic(code="E640", message=f"this looks like {what}, not like a job file", location=location, hint=hint)
