"""Recorded conversations with Slurm, and a runner that repeats them."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from paislurm.backends.base import Submission
from paislurm.backends.runner import Completed
from paislurm.backends.slurm.commands import TIMES

FOLDER = Path(__file__).parents[2] / "slurm_output"

_BLOCK = re.compile(r"^\$ (.*)\n> (-?\d+)\n((?:[|!] .*\n)*)", re.MULTILINE)


class Recording(Struct, frozen=True):
    """One command and what it answered."""

    argv: tuple[str, ...]
    completed: Completed


def transcript(recordings: Iterable[Recording]) -> str:
    """Return recordings as text: `$ command`, `> exit status`, `| output`, `! error`."""
    lines: list[str] = []
    for recording in recordings:
        lines += [f"$ {shlex.join(recording.argv)}", f"> {recording.completed.status}"]
        lines += [f"| {line}" for line in recording.completed.stdout.splitlines()]
        lines += [f"! {line}" for line in recording.completed.stderr.splitlines()]
    return "".join(f"{line}\n" for line in lines)


def read(case: str, version: str = "22.05") -> list[Recording]:
    """Read the recording of a case."""
    text = (FOLDER / version / f"{case}.txt").read_text(encoding="utf-8")
    found = [_recording(*match.groups()) for match in _BLOCK.finditer(text)]
    assert transcript(found) == text, f"{case} is not a recording"
    return found


def _recording(command: str, status: str, said: str) -> Recording:
    streams = {mark: "".join(f"{line[2:]}\n" for line in said.splitlines() if line[0] == mark) for mark in "|!"}
    completed = Completed(status=int(status), stdout=streams["|"], stderr=streams["!"])
    return Recording(tuple(shlex.split(command)), completed)


class Replay:
    """A runner that answers as recorded, in order, and accepts no other command."""

    def __init__(self, recordings: Iterable[Recording]) -> None:
        self._left = list(recordings)

    def run(
        self,
        argv: Sequence[str],
        *,
        stdin: str | None = None,  # noqa: ARG002 - no command of ours reads
        env: Mapping[str, str] | None = None,
        base: Mapping[str, str] | None = None,  # noqa: ARG002 - nor that
        timeout: float,
    ) -> Completed:
        assert timeout > 0
        asked_for_times = argv[0] in ("squeue", "sacct") and any("%T" in word or "State" in word for word in argv)
        asked_for_times = asked_for_times or "--test-only" in argv
        assert dict(env or {}) == (TIMES if asked_for_times else {})
        assert self._left, f"nothing more was recorded, asked: {shlex.join(argv)}"
        recording = self._left.pop(0)
        assert tuple(argv) == recording.argv
        return recording.completed


class Says:
    """A runner that gives one answer to everything, and remembers what it was asked."""

    def __init__(self, stderr: str = "", *, stdout: str = "") -> None:
        self._answer = Completed(status=int(bool(stderr)), stdout=stdout, stderr=stderr)
        self.asked: list[list[str]] = []

    def run(self, argv: Sequence[str], **_: object) -> Completed:
        self.asked.append(list(argv))
        return self._answer


def submission(case: str) -> Submission:
    """Return what was submitted when a case was recorded."""
    folder = Path("/home/alice/recording") / case
    return Submission(
        script=folder / "job.sbatch", folder=folder, job="job", attempt=0, tag=f"tag-{case}", log=folder / "slurm.log"
    )
