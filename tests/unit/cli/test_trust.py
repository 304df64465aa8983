"""What another user owns or can write to is never run and never written, and nothing of ours can be written by others.

Two real users: root, and those of the cluster of `tests/cluster`, by their numbers.
"""

from __future__ import annotations

import functools
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.cluster.instance import GROUP, NUMBERS
from tests.cluster.processes import wait_until
from tests.needs import works
from tests.terminal import Terminal
from tests.unit.inherited import inherit, open_to

from .running import JOB, PROGRAM

pytestmark = pytest.mark.root("to be two users")
INSTALLED = (str(Path(sys.executable).with_name("paislurm")),)
ALICE, BOB = NUMBERS["alice"], NUMBERS["bob"]
SLEEP = JOB.replace("instances: 2", "instances: 1").replace("echo and bye", "sleep 600")


class World:
    """A folder that all can enter, with a home of alice's, and programs that run as somebody."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.home = folder / "home"
        self.victim = folder / "victim"
        (folder / "job.yaml").write_text(SLEEP, encoding="utf-8")
        (folder / "quiet.yaml").write_text("monitor: {background: false}\n", encoding="utf-8")
        (folder / "config").mkdir()

    def environment(self, uid: int, home: Path | None = None) -> dict[str, str]:
        """Return what a user's commands have."""
        environment = {"PATH": os.environ["PATH"], "LANG": "C.UTF-8", "HOME": str(self.folder / "nobody")}
        environment |= {"PAISLURM_HOME": str(home or self.home), "XDG_CONFIG_HOME": str(self.folder / "config")}
        return environment | {"USER": str(uid)}

    def run(
        self, uid: int, *argv: str, home: Path | None = None, umask: int = 0o022, cwd: Path | None = None, **env: str
    ) -> subprocess.CompletedProcess[str]:
        """Run a command line as a user; in a current folder as an installed program, so that it is on no path."""
        identity = {"user": uid, "group": GROUP if uid else 0, "extra_groups": []}
        return subprocess.run(
            [*(INSTALLED if cwd else PROGRAM), *argv], env=self.environment(uid, home) | env, umask=umask,
            cwd=cwd or "/", capture_output=True, text=True, check=False, timeout=100, stdin=subprocess.DEVNULL,
            **identity,
        )  # fmt: skip

    @property
    def quiet(self) -> dict[str, str]:
        """What leaves no monitor behind."""
        return {"PAISLURM_SITE": str(self.folder / "quiet.yaml")}


@functools.cache
def alice_runs_it() -> bool:
    return works("setpriv", f"--reuid={ALICE}", f"--regid={GROUP}", "--clear-groups", *INSTALLED, "--version")


@pytest.fixture
def world() -> Iterator[World]:
    """Make the folder where no parent hides it."""
    if not alice_runs_it():
        pytest.skip("other users cannot read this checkout")
    folder = Path(tempfile.mkdtemp(dir="/var/tmp"))
    folder.chmod(0o755)
    yield World(folder)
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def hers(world: World) -> Iterator[Path]:
    """Let alice run a job, and put a program in place of its script; return the job's folder."""
    world.home.mkdir(mode=0o700)
    os.chown(world.home, ALICE, GROUP)
    done = world.run(ALICE, "submit", str(world.folder / "job.yaml"), "--backend", "local", **world.quiet)
    assert done.returncode == 0, done.stderr
    (job,) = (world.home / "jobs").iterdir()

    def runs() -> bool:
        tasks = json.loads(world.run(ALICE, "status", "demo", "--json", **world.quiet).stdout)["tasks"]
        return {task["state"] for task in tasks} == {"RUNNING"}

    wait_until(runs, "the task to run")
    script = job / "attempts" / "0" / "job.sbatch"
    own = script.read_bytes()
    script.write_text(f"#!/bin/bash\ntouch {world.victim}\n", encoding="utf-8")
    yield job
    script.write_bytes(own)
    assert world.run(ALICE, "cancel", "demo", **world.quiet).returncode == 0
    assert world.run(ALICE, "wait", "demo", **world.quiet).returncode == 1


@pytest.mark.parametrize(
    "argv",
    [
        ("exec", "JOB", "worker-0", "true"),
        ("cancel", "JOB"),
        ("status", "JOB"),
        ("logs", "JOB"),
        ("list", "*"),
        ("monitor", "--once"),
    ],
)
def test_root_changes_nothing_in_the_home_of_another_user(world: World, hers: Path, argv: tuple[str, ...]) -> None:
    """Journals and records are the other user's words: they name programs, login nodes, and files by links."""

    def contents() -> dict[Path, tuple[int, int, int]]:
        found = ((path, path.lstat()) for path in hers.rglob("*") if path.name != "0.log")
        return {path: (status.st_mtime_ns, status.st_uid, status.st_size) for path, status in found}

    before = contents()
    done = world.run(0, *(hers.name if word == "JOB" else word for word in argv), **world.quiet)
    assert (done.returncode, "error E542" in done.stderr) == (4, True)
    assert contents() == before
    assert not world.victim.exists()
    assert json.loads(world.run(ALICE, "status", "demo", "--json", **world.quiet).stdout)["state"] == "RUNNING"


