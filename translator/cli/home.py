"""Who the user is, where the user's job folders are, and which backend is meant."""

from __future__ import annotations

import os
import pwd
import time
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import Fault, UsageError
from ..monitoring.store import Store

if TYPE_CHECKING:
    from paislurm.backends.base import Backend, JobId


def user_name() -> str:
    """Return the user's name as the system has it: `$USER` can be anything."""
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return str(os.getuid())


def store() -> Store:
    """Return the job folders of `$PAISLURM_HOME`."""
    home = os.environ.get("PAISLURM_HOME") or "~/.paislurm"
    try:
        path = Path(home).expanduser()
    except RuntimeError:
        fault = Fault(code="E540", message="there is no home folder", hint="set PAISLURM_HOME to a folder of your own")
        raise UsageError(fault) from None
    # Not resolved: where home folders are behind a link, the link is what all nodes have.
    return Store(Path(os.path.abspath(path)))  # noqa: PTH100


def backend(name: str) -> Backend:
    """Return a backend by name."""
    return _choose(name)


@cache
def _choose(name: str) -> Backend:
    from paislurm.backends.choose import backend as choose

    return choose(name, store().home, lambda job_id: _components(name, job_id))


def _components(backend_name: str, job_id: JobId) -> int:
    """Return how many components the script of a job has; 1 if it cannot be read."""
    from paislurm.backends.batch_script import components

    folder = store().by_id(job_id, backend=backend_name)
    if folder is None:
        return 1
    try:
        return len(components(folder.script(0).read_text(encoding="utf-8", errors="replace")))
    except OSError:
        return 1


def clock() -> int:
    """Return the time in seconds since 1970."""
    return int(time.time())
