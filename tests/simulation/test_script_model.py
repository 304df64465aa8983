"""The model of the batch script does with a run folder what the script itself does, in many situations.

The real script runs with a bash, without Slurm: its stages between the claim and the decision are left out. Full and
read-only file systems are real ones, which only root can mount.
"""

from __future__ import annotations

import errno
import functools
import json
import os
import re
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from msgspec import Struct

from paislurm.backends.base import Submission
from paislurm.translator.pipeline import compile_job
from tests.needs import unshare

from .batch import Job
from .files import Client, Server
from .nodes import error
from .script import Script
from .syscalls import ROOT, simulated
from .world import Choices, World

if TYPE_CHECKING:
    from collections.abc import Mapping

JOB = """\
protocolVersion: 2
name: demo
type: job
prerequisites: [{name: image, type: dockerimage, uri: debian}]
taskRoles:
  worker:
    dockerImage: image
    resourcePerInstance: {cpu: 1, memoryMB: 100, gpu: 0}
    commands: ['true']
"""
NUMBER = 101
KEPT = re.compile(r"run(\.1)?/attempts/0/(claim(/.*)?|result\.json.*|room|\.result)")
"""The files of the claim and the result."""
ENDS = {"succeeded": "succeeded 0 success", "failed": "failed 255 unknown", "transient": "failed -120 transient"}
"""How a job ends by itself, in the model's word and in the words of the script."""
SHORTENED = r"""
place_attempt() { :; }
write_attempt() { :; }
start_all_roles() { :; }
clean_up_nodes() { :; }
eval "real_$(declare -f check_shared_folder)"
check_shared_folder() {
  # As the trap does.
  if [[ $TERM_AT == start ]]; then printf 'signal TERM\n' >&"$PSL_EVENT_FD"; fi
  real_check_shared_folder
}
supervise() {
  : >"$RAN"
  PSL_SUPERVISING=1
  if [[ $MOVED ]]; then mv -- "$PSL_FOLDER" "$PSL_FOLDER.1" && mkdir -p -- "$PSL_ATTEMPT_FOLDER"; fi
  if [[ $FULL_LATER ]]; then fill; fi
  if [[ $TERM_AT == end ]]; then printf 'signal TERM\n' >&"$PSL_EVENT_FD" && read_event; fi
  decide $HOW 'it ended'
}
"""
FILL = """
fill_room() { head -c 2000000 /dev/zero 2>/dev/null >"$PLACE/room"; }
fill() { fill_room; for n in {1..200}; do : >"$PLACE/$n"; done 2>/dev/null; }
"""
MOUNTED = """
mount -t tmpfs -o size=1m,nr_inodes=100,mode=755 paislurm-model "$PLACE" || exit 99
cp -a "$BEFORE/." "$PLACE/"
case $DISK in
  full) fill ;;
  'no room') fill_room ;;
  read-only) mount -o remount,bind,ro "$PLACE" ;;
esac
"$@"; status=$?
rm -f "$PLACE/room"
rm -rf "$BEFORE/run"
cp -a "$PLACE/run"* "$BEFORE/"
exit "$status"
"""
DISKS = ("full", "no room", "read-only", "full later")
"""Disks that are not well. `no room`: files and folders can be made, but have no text."""


class Situation(Struct, frozen=True, kw_only=True):
    """What the script finds, and what happens to it. `owner` is the text of the claim's file, None without one."""

    missing: Literal["", "folder", "attempt", "script"] = ""
    claim: Literal["", "folder", "file"] = ""
    owner: str | None = None
    restarts: int = 0
    disk: str = "well"
    term: Literal["", "start", "end"] = ""
    how: str = "succeeded"
    tag: str | None = None
    """The tag in the journal, None without a journal."""
    result: Literal["", "succeeded", "failed", "interrupted"] = ""
    """The outcome that an earlier start of the job has left."""
    moved: bool = False
    """Whether the folder gets another name while tasks run, as another job takes its name."""


