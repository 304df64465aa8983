"""Record what a real pyslurm says, for the unit tests of the backend that asks it: one file a case.

    .venv/bin/python -m tests.pyslurm_output.record [CASE ...]

boots the checkout's cluster of the newest Slurm with the pyslurm that `tests/cluster/pyslurm_build.py` makes, runs each
case there as an ordinary user, and writes `<case>.json`: what objects of pyslurm have, and how `scontrol show job`
shows the job. Read the difference before it is committed.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.cluster import pyslurm_build
from tests.cluster.cluster import Cluster
from tests.cluster.instance import default_instance
from tests.cluster.processes import wait_until

if TYPE_CHECKING:
    from collections.abc import Callable

HERE = Path(__file__).parent
PLAIN = "#SBATCH --nodes=1 --ntasks=1 --no-requeue\n"
HET = PLAIN + "#SBATCH hetjob\n" + PLAIN + "#SBATCH hetjob\n" + PLAIN
LIVING = ("PENDING", "RUNNING", "COMPLETING", "CONFIGURING")


class Case:
    """One conversation: a job on the cluster, and what is said of it."""

    def __init__(self, cluster: Cluster, python: Path) -> None:
        self.cluster = cluster
        self.python = python
        self.job = "9999999"

    def submit(self, directives: str, commands: str, *options: str) -> None:
        argv = ["sbatch", "--parsable", "--output=/dev/null", *options]
        script = f"#!/bin/bash\n{directives}{commands}\n"
        self.job = self.cluster.run(argv, stdin=script, check=True).stdout.strip()

    def said(self) -> dict[str, Any]:
        asked = self.cluster.run([str(self.python), "-", self.job], stdin=(HERE / "ask.py").read_text(), check=True)
        found: dict[str, Any] = json.loads(asked.stdout)
        shown = self.cluster.run(["scontrol", "--oneliner", "show", "job", self.job])
        scontrol = {"status": shown.returncode, "stdout": shown.stdout, "stderr": shown.stderr}
        if isinstance(found["jobs"], list):
            # Of all the others one is enough, and of the nodes the last three.
            own = [job for job in found["jobs"] if int(self.job) in (job["id"], job["heterogeneous_id"])]
            found["jobs"] = [*[job for job in found["jobs"] if job not in own][:1], *own]
            found["nodes"] = found["nodes"][-3:]
        return {"asked": self.job, **found, "scontrol": scontrol}

    def wait(self, *states: str) -> None:
        wait_until(
            lambda: all(row["State"] in states for row in self.cluster.squeue(self.job)) == bool(states),
            f"job {self.job} to be {states}",
        )

    def wait_ended(self) -> None:
        """Wait until queue and accounts have the end of every component."""

        def has_ended() -> bool:
            rows = [row for row in self.cluster.sacct(self.job) if "." not in row["JobID"]]
            return bool(rows) and all(row["State"].split()[0] not in LIVING for row in rows)

        wait_until(has_ended, f"the end of job {self.job}")
        wait_until(lambda: not self.cluster.squeue(self.job), f"the last process of job {self.job}")


def completed(case: Case) -> None:
    case.submit(PLAIN, "true")
    case.wait_ended()


def failed_with_137(case: Case) -> None:
    case.submit(PLAIN, "exit 137")
    case.wait_ended()


def cancelled_by_user(case: Case) -> None:
    case.submit(HET, "sleep 600")
    case.wait("RUNNING")
    case.cluster.run(["scancel", case.job], check=True)
    case.wait_ended()


def unknown_job(case: Case) -> None:
    """Nothing was submitted."""


CASES: dict[str, Callable[[Case], None]] = {
    function.__name__: function for function in (completed, failed_with_137, cancelled_by_user, unknown_job)
}


def main() -> None:
    cluster = Cluster(default_instance("newest"))
    cluster.up()
    python = pyslurm_build.install(cluster.instance)
    for name in sys.argv[1:] or CASES:
        print(name)
        case = Case(cluster, python)
        try:
            CASES[name](case)
            said = case.said()
        finally:
            cluster.cancel_all()
        text = json.dumps(said, indent=1).replace(str(cluster.home("alice")), "/home/alice")
        (HERE / f"{name}.json").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
