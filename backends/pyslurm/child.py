"""Answer questions about Slurm by pyslurm, in a process of its own: a line of JSON for each line of JSON.

This file is run by its path, by a Python that need not have this package, and it alone imports pyslurm: that is
GPL-2.0-only, and ends its process where libslurm does. A request is `{"call": NAME, ...}`, an answer `{"answer": ...}`
or `{"error": KIND, "message": TEXT}`, with KIND `slurm` for what Slurm said, or `unusable`; either has `cpu`, what it
cost in seconds.
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
"""Where libslurm looks for its configuration; the second is what a configless machine is sent.

Source: slurm.conf(5), DESCRIPTION, and configless_slurm.html.
"""
NO_VALUES = (0xFFFFFFFE, 0xFFFFFFFF)
"""What libslurm has where there is no number. Source: slurm.h, NO_VAL and INFINITE."""


class UnusableError(Exception):
    """Report that pyslurm cannot be asked on this machine."""


def main() -> int:
    """Answer until nobody asks any more. What libslurm itself prints is no answer: it goes to standard error."""
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
    """Return the answer to a request. Whatever else goes wrong ends this process, which is an answer, too."""
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
    """Return the version of the pyslurm that is installed, "" where there is none; nothing is imported."""
    try:
        return metadata.version("pyslurm")
    except metadata.PackageNotFoundError:
        return ""


def configuration() -> str:
    """Return the slurm.conf that libslurm will find, "" where there is none.

    Without one its library ends the process, and with a `$SLURM_CONF` that is not there it tries for a minute.
    """
    named = os.environ.get("SLURM_CONF")
    places = [named] if named else CONFIGURATIONS
    return next((place for place in places if Path(place).is_file()), "")


def loaded() -> ModuleType:
    """Return pyslurm, which has read the configuration; UnusableError where that cannot be."""
    if "pyslurm" not in sys.modules:
        if not configuration():
            raise UnusableError("there is no slurm.conf")
        # It would read the configuration while it is imported.
        os.environ["PYSLURM_DISABLE_AUTO_INIT"] = "1"
        try:
            pyslurm = import_module("pyslurm")
        except ImportError as error:
            raise UnusableError(f"pyslurm cannot be imported: {error}") from None
        # Before 25.11 importing it has done that.
        getattr(pyslurm, "slurm_init", int)()
    return sys.modules["pyslurm"]


def queue(slurm: ModuleType, ids: list[int]) -> list[dict[str, Any]]:
    """Return what the controller knows of jobs, a record for each component.

    One job is asked for by its number, which gives its first component alone; for all others the controller sends all
    jobs of all users.
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
    """Return what the accounts have of jobs, a record for each component; of a requeued job its last run."""
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
        # That of the first component is None, as that of a job that has no other.
        "offset": None if leader is None else 0 if offset in (None, *NO_VALUES) else offset,
        "state": job.state,
        "submitted": job.submit_time,
        "started": job.start_time,
        "ended": job.end_time,
    }


def _user_number(name: str | None) -> int | None:
    """Return the number of a user, of whom pyslurm gives the name, or the number where there is no name."""
    if name is None:
        return None
    try:
        return int(name) if name.isdecimal() else pwd.getpwnam(name).pw_uid
    except KeyError:
        return None


def nodes(slurm: ModuleType, names: list[str]) -> list[dict[str, Any]]:
    """Return how nodes are: the state with all that is true of it (`MIXED+NOT_RESPONDING`), and the reason given."""
    found = {node.name: node for node in _members(slurm.Nodes.load())}
    return [{"name": name, "state": found[name].state, "reason": found[name].reason} for name in names if name in found]


def cancel(slurm: ModuleType, job_id: int) -> None:
    """Cancel a job with all its components; one that has ended, or is not known any more, is no error."""
    slurm.Job(job_id).cancel()


def _members(found: Iterable[Any]) -> Iterator[Any]:
    """Yield what a collection of pyslurm holds; before 23.11 some of them were lists."""
    values: Callable[[], Iterable[Any]] | None = getattr(found, "values", None)
    yield from found if values is None else values()


CALLS: dict[str, Callable[..., Any]] = {"queue": queue, "accounts": accounts, "nodes": nodes, "cancel": cancel}

if __name__ == "__main__":
    # The folder of this file has its name from pyslurm, and is none.
    sys.path.pop(0)
    sys.exit(main())