class Outcome(Struct, frozen=True, kw_only=True):
    """What became of it: the script's exit status, whether tasks ran, the claim, and the result."""

    status: int
    ran: bool
    names: tuple[str, ...]
    owners: list[str]
    results: list[tuple[str, int, str]]


OWNERS = st.builds(
    lambda line, length: line[:length],
    st.sampled_from([f"{NUMBER} 0\n", f"{NUMBER} 1\n", "102 0\n", f"{NUMBER};other 0\n", "none\n"]),
    st.integers(0, 12),
)
SITUATIONS = functools.partial(
    st.builds,
    Situation,
    missing=st.sampled_from(["", "", "", "", "folder", "attempt", "script"]),
    claim=st.sampled_from(["", "", "folder", "folder", "file"]),
    owner=st.none() | OWNERS,
    restarts=st.integers(0, 1),
    term=st.sampled_from(["", "", "start", "end"]),
    how=st.sampled_from(sorted(ENDS)),
    tag=st.none() | st.sampled_from(["tag", "tag", "other", "another tag"]),
    result=st.sampled_from(["", "", "succeeded", "failed", "interrupted"]),
    moved=st.booleans(),
)


@functools.cache
def script() -> str:
    """Return the real script without its stages between the claim and the decision."""
    head, dispatch, rest = compile_job(JOB).script.rpartition("# ==== dispatch ====")
    assert dispatch
    return f"{head}{SHORTENED}{FILL}{dispatch}{rest}"


def files_of(situation: Situation) -> Mapping[str, bytes | None]:
    """Return the files of the run folder, None for a folder, in an order in which they can be made."""
    found: dict[str, bytes | None] = {"run": None, "run/attempts": None, "run/attempts/0": None}
    attempt = "run/attempts/0"
    found[f"{attempt}/job.sbatch"] = script().encode()
    if situation.tag is not None:
        found["run/journal.jsonl"] = f'{{"kind": "intent", "tag": "{situation.tag}"}}\n'.encode()
    if situation.result:
        codes = '"exit_code": 0, "behaviour": "success",\n "reason": "it ended"'
        found[f"{attempt}/result.json"] = f'{{"version": 2,\n "outcome": "{situation.result}", {codes}}}\n'.encode()
    if situation.claim == "file":
        found[f"{attempt}/claim"] = b""
    elif situation.claim:
        found[f"{attempt}/claim"] = None
        if situation.owner is not None:
            found[f"{attempt}/claim/owner"] = situation.owner.encode()
    gone = {"folder": "run", "attempt": attempt, "script": f"{attempt}/job.sbatch"}.get(situation.missing)
    return {path: data for path, data in found.items() if gone is None or not f"{path}/".startswith(f"{gone}/")}


def outcome(status: int, files: Mapping[str, bytes | None], *, ran: bool) -> Outcome:
    """Return the outcome, with the files by their paths below the folder of all jobs."""
    kept = {path: data for path, data in files.items() if KEPT.fullmatch(path)}
    results = [json.loads(data) for path, data in kept.items() if path.endswith("/result.json") and data]
    owners = [data.decode() for path, data in kept.items() if path.endswith("/owner") and data is not None]
    found = [(each["outcome"], each["exit_code"], each["behaviour"]) for each in results]
    return Outcome(status=status, ran=ran, names=tuple(sorted(kept)), owners=owners, results=found)


