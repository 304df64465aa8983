"""How late a result is noticed that a node has written: on a local file system, and behind a stand-in for NFS.

The stand-in is that of `tests.cluster.seen`. The monitor and two `wait` are behind it, somebody else looks for each
result a moment before it comes, and results are written beside it. Slurm is a file that stands still.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from tests.cluster.processes import wait_until
from tests.cluster.seen import behind, beside

from .measure import Note, Ratio
from .watching import MONITOR, make_home

if TYPE_CHECKING:
    from collections.abc import Iterator

JOBS, WAITED_FOR = 6, 2
CACHES = (0, 3, 10)
"""Seconds for which attributes are kept; 0 stands for the local file system."""
OWN = 2
"""Seconds that the monitor may need beyond that; `wait`, which looks twice a second, may need one more."""
LONGEST = 150
"""Seconds after which a result that nobody notices is given up: the second question to Slurm is one that finds it."""
RESULT = {
    "version": 2,
    "outcome": "succeeded",
    "exit_code": 0,
    "behaviour": "success",
    "reason": "",
    "started_at": 1,
    "tasks": [],
}


def run() -> Iterator[Ratio | Note]:
    """Yield the ratios."""
    for cache in CACHES:
        if cache and (os.geteuid() != 0 or not shutil.which("bindfs")):
            yield Note("behind a stand-in for NFS nothing is measured without root and bindfs")
            return
        place = f"behind a stand-in for NFS with a cache of {cache} s" if cache else "local"
        noticed, waited = _latest(cache)
        yield Ratio(f"seconds from a result to its notice, {place} : {cache + OWN}", noticed, cache + OWN, 1)
        yield Ratio(f"the same to the end of `wait` : {cache + OWN + 1}", waited, cache + OWN + 1, 1)


def _latest(cache: float) -> tuple[float, float]:
    """Return the most seconds after which a result is in its job's journal, and after which `wait` has ended."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        env = make_home(folder, JOBS)
        home = folder / "home"
        jobs = sorted((home / "jobs").iterdir())
        argv = ["sh", "-c", _commands(folder, jobs[:WAITED_FOR])]
        argv = behind(home, cache, cache, argv) if cache else argv
        with subprocess.Popen(argv, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
            wait_until((home / "monitor/answer.json").exists, "the monitor to begin", LONGEST)
            # What is looked for now, is looked for on another beat than the monitor looks at folders.
            time.sleep(1.5 * cache)
            written = [_come(job, number, process.pid, cache) for number, job in enumerate(jobs)]
            process.wait(LONGEST)
        journals = [(job / "journal.jsonl").stat().st_mtime for job in jobs]
        waits = [(folder / f"waited-{number}").stat().st_mtime for number in range(WAITED_FOR)]
    return tuple(max(end - began for end, began in zip(ends, written, strict=False)) for ends in (journals, waits))


def _commands(folder: Path, jobs: list[Path]) -> str:
    """Return the shell's words for a monitor, and waiting for some jobs; a file's time says when that has ended."""
    wait = [*MONITOR[:-1], "wait"]
    words = [f"{{ {shlex.join([*wait, job.name])}; touch {folder}/waited-{k}; }}" for k, job in enumerate(jobs)]
    return " & ".join([*words, f"{shlex.join(MONITOR)}; wait"])


def _come(job: Path, number: int, pid: int, cache: float) -> float:
    """Look for a result that is not there, write it as a batch script does, and let some time go by; return when."""
    path = job / "attempts/0/result.json"
    looking = ["test", "-e", str(path)]
    missing = subprocess.run(beside(pid, looking) if cache else looking, check=False).returncode
    assert missing, "it is there before it is written"
    new, now = path.with_name("result.json.new"), time.time()
    new.write_text(json.dumps({**RESULT, "job_id": str(1000 + number), "ended_at": int(now)}))
    new.rename(path)
    time.sleep(1 + cache / JOBS)
    return now
