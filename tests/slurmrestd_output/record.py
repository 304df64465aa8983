"""Record what a real slurmrestd says, for the unit tests of the backend that asks it: one file a case.

    .venv/bin/python -m tests.slurmrestd_output.record [CASE ...]

runs the cases of `tests/pyslurm_output/record.py` on the checkout's newest Slurm and writes `<case>.json`: the answers
to what the backend asks, without those keys of jobs and nodes that it does not read. Read the difference before it is
committed.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from tests.cluster import slurmrestd
from tests.cluster.cluster import Cluster
from tests.cluster.instance import default_instance
from tests.pyslurm_output.record import CASES, Case, put_back

HERE = Path(__file__).parent
READ = (
    "job_id", "het_job_id", "het_job_offset", "job_state", "state_reason", "nodes", "submit_time", "start_time",
    "end_time", "het", "state", "kill_request_user", "exit_code", "time", "name", "reason",
)  # fmt: skip


def said(cluster: Cluster, job: str, address: str) -> dict[str, Any]:
    """Return the answers by the paths that were asked, each with its HTTP status."""
    answers: dict[str, Any] = {}
    for path in (f"slurm/v0.0.42/job/{job}", f"slurmdb/v0.0.42/job/{job}", "slurm/v0.0.42/nodes/"):
        argv = ["curl", "--silent", "--write-out", "\n%{http_code}", "--unix-socket", address.removeprefix("unix:")]
        text, _, status = cluster.run([*argv, f"http://localhost/{path}"], check=True).stdout.rpartition("\n")
        try:
            answer: Any = json.loads(text)
        except ValueError:
            answer = text
        else:
            kept = {key: read(answer[key]) for key in ("jobs", "nodes") if key in answer}
            answer = {**kept, "errors": answer.get("errors", [])}
        answers[path] = {"status": int(status), "answer": answer}
    return {"asked": job, "answers": answers}


def read(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the last records, with the keys that are read."""
    return [{key: record[key] for key in READ if key in record} for record in records[-3:]]


def main() -> None:
    cluster = Cluster(default_instance("newest"))
    cluster.up()
    address = slurmrestd.address(cluster.instance)
    for name in sys.argv[1:] or CASES:
        print(name)
        case = Case(cluster, Path())
        try:
            CASES[name](case)
            found = said(cluster, case.job, address)
        finally:
            put_back(cluster, name)
        (HERE / f"{name}.json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
