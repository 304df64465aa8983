"""What another user owns or can write to is never run and never written, and nothing of ours can be written by others.

Two real users: root, and those of the cluster of `tests/cluster`, by their numbers.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import paislurm
from tests.cluster.instance import GROUP_ID, USERS
from tests.cluster.processes import wait_until

from .running import JOB

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.root("to be two users")
PROGRAM = (sys.executable, "-m", "paislurm.translator.cli.main")
ALICE, BOB = USERS["alice"].uid, USERS["bob"].uid
SLEEP = JOB.replace("instances: 2", "instances: 1").replace("echo and bye", "sleep 600")


class World:
    """A folder that all can enter, with a home of alice's, and programs that run as somebody."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.home = folder / "home"
        self.victim = folder / "victim"
        (folder / "job.yaml").write_text(SLEEP, encoding="utf-8")
        (folder / "group.yaml").write_text("groupHome: true\nmonitor: {background: false}\n", encoding="utf-8")
        (folder / "config").mkdir()

    def run(
        self, uid: int, *argv: str, home: Path | None = None, umask: int = 0o022, **env: str
    ) -> subprocess.CompletedProcess[str]:
        """Run a command line as a user."""
        environment = {"PATH": os.environ["PATH"], "LANG": "C.UTF-8", "HOME": str(self.folder / "nobody")}
        environment |= {"PAISLURM_HOME": str(home or self.home), "XDG_CONFIG_HOME": str(self.folder / "config")}
        environment |= {"USER": str(uid)}
        identity = {"user": uid, "group": GROUP_ID if uid else 0, "extra_groups": []}
        return subprocess.run(
            [*PROGRAM, *argv], env=environment | env, umask=umask, cwd="/", capture_output=True, text=True,
            check=False, timeout=100, stdin=subprocess.DEVNULL, **identity,
        )  # fmt: skip

    @property
    def group(self) -> dict[str, str]:
        """What makes a home one of a group."""
        return {"PAISLURM_SITE": str(self.folder / "group.yaml")}


@pytest.fixture
def world() -> Iterator[World]:
    """Make the folder where no parent hides it."""
    folder = Path(tempfile.mkdtemp(dir="/var/tmp"))
    folder.chmod(0o755)
    yield World(folder)
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def hers(world: World) -> Iterator[Path]:
    """Let alice run a job in a group's folder, and put a program in place of its script; return the job's folder.

    From within a job of Slurm no monitor is left behind.
    """
    world.home.mkdir()
    (world.home / "jobs").mkdir()
    for folder in (world.home, world.home / "jobs"):
        os.chown(folder, ALICE, GROUP_ID)
        folder.chmod(0o3775)
    done = world.run(
        ALICE, "submit", str(world.folder / "job.yaml"), "--backend", "local", SLURM_JOB_ID="1", **world.group
    )
    assert done.returncode == 0, done.stderr
    (job,) = (world.home / "jobs").iterdir()

    def runs() -> bool:
        tasks = json.loads(world.run(ALICE, "status", "demo", "--json", **world.group).stdout)["tasks"]
        return {task["state"] for task in tasks} == {"RUNNING"}

    wait_until(runs, "the task to run")
    script = job / "attempts" / "0" / "job.sbatch"
    own = script.read_bytes()
    script.write_text(f"#!/bin/bash\ntouch {world.victim}\n", encoding="utf-8")
    yield job
    script.write_bytes(own)
    assert world.run(ALICE, "cancel", "demo", **world.group).returncode == 0
    assert world.run(ALICE, "wait", "demo", **world.group).returncode == 1


def test_exec_by_root_runs_nothing_of_anothers(world: World, hers: Path) -> None:
    for argv in (("exec", hers.name, "worker-0", "true"), ("ssh", hers.name, "worker", "true")):
        done = world.run(0, *argv, **world.group)
        assert done.returncode == 4
        assert "error E541: exec is for your own jobs" in done.stderr
        assert not world.victim.exists()


