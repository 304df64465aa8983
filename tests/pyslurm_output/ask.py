"""Print, as JSON, what the real pyslurm of this Python says of jobs: run on the cluster by `record.py`.

Usage: ask.py JOB ...
"""

from __future__ import annotations

import json
import os
import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

TIMES = ("submit_time", "start_time", "end_time")
COMPONENT = ("id", "heterogeneous_id", "heterogeneous_offset", "state", "exit_code", "exit_code_signal", *TIMES)
QUEUE = (*COMPONENT, "state_reason", "allocated_nodes")
ACCOUNTS = (*COMPONENT, "nodelist", "cancelled_by")
NODE = ("name", "state", "reason")


def main() -> None:
    """Ask as the backend does, and keep what its objects have; where there is an error, its words and its number."""
    os.environ["PYSLURM_DISABLE_AUTO_INIT"] = "1"
    slurm = import_module("pyslurm")
    slurm.slurm_init()
    ids = [int(word) for word in sys.argv[1:]]

    def said(ask: Callable[[], Any], names: tuple[str, ...]) -> Any:
        try:
            found = ask()
        except slurm.RPCError as error:
            return {"errno": error.errno, "message": str(error)}
        return [{name: getattr(one, name) for name in names} for one in found]

    def job(number: int) -> Any:
        return said(lambda: [slurm.Job.load(number)], QUEUE)

    def accounts() -> Any:
        return slurm.db.Jobs.load(slurm.db.JobFilter(ids=ids)).values()

    answers = {
        "version": slurm.__version__,
        "job": {str(number): job(number) for number in ids},
        "jobs": said(lambda: slurm.Jobs.load().values(), QUEUE),
        "accounts": said(accounts, ACCOUNTS),
        "nodes": said(lambda: slurm.Nodes.load().values(), NODE),
    }
    json.dump(answers, sys.stdout, indent=1)


main()
