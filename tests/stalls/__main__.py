"""Play stalls and quiet jobs on this machine, and print what the stall guard makes of them.

`python -m tests.stalls --stalls 20 --quiet 100`. Root, for a file system that hangs. Stalls of gloo need PyTorch in the
Python that --python names, and py-spy beside it; a barrier of MPI needs eu-stack there, or in the PATH.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from tests.children import child

from .made import HERE, KINDS, WITHIN, quiet, stall

if TYPE_CHECKING:
    from collections.abc import Iterator

PATIENCE = 240
"""Seconds for a job to stall, with the start of its Python processes on a busy machine."""


def paislurm(home: Path, *words: str, path: str = "") -> str:
    """Call the program, and return what it prints."""
    environment = {**os.environ, "PAISLURM_HOME": str(home), "PATH": f"{path}{os.environ['PATH']}"}
    call = [sys.executable, "-m", "paislurm", *words]
    done = subprocess.run(call, check=False, env=environment, capture_output=True, text=True)
    return done.stdout + done.stderr


@contextmanager
def hung_files(folder: Path) -> Iterator[Path]:
    """Mount the file system that hangs."""
    place = folder / "hung"
    place.mkdir()
    with child([sys.executable, HERE / "hung_files.py", place], stdout=subprocess.PIPE) as server:
        assert server.stdout is not None
        server.stdout.readline()
        try:
            yield place
        finally:
            subprocess.run(["umount", "-f", "-l", str(place)], check=False)


def play_stall(seed: int, folder: Path, python: str) -> bool:
    """Play the stall of a seed, print what was found, and return whether it was the right task in time."""
    home, ranks = folder / "home", folder / "ranks"
    home.mkdir(parents=True)
    way, how = KINDS[seed % len(KINDS)]
    if way == "mpi":
        subprocess.run(["mpicc", "-o", str(ranks), str(HERE / "ranks.c")], check=True)
    with hung_files(folder) if how == "files" else nullcontext(folder) as files:
        made = stall(seed, ranks, python, files)
        file = folder / "job.yaml"
        file.write_text(made.text)
        paislurm(home, "submit", "--backend", "local", str(file), path=f"{Path(python).parent}:")
        try:
            reason, late = wait_for_stall(home, made.moment)
        finally:
            paislurm(home, "cancel", f"stall-{seed}")
            paislurm(home, "wait", f"stall-{seed}")
    named = reason.partition(": ")[2]
    right = named.startswith(f"{made.victim} ") and bool(re.search(made.words, named)) and named.count("worker-") == 1
    print(f"{seed:2} {made.kind:12} {'right' if right else 'WRONG'} {late:5.1f} s  {made.victim}: {reason}", flush=True)
    return right and late <= WITHIN + 10


def wait_for_stall(home: Path, moment: str) -> tuple[str, float]:
    """Return the reason that the script gives, and the seconds since the stall."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        for found in home.glob("jobs/*/attempts/0/stall.json"):
            at = found.parent / moment
            began = float(at.read_text()) if at.exists() else found.stat().st_mtime
            return json.loads(found.read_text())["reason"], found.stat().st_mtime - began
        time.sleep(0.2)
    logs = "".join(file.read_text()[-500:] for file in home.glob("jobs/*/attempts/0/**/*.log"))
    return f"no stall was found: {logs}", 0.0


def play_quiet(seed: int, folder: Path) -> bool:
    """Play the quiet job of a seed, and return whether no stall was found and it succeeded."""
    home = folder / "home"
    home.mkdir(parents=True)
    kind, text = quiet(seed)
    (folder / "job.yaml").write_text(text)
    said = paislurm(home, "submit", "--backend", "local", "--wait", str(folder / "job.yaml"))
    logs = "".join(file.read_text() for file in home.glob("jobs/*/attempts/0/slurm.log"))
    good = "SUCCEEDED" in said and "stalled" not in logs
    print(f"{seed:3} {kind:28} {'quiet' if good else f'FALSE: {logs} {said[-300:]}'}", flush=True)
    return good


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__)
    words.add_argument("--stalls", type=int, default=0)
    words.add_argument("--quiet", type=int, default=0)
    words.add_argument("--first", type=int, default=0, help="the first seed")
    words.add_argument("--python", default=sys.executable)
    given = words.parse_args()
    with tempfile.TemporaryDirectory(prefix="paislurm-stalls-") as name:
        top = Path(name)
        stalls = [play_stall(seed, top / f"s{seed}", given.python) for seed in range(given.first, given.stalls)]
        quiets = [play_quiet(seed, top / f"q{seed}") for seed in range(given.first, given.quiet)]
    print(
        f"stalls: {sum(stalls)} of {len(stalls)} right and in time; quiet: {quiets.count(False)} false of {len(quiets)}"
    )


if __name__ == "__main__":
    main()
