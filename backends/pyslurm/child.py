"""Answer a query about Slurm by pyslurm, in a process of its own: `child.py NAME`, with arguments as JSON.

A Python that need not have this package runs this file by its path. Only this file imports pyslurm, which is
GPL-2.0-only and exits its process if libslurm does. The answer is JSON on standard output; with the exit status
SLURM_ERROR it is the message of Slurm. Any other exit status means that pyslurm is unusable, with a message on standard
error.
"""

from __future__ import annotations

import json
import os
import pwd
import sys
from importlib import import_module, metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from types import ModuleType

CONFIGURATIONS = ("/etc/slurm/slurm.conf", "/run/slurm/conf/slurm.conf")
"""Where libslurm searches for its configuration; a configless machine receives the second.

Source: slurm.conf(5), DESCRIPTION, and configless_slurm.html.
"""
NO_VALUES = (0xFFFFFFFE, 0xFFFFFFFF)
"""Libslurm's values for a missing number. Source: slurm.h, NO_VAL and INFINITE."""


SLURM_ERROR = 3


def main(name: str) -> None:
    """Answer a query. Redirect libslurm's own output to standard error."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    arguments = json.load(sys.stdin)
    if name == "begin":
        answer: Any = {"pyslurm": installed(), "configuration": configuration()}
    else:
        slurm = loaded()
        try:
            answer = CALLS[name](slurm, **arguments)
        except slurm.RPCError as error:
            answers.write(str(error))
            answers.close()
            sys.exit(SLURM_ERROR)
    json.dump(answer, answers)
    answers.close()


def installed() -> str:
    """Return the version of the installed pyslurm, "" if there is none, without importing it."""
    try:
        return metadata.version("pyslurm")
    except metadata.PackageNotFoundError:
        return ""


def configuration() -> str:
    """Return the slurm.conf that libslurm will find, "" if there is none.

    Without one, libslurm exits the process; with a `$SLURM_CONF` that does not exist, it retries for a minute.
    """
    named = os.environ.get("SLURM_CONF")
    places = [named] if named else CONFIGURATIONS
    return next((place for place in places if Path(place).is_file()), "")


def loaded() -> ModuleType:
    """Return pyslurm with its configuration loaded. Exits if that fails."""
    if not configuration():
        sys.exit("no slurm.conf was found")
    # Otherwise the import itself reads the configuration.
    os.environ["PYSLURM_DISABLE_AUTO_INIT"] = "1"
    try:
        pyslurm = import_module("pyslurm")
    except ImportError as error:
        sys.exit(f"pyslurm cannot be imported: {error}")
    # Before 25.11 the import initializes libslurm.
    getattr(pyslurm, "slurm_init", int)()
    return pyslurm


def queue(slurm: ModuleType, ids: list[int]) -> list[dict[str, Any]]:
    """Return the controller's records of jobs, one for each component.

    For one job, query its number, which returns only its first component. For more, the controller sends all jobs of
    all users.
    """
    if len(ids) == 1:
        try:
            job = slurm.Job.load(ids[0])
        except slurm.RPCError as error:
            if "Invalid job id" in str(error):
                return []
            raise
        if job.heterogeneous_id is None:
            return [_queued(job)]
    return [_queued(job) for job in _members(slurm.Jobs.load()) if (job.heterogeneous_id or job.id) in ids]


def _queued(job: Any) -> dict[str, Any]:
    return {**_component(job), "reason": job.state_reason or "", "nodes": job.allocated_nodes or ""}


def accounts(slurm: ModuleType, ids: list[int]) -> list[dict[str, Any]]:
    """Return the accounting records of jobs, one for each component; for a requeued job, its last run."""
    found = slurm.db.Jobs.load(slurm.db.JobFilter(ids=ids))
    return [
        {
            **_component(job, _user_number(job.cancelled_by) if job.state == "CANCELLED" else None),
            "nodes": job.nodelist or "",
            "status": job.exit_code,
            "signal": job.exit_code_signal,
        }
        for job in _members(found)
    ]


def _component(job: Any, by: int | None = None) -> dict[str, Any]:
    """Return the fields of a row of Slurm's programs; `by` is the uid of the user who cancelled the job."""
    leader, offset = job.heterogeneous_id, job.heterogeneous_offset
    return {
        "leader": str(leader or job.id),
        # The offset is None for a first component and for a job with one component.
        "offset": None if leader is None else 0 if offset in (None, *NO_VALUES) else offset,
        "state": job.state,
        "raw_state": job.state if by is None else f"{job.state} by {by}",
        "submitted": job.submit_time,
        "started": job.start_time,
        "ended": job.end_time,
        "name": getattr(job, "name", None) or "",
        "comment": getattr(job, "comment", None) or "",
        # The controller's records have the first, the accounts' the second.
        "command": getattr(job, "command", None) or getattr(job, "submit_command", None) or "",
    }


def _user_number(name: str | None) -> int | None:
    """Return a user's uid; pyslurm gives the name, or the uid if it has no name."""
    if name is None:
        return None
    try:
        return int(name) if name.isdecimal() else pwd.getpwnam(name).pw_uid
    except KeyError:
        return None


def nodes(slurm: ModuleType, names: list[str]) -> dict[str, str]:
    """Return those of these nodes that are out of order, with the reasons given. Source: sinfo(1), NODE STATE CODES."""
    found = {node.name: node for node in _members(slurm.Nodes.load()) if node.name in names}
    bad = ("DOWN", "DRAIN", "FAIL", "NOT_RESPONDING")
    return {
        name: node.reason or ""
        for name, node in sorted(found.items())
        if any(word.startswith(bad) for word in node.state.split("+"))
    }


def _members(found: Iterable[Any]) -> Iterator[Any]:
    """Yield the members of a pyslurm collection; before 23.11 some were lists."""
    values: Callable[[], Iterable[Any]] | None = getattr(found, "values", None)
    yield from found if values is None else values()


CALLS: dict[str, Callable[..., Any]] = {"queue": queue, "accounts": accounts, "nodes": nodes}

if __name__ == "__main__":
    # This file's folder is called pyslurm too, and would hide the package.
    sys.path.pop(0)
    main(sys.argv[1])