def test_a_script_writable_by_others_is_not_run(world: World, hers: Path) -> None:
    script = hers / "attempts" / "0" / "job.sbatch"
    script.chmod(0o666)
    done = world.run(ALICE, "exec", "demo", "worker-0", "true", **world.quiet)
    assert (done.returncode, "error E541" in done.stderr, world.victim.exists()) == (4, True, False)
    assert f"chmod go-w '{script}'" in done.stderr


@pytest.mark.parametrize("argv", [("list",), ("status", "demo"), ("monitor", "--once"), ("submit", "JOB")])
def test_a_home_of_another_user_is_refused(world: World, argv: tuple[str, ...]) -> None:
    world.home.mkdir()
    os.chown(world.home, BOB, GROUP)
    words = [str(world.folder / "job.yaml") if word == "JOB" else word for word in argv]
    for user in (ALICE, 0):
        done = world.run(user, *words)
        assert (done.returncode, "error E542" in done.stderr) == (4, True)
        assert 'export PAISLURM_HOME="$HOME/.paislurm"' in done.stderr
        assert ("-- paislurm status`" in done.stderr) == (user == 0)
    assert list(world.home.iterdir()) == []


def mended(world: World, user: int, home: Path) -> bool:
    """Return whether a home is refused until the command of the hint has run."""
    done = world.run(user, "list", home=home)
    (hint,) = (line for line in done.stderr.splitlines() if line.startswith("hint: chmod"))
    subprocess.run(hint.removeprefix("hint: "), shell=True, check=True)
    return (done.returncode, world.run(user, "list", home=home).returncode) == (4, 0)


@pytest.mark.parametrize("which", [".", "jobs", "monitor", "local"])
@pytest.mark.parametrize("mode", [0o777, 0o1777, 0o770, 0o702])
def test_a_home_writable_by_others_is_refused_with_the_fixing_command(world: World, which: str, mode: int) -> None:
    folder = world.home / which
    folder.mkdir(parents=True)
    folder.chmod(mode)
    assert mended(world, 0, world.home)


@pytest.mark.parametrize("way", ["straight", "link"])
@pytest.mark.parametrize(("mode", "owner"), [(0o777, 0), (0o2770, ALICE), (0o755, BOB)])
def test_a_home_below_a_folder_writable_by_others_is_refused(world: World, mode: int, owner: int, way: str) -> None:
    """Another would rename it while a job waits, and make one of her own with the same names."""
    project = world.folder / "project"
    home = project / "alice" / "home"
    home.mkdir(parents=True, mode=0o700)
    for folder in (home, home.parent):
        os.chown(folder, ALICE, GROUP)
    if way == "link":
        (world.folder / "links").mkdir()
        (world.folder / "links" / "alice").symlink_to("../project/alice")
    named = home if way == "straight" else world.folder / "links" / "alice" / "home"
    os.chown(project, owner, GROUP)
    project.chmod(mode)
    job = str(world.folder / "job.yaml")
    done = world.run(ALICE, "submit", job, "--backend", "local", home=named)
    assert (done.returncode, "error E542" in done.stderr) == (4, True)
    assert str(project) in done.stderr
    assert list(home.iterdir()) == []
    project.chmod(0o1777 if owner != BOB else 0o755)
    assert world.run(ALICE, "list", home=named).returncode == (4 if owner == BOB else 0)


@pytest.mark.parametrize("name", [".", "jobs", "monitor", "local"])
@pytest.mark.parametrize("kind", ["link of another", "below a folder of all"])
def test_a_link_in_a_home_to_a_path_others_can_change_is_refused(world: World, name: str, kind: str) -> None:
    """Whoever owns a link can have it lead elsewhere; folders on the way to where it leads count as those above."""
    target, home = world.folder / "scratch" / "hers", world.folder / "above" / "home"
    target.mkdir(parents=True)
    for folder in (world.folder / "above", home):
        if name != "." or folder != home:
            folder.mkdir()
            os.chown(folder, ALICE, GROUP)
    link = home if name == "." else home / name
    link.symlink_to(target)
    for path in (target, link):
        os.chown(path, ALICE, GROUP, follow_symlinks=False)
    assert world.run(ALICE, "list", home=home).returncode == 0
    if kind == "link of another":
        os.chown(link, BOB, GROUP, follow_symlinks=False)
    else:
        target.parent.chmod(0o777)
    done = world.run(ALICE, "submit", str(world.folder / "job.yaml"), "--backend", "local", home=home)
    assert (done.returncode, "error E542" in done.stderr) == (4, True), done.stderr
    assert str(link if kind == "link of another" else target.parent) in done.stderr
    assert [path for path in target.rglob("*") if path.is_file()] == []