def test_cancel_by_root_writes_and_ends_nothing_of_anothers(world: World, hers: Path) -> None:
    """Journals and records are the other user's words: a journal can be a link to any file."""
    before = (hers / "journal.jsonl").read_bytes()
    done = world.run(0, "cancel", hers.name, **world.group)
    assert done.returncode == 4
    assert "error E541: cancel is for your own jobs" in done.stderr
    assert (hers / "journal.jsonl").read_bytes() == before
    assert json.loads(world.run(ALICE, "status", "demo", "--json", **world.group).stdout)["state"] == "RUNNING"


def test_others_look_at_a_job_and_leave_it_alone(world: World, hers: Path) -> None:
    def contents() -> dict[Path, tuple[int, int]]:
        found = [path for path in hers.rglob("*") if path.name != "0.log"]
        return {path: (path.lstat().st_mtime_ns, path.lstat().st_uid) for path in found}

    before = contents()
    for argv in (("status", hers.name), ("logs", hers.name), ("list",), ("list", "--json"), ("monitor", "--once")):
        done = world.run(0, *argv, **world.group)
        assert done.returncode == 0, done.stderr
    assert contents() == before
    assert not world.victim.exists()


def test_logs_that_are_links_to_what_root_can_read_are_not_shown(world: World, hers: Path) -> None:
    own = world.folder / "secret"
    own.touch(mode=0o600)
    own.write_text("for root alone\n", encoding="utf-8")
    attempt = hers / "attempts" / "0"
    for log in (attempt / "slurm.log", attempt / "logs" / "0-worker" / "0.stdout.log"):
        log.rename(log.with_suffix(".kept"))
        log.symlink_to(own)
    for argv in ((), ("--tail", "1"), ("--batch",), ("--batch", "--tail", "1")):
        done = world.run(0, "logs", hers.name, *argv, **world.group)
        assert done.returncode == 0, done.stderr
        assert "for root alone" not in done.stdout


def test_a_script_that_others_can_write_to_is_not_run(world: World, hers: Path) -> None:
    script = hers / "attempts" / "0" / "job.sbatch"
    script.chmod(0o666)
    done = world.run(ALICE, "exec", "demo", "worker-0", "true", **world.group)
    assert done.returncode == 4
    assert "error E541" in done.stderr
    assert f"chmod go-w '{script}'" in done.stderr
    assert not world.victim.exists()


@pytest.mark.parametrize("argv", [("list",), ("status", "demo"), ("monitor", "--once"), ("submit", "JOB")])
def test_a_home_of_another_is_refused(world: World, argv: tuple[str, ...]) -> None:
    world.home.mkdir()
    os.chown(world.home, BOB, GROUP_ID)
    words = [str(world.folder / "job.yaml") if word == "JOB" else word for word in argv]
    for user in (ALICE, 0):
        done = world.run(user, *words)
        assert done.returncode == 4
        assert "error E542" in done.stderr
        assert 'export PAISLURM_HOME="$HOME/.paislurm"' in done.stderr
        assert ("-- paislurm status`" in done.stderr) == (user == 0)
    assert list(world.home.iterdir()) == []


@pytest.mark.parametrize("which", [".", "jobs", "monitor", "local"])
@pytest.mark.parametrize("mode", [0o777, 0o1777, 0o770, 0o702])
def test_a_home_that_others_can_write_to_is_refused_with_the_line_that_mends_it(
    world: World, which: str, mode: int
) -> None:
    folder = world.home / which
    folder.mkdir(parents=True)
    folder.chmod(mode)
    done = world.run(0, "list")
    assert done.returncode == 4
    (hint,) = (line for line in done.stderr.splitlines() if line.startswith("hint: chmod"))
    subprocess.run(hint.removeprefix("hint: "), shell=True, check=True)
    assert world.run(0, "list").returncode == 0


def test_a_groups_home_is_for_sites_that_say_so_and_needs_the_sticky_bit(world: World) -> None:
    world.home.mkdir()
    os.chown(world.home, BOB, GROUP_ID)
    world.home.chmod(0o770)
    assert "error E542" in world.run(ALICE, "list").stderr
    done = world.run(ALICE, "list", **world.group)
    assert done.returncode == 4
    assert f"hint: chmod +t '{world.home}'" in done.stderr
    world.home.chmod(0o1770)
    assert world.run(ALICE, "list", **world.group).returncode == 0


