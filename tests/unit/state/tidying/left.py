"""The folder of a job that ended long ago, with all that an attempt leaves."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

from msgspec.structs import replace

from paislurm.translator.monitor.poll import open_job
from paislurm.translator.state.job_folder import JobFolder
from paislurm.translator.state.journal_records import Record
from paislurm.translator.state.tidy import TIDY_AFTER, tidy

from ...monitor.jobs import CREATED, ENDED, INTENT, SUBMITTED, job_folder, leave_result

LATER = ENDED.happened_at + TIDY_AFTER
BODY = b"echo runtime\n" * 1000
SEAL = (
    f"# ---- paislurm runtime 0.2.0, sha256 {sha256(BODY).hexdigest()}: the same in every job ----\n"
    f"# ---- head as compiled, sha256 {'0' * 64} ----\n"
).encode()
SCRIPT = b"#!/bin/bash\nPSL_JOB_NAME='demo'\n" + SEAL + BODY
GOES = {
    "attempts/0/env.sh": b"x",
    "attempts/0/peers.sh": b"x",
    "attempts/0/placement.sh": b"x",
    "attempts/0/bin/ssh": b"x",
    "attempts/0/commands/0-worker.sh": b"x",
    "attempts/0/claim/owner": b"7 0\n",
    "attempts/0/tasks/n1.log": b"start 0 0 0 0 n1 4 1000\n",
    "attempts/0/srun/0-worker.log": b"",
    "attempts/0/logs/0-worker/0.stderr.log": b"",
    "submit-dir": b"/home/alice",
    "umask": b"0022\n",
}
STAYS = {
    "job.yaml": b"name: demo\n",
    "plan.json": b'{"one_log": false}\n',
    "attempts/0/slurm.log": b"paislurm: failed\n",
    "attempts/0/srun/1-other.log": b"srun: error\n",
    "attempts/0/tasks/0-worker/0.scripts": b"0 start 0 1 2 x\n",
    "attempts/0/logs/0-worker/0.stdout.log": b"",
    "attempts/0/logs/0-worker/1.stdout.log": b"out\n",
    "attempts/0/logs/0-worker/1.stderr.log": b"err\n",
    "attempts/0/work/0-worker/1/model": b"weights",
    "attempts/0/code/main.py": b"pass\n",
}


def left(home: Path, *records: Record, result: bool = True, script: bytes = SCRIPT) -> JobFolder:
    """Make the folder of a job that has ended, as its attempt leaves it."""
    records = records or (replace(ENDED, backend_state=""),)
    folder = job_folder(home / "jobs", CREATED, INTENT, SUBMITTED, *records)
    for name, data in {**GOES, **STAYS, "attempts/0/job.sbatch": script}.items():
        path = folder.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    (folder.attempt(0) / "work" / "0-worker" / "0").mkdir()
    if result:
        leave_result(folder)
    return folder


def files(folder: JobFolder) -> dict[str, bytes]:
    """Return all files of a job but its journal and its result."""
    found = {str(path.relative_to(folder.path)): path.read_bytes() for path in folder.path.rglob("*") if path.is_file()}
    return {name: data for name, data in found.items() if not name.endswith(("journal.jsonl", "result.json"))}


def tidied(folder: JobFolder, now: int = LATER) -> bool:
    """Tidy a job."""
    job = open_job(folder)
    return tidy(job.folder, job.history, now)