def test_the_hint_fixes_an_own_parent_folder_with_one_command(world: World) -> None:
    project = world.folder / "a project"
    project.mkdir()
    os.chown(project, ALICE, GROUP)
    project.chmod(0o775)
    assert mended(world, ALICE, project / "home")


def test_the_monitor_skips_a_job_writable_by_others(world: World, hers: Path) -> None:
    for path in (hers, hers / "journal.jsonl"):
        mode = path.stat().st_mode
        path.chmod(0o777)
        before = (hers / "journal.jsonl").read_bytes()
        with (hers / "journal.jsonl").open("ab") as journal:
            journal.write(b'{"version": 1, "kind": "cancelled", "time": 1, "attempt": 0, "user": "x", "job_id": ""}\n')
        assert world.run(ALICE, "monitor", "--once", **world.quiet).returncode == 0
        assert (hers / "journal.jsonl").read_bytes().count(b"\n") == before.count(b"\n") + 1
        (hers / "journal.jsonl").write_bytes(before)
        path.chmod(mode)


def processes_of(home: Path) -> list[Path]:
    """Return what runs with this home."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if f"PAISLURM_HOME={home}\0".encode() in (process / "environ").read_bytes():
                found.append(process)
    return found


MODULES = ("paislurm", "python", "json", "subprocess", "pty", "click", "rich", "yaml", "sitecustomize", "usercustomize")


@pytest.fixture
def hostile(world: World) -> Path:
    """Return a folder of bob's with modules and programs of names that the program loads and calls."""
    folder = world.folder / "bobs"
    folder.mkdir()
    code = f"import os\nos.close(os.open({str(world.victim)!r}, os.O_CREAT))\n"
    for name in MODULES:
        (folder / name).mkdir()
        for file in (folder / name / "__init__.py", folder / name / "__main__.py"):
            file.write_text(code, encoding="utf-8")
    for name in ("python3", "bash", "sh", "sbatch", "ssh"):
        (folder / name).write_text(f"#!/bin/sh\ntouch {world.victim}\n", encoding="utf-8")
        (folder / name).chmod(0o755)
    return folder


def test_code_in_the_current_folder_is_not_run(world: World, hostile: Path) -> None:
    """Neither what a command calls itself for, nor what it leaves behind, nor the shell of a screen."""
    world.folder.chmod(0o1777)
    job = str(world.folder / "job.yaml")
    assert world.run(ALICE, "submit", job, "--backend", "local", cwd=hostile).returncode == 0
    argv = ["setpriv", f"--reuid={ALICE}", f"--regid={GROUP}", "--clear-groups", "env", "-i", f"--chdir={hostile}"]
    variables = {**world.environment(ALICE), "TERM": "xterm"}
    screen = Terminal([*argv, *(f"{k}={v}" for k, v in variables.items()), *INSTALLED, "watch"], rows=24, columns=80)
    try:
        shell = ("the shell in worker-0 exited with 0", "q")
        for seen, typed in (("r demo", "\r"), ("worker-0", "s"), ("0-worker/0", "exit\r"), shell):
            screen.expect(seen)
            screen.type(typed)
        assert screen.ended() == 0
    finally:
        screen.close()
    for words in (("monitor", "--once"), ("status",), ("exec", "demo", "worker-0", "true"), ("cancel", "demo")):
        assert world.run(ALICE, *words, cwd=hostile).returncode == 0
    assert world.run(ALICE, "wait", "demo", cwd=hostile).returncode == 1
    wait_until(lambda: not processes_of(world.home), "the monitor that was left behind to end")
    assert "Traceback" not in (world.home / "monitor" / "monitor.log").read_text(encoding="utf-8")
    assert not world.victim.exists()


def test_a_default_acl_does_not_open_the_home_to_others(world: World) -> None:
    """It goes before the umask: what is made in such a folder can be written to by whom the list names."""
    job = world.folder / "short.yaml"
    job.write_text(JOB, encoding="utf-8")
    hers = world.folder / "hers"
    hers.mkdir()
    os.chown(hers, ALICE, GROUP)
    inherit(hers, BOB)
    home = hers / "some" / "home"
    done = world.run(ALICE, "submit", str(job), "--backend", "local", "--wait", home=home, **world.quiet)
    assert done.returncode == 0, done.stderr
    assert list(home.rglob("result.json"))
    assert open_to(BOB, GROUP, home) == []