@pytest.mark.parametrize("name", [f"monitor-{ALICE}", "local"])
def test_what_a_member_of_the_group_has_put_in_place_is_not_used(world: World, name: str) -> None:
    """A folder of the name that alice's own will have: a log in it could be a link, a program anybody's."""
    (world.home / "jobs").mkdir(parents=True)
    for folder in (world.home, world.home / "jobs"):
        os.chown(folder, BOB, GROUP_ID)
        folder.chmod(0o3775)
    (world.home / name).mkdir(mode=0o755)
    os.chown(world.home / name, BOB, GROUP_ID)
    job = str(world.folder / "job.yaml")
    argv = ("monitor", "--once") if name != "local" else ("submit", job, "--backend", "local")
    done = world.run(ALICE, *argv, **world.group)
    assert done.returncode == 4
    assert f"error E542: {world.home / name} belongs to" in done.stderr
    assert list((world.home / name).iterdir()) == []


def test_a_job_that_others_can_write_to_is_left_alone_by_the_monitor(world: World, hers: Path) -> None:
    for path in (hers, hers / "journal.jsonl"):
        mode = path.stat().st_mode
        path.chmod(0o777)
        before = (hers / "journal.jsonl").read_bytes()
        with (hers / "journal.jsonl").open("ab") as journal:
            journal.write(b'{"version": 1, "kind": "cancelled", "time": 1, "attempt": 0, "user": "x", "job_id": ""}\n')
        done = world.run(ALICE, "monitor", "--once", **world.group)
        assert done.returncode == 0
        assert (hers / "journal.jsonl").read_bytes().count(b"\n") == before.count(b"\n") + 1
        (hers / "journal.jsonl").write_bytes(before)
        path.chmod(mode)


def loose(folder: Path) -> list[str]:
    """Return what others can write to."""
    paths = [path for path in (folder, *folder.rglob("*")) if not path.is_symlink()]
    return sorted(str(path.relative_to(folder)) for path in paths if path.stat().st_mode & 0o022)


def processes_of(home: Path) -> list[Path]:
    """Return what runs with this home."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if f"PAISLURM_HOME={home}\0".encode() in (process / "environ").read_bytes():
                found.append(process)
    return found


def test_whatever_the_umask_nothing_that_is_written_can_be_written_by_others(world: World) -> None:
    world.folder.chmod(0o777)
    job = world.folder / "short.yaml"
    job.write_text(JOB, encoding="utf-8")
    home = world.folder / "some" / "home"
    done = world.run(ALICE, "submit", str(job), "--backend", "local", "--wait", home=home, umask=0)
    assert done.returncode == 0, done.stderr
    script = world.folder / "job.sbatch"
    assert world.run(ALICE, "script", str(job), "-o", str(script), home=home, umask=0).returncode == 0
    assert loose(script) == []
    runtimes = re.compile(r"jobs/[^/]+/attempts/0/(?!job\.sbatch|slurm\.log)")
    assert [name for name in loose(world.folder / "some") if not runtimes.match(name)] == []
    wait_until(lambda: not processes_of(home), "the monitor that was left behind to end")
    assert (home / "monitor" / "monitor.log").exists()


def test_whatever_the_umask_no_compiled_module_is_where_others_can_write(world: World) -> None:
    """A copy of the program that nothing has run yet."""
    package = world.folder / "packages" / "paislurm"
    left_out = shutil.ignore_patterns("__pycache__")
    shutil.copytree(Path(paislurm.__file__).parent, package, ignore=left_out)
    for path in (package, *package.rglob("*")):
        path.chmod(path.stat().st_mode & 0o755)
    job = str(world.folder / "job.yaml")
    surroundings = {"PYTHONPATH": str(package.parent), "XDG_CACHE_HOME": str(world.folder / "cache")}
    for _ in range(2):
        done = world.run(0, "script", job, umask=0, **surroundings)
        assert done.returncode == 0, done.stderr
        assert loose(package) == []
        assert loose(world.folder / "cache") == []
    assert not world.run(0, "script", job, **surroundings).returncode
    assert list(package.rglob("*.pyc"))
    assert not list(package.rglob("*.jinja2"))
    assert list((world.folder / "cache" / "paislurm").glob("*.jinja2"))
