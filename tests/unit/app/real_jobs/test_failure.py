"""Jobs that fail on this machine: the first cause is found, and what is said of it and of the other tasks, unasked."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from paislurm.translator.rendering import runtime_bundle
from paislurm.translator.view.failure import cause_text

from ...cli.running import job_file, program
from ...protocol.jobs import JOB, changed
from ..asked import Asked
from ..ran import Ran


def failure(asked: Asked, done: Ran) -> tuple[dict[str, Any], str]:
    """Return what is known of the failure, and the line of the job file that it names."""
    shown = asked.jobs.status("demo").document[0]["failure"]
    return shown, (done.folder / "job.yaml").read_text(encoding="utf-8").splitlines()[shown["line"] - 1]


def test_a_command_that_is_not_found(asked: Asked, ran: Callable[..., Ran]) -> None:
    done = ran(["echo begins", "nosuchprogram --fast"])
    shown, line = failure(asked, done)
    assert (done.code, shown["what"]) == (1, "a command was not found, exit status 127")
    [stderr] = [line for line in done.log("stderr").splitlines() if "not found" in line]
    assert "nosuchprogram --fast" in line
    assert (shown["file"], shown["exit_code"], shown["last_lines"][-1]) == ("job.yaml", 220, stderr)
    assert "names a container runtime" in shown["cause"]


def test_a_command_without_output_is_named(asked: Asked, ran: Callable[..., Ran]) -> None:
    """What bash printed of a line before is no sign that this one failed."""
    done = ran(
        ["echo begins", "nosuchprogram || true", "f() {\n  test -e /nosuch\n}", "echo prepared >&2\nf\necho never"]
    )
    shown, line = failure(asked, done)
    assert (shown["last_line"], "test -e /nosuch" in line) == (shown["line"], True)


def test_recorded_command_ends_contain_no_secrets(asked: Asked, ran: Callable[..., Ran]) -> None:
    """Nor is the line of a script in which a secret has lines."""
    secrets = {"one": "s3cret-one", "two": "s3cret\ntwo"}
    done = ran(["echo a", "test <% $secrets.one %> = b", "echo c"], secrets=secrets)
    assert "s3cret" not in (done.attempt / "logs" / "0-worker" / "0.end.log").read_text()
    shown, line = failure(asked, done)
    assert (shown["last_line"], "test <% $secrets.one %> = b" in line) == (shown["line"], True)


def test_newlines_in_a_secret_do_not_shift_job_file_lines(asked: Asked, ran: Callable[..., Ran]) -> None:
    done = ran(["echo '<% $secrets.two %>' >/dev/null", "false", "echo c"], secrets={"two": "a\nb"})
    shown, _ = failure(asked, done)
    assert shown["last_line"] - shown["line"] == 2
    assert not (done.attempt / "logs" / "0-worker" / "0.end.log").exists()


def test_a_task_that_fails_while_stopping_is_reported_as_stopped(ran: Callable[..., Ran]) -> None:
    waits = "trap 'exit 7' TERM; touch ../ready; while :; do sleep 1 & wait $!; done"
    fails = "until [ -e ../ready ]; do :; done; exit 4"
    done = ran([f'if [ "$FC_TASK_INDEX" = 0 ]; then {waits}; fi; {fails}'], taskRoles__worker__instances=2)
    assert done.states == {"worker-0": "STOPPED", "worker-1": "FAILED"}
    assert [(task["exit_status"], task["exit_code"]) for task in done.result["tasks"]] == [(7, -220), (4, 255)]


PEERS = r"""
import os, select, signal, socket, sys, time
kind, victim = sys.argv[1], int(sys.argv[2])
index = int(os.environ["PAI_CURRENT_TASK_ROLE_CURRENT_TASK_INDEX"])

def fail():
    if kind == "exit":
        os._exit(3)
    if kind == "memory":
        open(os.environ["EVENTS"], "w").write("oom_kill 1\n")
    if kind in ("memory", "killed"):
        os.kill(os.getpid(), signal.SIGKILL)
    if kind == "segfault":
        os.kill(os.getpid(), signal.SIGSEGV)
    if kind == "disk":
        open("/dev/full", "w").write("x" * 100000)
    if kind == "command":
        os.execvp("bash", ["bash", "-c", "nosuchprogram"])
    if kind == "closes":
        for peer in peers:
            peer.close()
        time.sleep(0.1)
    raise RuntimeError("bad weights")

if index == 0:
    server = socket.create_server(("127.0.0.1", 0))
    open("../port.new", "w").write(str(server.getsockname()[1]))
    os.rename("../port.new", "../port")
    peers = [server.accept()[0] for _ in range(2)]
    for peer in peers:
        peer.sendall(b"go")
