"""A stand-in for pyslurm, and nothing of it: it repeats what a real one was recorded to say.

`$PAISLURM_RECORDING` names the file, which `tests/pyslurm_output/record.py` wrote. With `$PAISLURM_FAULT` it does what
the real one may do: `import` (it cannot be loaded), `exit` (libslurm ends the process), `hang`, and `crash`.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path
from types import SimpleNamespace

FAULT = os.environ.get("PAISLURM_FAULT", "")
assert os.environ["PYSLURM_DISABLE_AUTO_INIT"] == "1"
print("libslurm prints where it likes")
if FAULT == "import":
    raise ImportError("libslurm.so.43: cannot open shared object file")

SAID = json.loads(Path(os.environ["PAISLURM_RECORDING"]).read_text(encoding="utf-8"))


class RPCError(Exception):
    """What the real one raises."""


def slurm_init() -> None:
    if FAULT == "exit":
        print("fatal: Unable to process configuration file", file=sys.stderr)
        os._exit(1)


def _ask() -> None:
    if FAULT == "hang":
        signal.pause()
    if FAULT == "crash":
        os.kill(os.getpid(), signal.SIGSEGV)


def _objects(said: list[dict[str, object]] | dict[str, object]) -> list[SimpleNamespace]:
    _ask()
    if isinstance(said, dict):
        raise RPCError(said["message"])
    return [SimpleNamespace(**each) for each in said]


class _Collection(dict):
    """Iterating over one gives keys, as that of the real one does."""

    @classmethod
    def of(cls, said: list[dict[str, object]] | dict[str, object]) -> _Collection:
        return cls(enumerate(_objects(said)))


class Job:
    """Also of a job that is there `load` gives the first component only."""

    @staticmethod
    def load(job_id: int) -> SimpleNamespace:
        _ask()
        return _objects(SAID["job"][str(job_id)])[0]


class Jobs:
    """All jobs of all users."""

    @staticmethod
    def load() -> _Collection:
        return _Collection.of(SAID["jobs"])


class Nodes:
    """All nodes."""

    @staticmethod
    def load() -> _Collection:
        return _Collection.of(SAID["nodes"])


class _JobFilter:
    def __init__(self, *, ids: list[int]) -> None:
        assert ids == [int(SAID["asked"])]


class _DatabaseJobs:
    @staticmethod
    def load(wanted: _JobFilter) -> _Collection:
        assert isinstance(wanted, _JobFilter)
        return _Collection.of(SAID["accounts"])


db = SimpleNamespace(JobFilter=_JobFilter, Jobs=_DatabaseJobs)
