"""Answer queries about Slurm by pyslurm, in a separate process: a line of JSON for each line of JSON.

A Python that need not have this package runs this file by its path. Only this file imports pyslurm, which is
GPL-2.0-only and exits its process if libslurm does. A request is `{"call": NAME, ...}`. An answer is `{"answer":
...}` or `{"error": KIND, "message": TEXT}`, where KIND is `slurm` for an error of Slurm, or `unusable`. Both contain
`cpu`, the CPU seconds used.
"""

from __future__ import annotations

import json
import os
import pwd
import sys
import time
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


class UnusableError(Exception):
    """Report that pyslurm cannot be used on this machine."""


def main() -> int:
    """Answer requests until the input ends. Redirect libslurm's own output to standard error."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    for line in sys.stdin:
        before = time.process_time()
        answer = reply(json.loads(line))
        json.dump({**answer, "cpu": time.process_time() - before}, answers)
        answers.write("\n")
        answers.flush()
    return 0


def reply(request: dict[str, Any]) -> dict[str, Any]:
    """Return the answer to a request. Any other error ends this process, which the caller notices."""
    name = request.pop("call")
    try:
        if name == "begin":
            return {"answer": {"pyslurm": installed(), "configuration": configuration()}}
        slurm = loaded()
        try:
            return {"answer": CALLS[name](slurm, **request)}
        except slurm.RPCError as error:
            return {"error": "slurm", "message": str(error)}
    except UnusableError as error:
        return {"error": "unusable", "message": str(error)}


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
    """Return pyslurm with its configuration loaded. Raises UnusableError if that fails."""
    if "pyslurm" not in sys.modules:
        if not configuration():
            raise UnusableError("no slurm.conf was found")
        # Otherwise the import itself reads the configuration.
        os.environ["PYSLURM_DISABLE_AUTO_INIT"] = "1"
        try:
            pyslurm = import_module("pyslurm")
        except ImportError as error:
            raise UnusableError(f"pyslurm cannot be imported: {error}") from None
        # Before 25.11 the import initializes libslurm.
        getattr(pyslurm, "slurm_init", int)()
    return sys.modules["pyslurm"]


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
    return {**_component(job), "reason": job.state_reason, "nodes": job.allocated_nodes}


def accounts(slurm: ModuleType, ids: list[int]) -> list[dict[str, Any]]:
    """Return the accounting records of jobs, one for each component; for a requeued job, its last run."""
    found = slurm.db.Jobs.load(slurm.db.JobFilter(ids=ids))
    return [
        {
            **_component(job),
            "nodes": job.nodelist,
            "status": job.exit_code,
            "signal": job.exit_code_signal,
            "by": _user_number(job.cancelled_by) if job.state == "CANCELLED" else None,
        }
        for job in _members(found)
    ]


def _component(job: Any) -> dict[str, Any]:
    leader, offset = job.heterogeneous_id, job.heterogeneous_offset
    return {
        "leader": leader or job.id,
        # The offset is None for a first component and for a job with one component.
        "offset": None if leader is None else 0 if offset in (None, *NO_VALUES) else offset,
        "state": job.state,
        "submitted": job.submit_time,
        "started": job.start_time,
        "ended": job.end_time,
        "name": getattr(job, "name", None),
        "comment": getattr(job, "comment", None),
    }


def _user_number(name: str | None) -> int | None:
    """Return a user's uid; pyslurm gives the name, or the uid if it has no name."""
    if name is None:
        return None
    try:
        return int(name) if name.isdecimal() else pwd.getpwnam(name).pw_uid
    except KeyError:
        return None


def nodes(slurm: ModuleType, names: list[str]) -> list[dict[str, Any]]:
    """Return the states of nodes with all flags (`MIXED+NOT_RESPONDING`), and the reasons given."""
    found = {node.name: node for node in _members(slurm.Nodes.load())}
    return [{"name": name, "state": found[name].state, "reason": found[name].reason} for name in names if name in found]


def cancel(slurm: ModuleType, job_id: int) -> None:
    """Cancel a job with all its components. Ignore a job that has ended or is no longer known."""
    slurm.Job(job_id).cancel()


def _members(found: Iterable[Any]) -> Iterator[Any]:
    """Yield the members of a pyslurm collection; before 23.11 some were lists."""
    values: Callable[[], Iterable[Any]] | None = getattr(found, "values", None)
    yield from found if values is None else values()


CALLS: dict[str, Callable[..., Any]] = {"queue": queue, "accounts": accounts, "nodes": nodes, "cancel": cancel}

if __name__ == "__main__":
    # This file's folder is called pyslurm too, and would hide the package.
    sys.path.pop(0)
    sys.exit(main())