else:
    while not os.path.exists("../port"):
        time.sleep(0.02)
    peers = [socket.create_connection(("127.0.0.1", int(open("../port").read())))]
    peers[0].recv(2)
if index == victim:
    fail()
if not select.select(peers, [], [])[0][0].recv(2):
    raise ConnectionResetError("Connection closed by peer")
"""
"""Task 0 is connected to the others. One fails, and so does each task whose peer has gone: the rest follow."""


WORDS = {
    "exit": ("exit status 3", ""),
    "killed": ("signal KILL (9), which paislurm did not send, exit status 137", ""),
    "segfault": ("signal SEGV (11), exit status 139", ""),
    "memory": ("out of memory, exit status 137", ""),
    "exception": ("exit status 1", "RuntimeError: bad weights"),
    "closes": ("exit status 1", "RuntimeError: bad weights"),
    "disk": ("the command wrote to a full file system, exit status 1", "OSError: [Errno 28] No space left on device"),
    "command": ("a command was not found, exit status 127", "bash: line 1: nosuchprogram: command not found"),
    "image": ("no answer from the registry registry.invalid", ""),
    "limit": ("the time limit was reached", ""),
}
"""By kind of fault, what is said of it, and the last words of its task; the last two are no task's."""
SITE = "monitor: {background: false}\nretry: {maxTransientRetries: 0}\n"


def submit(asked: Asked, folder: Path, name: str, victim: int) -> None:
    """Run a job with the fault `KIND-NUMBER` to its end; one that reaches its time limit goes on meanwhile."""
    kind = name.partition("-")[0]
    command = f"python3 {folder}/peers.py {kind} {victim}"
    job = changed(JOB, "taskRoles/worker/commands", ["sleep 600" if kind == "limit" else command])
    job = changed(changed(job, "taskRoles/worker/instances", 3), "name", name)
    job = changed(job, "extras", {"slurm": {"time": 1}} if kind == "limit" else {})
    job = changed(job, "prerequisites/0/uri", "registry.invalid/no/image:1")
    site = folder / "site.yaml"
    runtime = f"containers: {{runtime: apptainer, cache: {folder}/cache}}\n" if kind == "image" else ""
    site.write_text(runtime + SITE)
    file = job_file(folder, yaml.safe_dump(job, sort_keys=False))
    assert asked.jobs.submit(file, backend="local", site=str(site)).code == 0
    if kind != "limit":
        asked.jobs.wait(name)


def is_right(asked: Asked, name: str, victim: int) -> bool:
    """Return whether the status of its job names the fault, first of all."""
    failure = asked.jobs.status(name).one.failure
    out = cause_text(failure)
    print(f"{name} {victim}: {out}")
    kind = name.partition("-")[0]
    what, words = WORDS[kind]
    task = None if kind in ("image", "limit") else f"worker-{victim}"
    named = out.startswith(f"failed by {task} on localhost at " if task else "failed at ")
    return bool(named and failure.task == task and what in failure.what and words in (failure.last_words or ""))


@pytest.mark.slow("thirty jobs")
def test_the_first_cause_of_seeded_faults_is_found(
    asked: Asked, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    """Of 30 faults of 10 kinds 29 are named. A stand-in for the cgroup of tasks counts kills for memory."""
    (tmp_path / "peers.py").write_text(PEERS, encoding="utf-8")
    (tmp_path / "proc/self").mkdir(parents=True)
    (tmp_path / "proc/self/cgroup").write_text("0::/task\n")
    (tmp_path / "proc/self/mountinfo").write_text(f"30 25 0:26 / {tmp_path}/cgroup rw - cgroup2 none rw\n")
    (tmp_path / "cgroup/task").mkdir(parents=True)
    (tmp_path / "cache").mkdir()
    program(tmp_path / "apptainer", "")
    load, proc = runtime_bundle._load, str(tmp_path / "proc")
    monkeypatch.setattr(runtime_bundle, "_load", lambda part: load(part).replace("${PSL_PROC:-/proc}", proc))
    runtime_bundle.runtime.cache_clear()
    request.addfinalizer(runtime_bundle.runtime.cache_clear)
    monkeypatch.setenv("EVENTS", str(tmp_path / "cgroup/task/memory.events"))
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    seeds = random.Random(30)
    faults = {f"{kind}-{number}": seeds.randrange(3) for kind in reversed(WORDS) for number in range(3)}
    for name, victim in faults.items():
        (tmp_path / "cgroup/task/memory.events").write_text("oom_kill 0\n")
        submit(asked, tmp_path, name, victim)
    for number in range(3):
        asked.jobs.wait(f"limit-{number}")
    wrong = [name for name, victim in faults.items() if not is_right(asked, name, victim)]
    assert len(wrong) <= 1, wrong