def in_bash(situation: Situation) -> Outcome:
    """Run the script itself."""
    with tempfile.TemporaryDirectory(prefix="paislurm-model-") as name:
        top = Path(name)
        before, place = top / "before", top / "place"
        for folder in (before, place):
            folder.mkdir()
        home = place if situation.disk == "well" else before
        for path, data in files_of(situation).items():
            if data is None:
                (home / path).mkdir(mode=0o700)
            else:
                (home / path).write_bytes(data)
        (top / "submitted.sbatch").write_text(script())
        argv = ["bash", str(top / "submitted.sbatch"), str(place / "run"), "0", "tag.1"]
        if home == before:
            argv = [*unshare("--mount"), "bash", "-c", FILL + MOUNTED, "bash", *argv]
        env = {
            "PATH": "/usr/bin:/bin", "TMPDIR": name, "PLACE": str(place), "BEFORE": str(before),
            "DISK": situation.disk, "FULL_LATER": "1" * (situation.disk == "full later"), "TERM_AT": situation.term,
            "MOVED": "1" * situation.moved, "HOW": ENDS[situation.how], "RAN": str(top / "ran"),
            "SLURM_JOB_ID": str(NUMBER), "SLURM_RESTART_COUNT": str(situation.restarts), "SLURMD_NODENAME": "n1",
            "SLURM_JOB_NODELIST": "n1", "SLURM_JOB_NUM_NODES": "1", "SLURM_TASKS_PER_NODE": "1",
        }  # fmt: skip
        done = subprocess.run(argv, env=env, capture_output=True, check=False, timeout=60)
        assert b"unbound" not in done.stderr, done.stderr
        found = {str(path.relative_to(home)): path.read_bytes() if path.is_file() else None for path in home.rglob("*")}
        return outcome(done.returncode, found, ran=(top / "ran").exists())


class Disk(Client):
    """A client of a disk in one of the states."""

    state = "well"

    def _check_room(self, path: object) -> None:
        if self.state in {"full", "read-only"}:
            raise error(errno.ENOSPC if self.state == "full" else errno.EROFS, path)

    def write(self, descriptor: int, data: bytes) -> int:
        if self.state in {"full", "no room"}:
            raise error(errno.ENOSPC, descriptor)
        return super().write(descriptor, data)


def in_model(situation: Situation) -> Outcome:
    """Let the model do it."""
    world = World(Choices(given=()))
    server = Server(world, cached=False)
    ran: list[str] = []
    server.clients["node"] = disk = Disk(server)
    folder = Path(ROOT, "run")
    submission = Submission(script=folder, folder=folder, job="demo", attempt=0, tag="tag.1", log=folder)
    job = Job(NUMBER, submission, world.now, world.now)
    job.restarts, job.started, job.cancelled = situation.restarts, world.now, situation.term == "start"
    ends: list[tuple[str, int] | None] = []

    def tasks() -> None:
        ran.append(job.id)
        world.sleep(5)

    def later() -> None:
        job.cancelled |= situation.term == "end"
        if situation.moved and ran:
            disk.rename(str(folder), f"{folder}.1")
            for path in (folder, folder / "attempts", folder / "attempts/0"):
                disk.mkdir(str(path), 0o700)
        disk.state = "full" if situation.disk == "full later" else disk.state

    with simulated(world, server):
        disk.mkdir(ROOT, 0o755)
        for path, data in files_of(situation).items():
            if data is None:
                disk.mkdir(f"{ROOT}/{path}", 0o700)
                continue
            descriptor = disk.open(f"{ROOT}/{path}", os.O_CREAT | os.O_WRONLY)
            disk.write(descriptor, data)
            disk.close(descriptor)
        disk.state = situation.disk
        world.spawn("script", "node", lambda: ends.append(Script(job, world, tasks).run(situation.how)))
        world.spawn("later", "node", later, 1.0)
        world.run()
    assert ends[0] is not None
    state, status = ends[0]
    top = server.find(ROOT)
    assert top is not None
    files = {path: None if node.is_folder else bytes(node.data) for path, node in top.below()}
    return outcome(3 if state == "CANCELLED" else status, files, ran=bool(ran))


@settings(max_examples=20, deadline=None)
@given(SITUATIONS())
@example(Situation())
def test_the_model_does_what_the_script_does(situation: Situation) -> None:
    assert in_model(situation) == in_bash(situation)


@pytest.mark.skipif(not unshare("--mount"), reason="needs a namespace of mounts")
@settings(max_examples=80, deadline=None)
@given(SITUATIONS(disk=st.sampled_from(DISKS)))
def test_the_model_does_what_the_script_does_on_a_bad_disk(situation: Situation) -> None:
    assert in_model(situation) == in_bash(situation)
