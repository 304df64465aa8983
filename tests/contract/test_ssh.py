"""Jobs at a login node that is reached by SSH, from a machine without Slurm, by both ways."""

from __future__ import annotations

import json
import os
import re
import stat
from typing import TYPE_CHECKING

import pytest

from tests.cluster.ann import Ann
from tests.cluster.jobs import role
from tests.cluster.laptop import laptops
from tests.cluster.left_behind import cancel_if_failed
from tests.cluster.processes import wait_until
from tests.contract.backends import WAYS_OF_SSH
from tests.contract.showing import FORWARD, LISTED, SERVES, words_of
from tests.left_out import not_asked

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.cluster.cluster import Cluster
    from tests.cluster.laptop import Laptop
    from tests.cluster.tmux import Tmux
    from tests.contract.backends import Way
    from tests.contract.site import Site

ALL_WAYS = WAYS_OF_SSH
SECRET = "hunter2-of-ann"


@pytest.fixture(scope="session")
def laptop_of() -> Iterator[Callable[[Cluster], Laptop]]:
    """A laptop for each cluster, for all cases of this file."""
    known: dict[str, tuple[Laptop, Iterator[Laptop]]] = {}

    def of(cluster: Cluster) -> Laptop:
        slurm = cluster.instance.slurm
        if slurm not in known:
            context = laptops(cluster)
            known[slurm] = next(context), context
        return known[slurm][0]

    yield of
    for _, context in known.values():
        next(context, None)


@pytest.fixture
def laptop(site: Site, laptop_of: Callable[[Cluster], Laptop]) -> Laptop:
    return laptop_of(site.administrator)


@pytest.fixture
def ann(request: pytest.FixtureRequest, laptop: Laptop, way: Way) -> Iterator[Ann]:
    found = Ann(laptop, way.backend, request.node.name.removeprefix("test_"))
    yield found
    cancel_if_failed(laptop.cluster, request.node, found.name)


@pytest.mark.parametrize("way_there", ["straight", "jump"])
def test_ssh_does_not_add_host_keys(ann: Ann, way_there: str) -> None:
    """The login node offers more keys than known_hosts has of it, and so does the host on the way to it.

    ssh learns no key of a host that it knows by other names too.
    """
    if way_there == "jump" and ann.env["PAISLURM_TRANSPORT"] == "fabric":
        not_asked("it learns no keys, and has no HostKeyAlias")
    config, known = (ann.laptop.home / ".ssh" / name for name in ("config", "known_hosts"))
    settings, before = config.read_text(), known.read_text()
    (line,) = (line for line in before.splitlines(keepends=True) if line.startswith("login1 "))
    known.write_text(line)
    far = f"Host far\n  User alice\n  HostName {ann.laptop.login}\n  HostKeyAlias login1\n  ProxyJump login1\n"
    config.write_text(settings + far)
    try:
        host = ["--host", "far"] if way_there == "jump" else []
        done = ann.submit(role("worker", 1, "echo out; sleep infinity"), *host)
        assert done.returncode == 0, done.stderr
        wait_until(lambda: "out" in ann.paislurm("logs", ann.name).stdout, "the task to run")
        port = str(40000 + os.getpid() % 20000)
        forward = f"timeout 5 paislurm port-forward {ann.name} worker 9 --run --local-port {port}"
        assert ann.laptop.run("bash", "-c", forward, env=ann.env).returncode == 124
        assert ann.paislurm("exec", ann.name, "worker", "true").returncode == 0
    finally:
        assert ann.paislurm("cancel", ann.name).returncode == 0
        config.write_text(settings)
        after = known.read_text()
        known.write_text(before)
    assert after == line
    assert {path.name for path in known.parent.glob("known_hosts*")} == {"known_hosts"}


def test_followed_to_success(ann: Ann) -> None:
    secrets = f"secrets: {{word: {SECRET}}}\n"
    command = 'echo "out of $PAI_TASK_INDEX"; [[ $w == hunter2* ]] && echo known; pwd'.replace(
        "$w", "'<% $secrets.word %>'"
    )
    done = ann.submit(role("worker", 2, command) + role("server", 1, "echo serving"), "--follow", more=secrets)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert {"worker-0 | out of 0", "worker-1 | out of 1", "worker-1 | known", "server-0 | serving"} <= set(lines)
    there = ann.there
    assert any(f"/.paislurm/remote/{there.name}/attempts/0/work/" in line for line in lines)
    # All that is there is the user's alone, and the secrets are gone.
    for path in (there, *there.rglob("*")):
        assert stat.S_IMODE(path.lstat().st_mode) & 0o077 == 0, path
    assert not (there / "secrets").exists()
    assert not (ann.folder / "secrets").exists()
    for name in ("job.yaml", "plan.json", "attempts/0/job.sbatch"):
        assert (there / name).read_bytes() == (ann.folder / name).read_bytes()
    assert not (there / "journal.jsonl").exists()
    said = ann.laptop.cluster.instance.log / "sshd.log"
    assert SECRET not in said.read_text()
    assert not [path for path in ann.folder.rglob("*") if path.is_file() and SECRET in path.read_text(errors="replace")]
    status = ann.status()
    assert (status["state"], status["backend"]) == ("SUCCEEDED", "ssh:login1")
    assert ann.paislurm("logs", ann.name, "server").stdout == "serving\n"
    assert ann.was_submitted_once()


def test_failed_remote_job_reports_its_exit_status(ann: Ann) -> None:
    extras = "{}"
    fails = "echo attempt; echo out of memory >&2; exit 7"
    done = ann.submit(role("worker", 1, fails), "--wait", extras=extras, more="jobRetryCount: 1\n")
    assert done.returncode == 1, done.stderr
    assert "exit code 7" in done.stderr or "7" in ann.status()["reason"]
    assert ann.status()["attempt"] == 1
    assert (ann.there / "attempts" / "1" / "result.json").exists()
    # The page has the last lines of both attempts, which nobody has brought before.
    made = ann.paislurm("report", ann.name, "-o", f"{ann.name}.html")
    assert (made.returncode, made.stderr) == (0, "")
    words = words_of(ann.laptop.home / f"{ann.name}.html")
    for attempt in (0, 1):
        assert f"worker-0 stderr, attempt {attempt + 1} out of memory" in words
    assert re.search(r"worker-0 failed 7 \d+ n\d 10\.", words)
    assert ann.paislurm("logs", "--attempt", "1", ann.name).stdout == "attempt\nout of memory\n"


def test_remove(ann: Ann) -> None:
    assert ann.submit(role("worker", 1, "echo up"), "--wait").returncode == 0
    there = ann.there
    assert (there / "attempts" / "0" / "work").is_dir()
    assert ann.paislurm("remove", "--keep-logs", ann.name).returncode == 0
    assert not (there / "attempts" / "0" / "work").exists()
    assert ann.paislurm("logs", ann.name).stdout == "up\n"
    done = ann.paislurm("remove", ann.name)
    assert (done.returncode, done.stderr) == (0, "")
    assert not there.exists()
    assert not ann.folder.exists()


def test_cancel(ann: Ann, window: Callable[..., Tmux]) -> None:
    waits = "trap 'echo saved; exit 0' TERM; echo up; while :; do sleep 1 & wait; done"
    waits = f"({SERVES}) & {waits}"
    assert ann.submit(role("worker", 1, waits)).returncode == 0
    wait_until(lambda: ann.status()["tasks"][0]["state"] == "RUNNING", "the task to run")
    done = ann.paislurm(
        "exec", ann.name, "worker", "--", "sh", "-c", "cat; echo $SLURMD_NODENAME >&2; exit 9", stdin="in\n"
    )
    assert (done.returncode, done.stdout) == (9, "in\n"), done.stderr
    assert re.search(r"^n\d$", done.stderr, re.MULTILINE)
    wait_until(lambda: ann.paislurm("logs", ann.name).stdout == "up\n", "the log to come")
    _look_at(ann, window)
    assert ann.paislurm("cancel", ann.name).returncode == 0
    assert ann.paislurm("wait", ann.name).returncode == 1
    wait_until(lambda: "saved" in ann.paislurm("logs", ann.name).stdout, "the last line to come")
    assert ann.status()["state"] == "STOPPED"


def _look_at(ann: Ann, window: Callable[..., Tmux]) -> None:
    """Look at a job that runs as on the login node: by the screen, by what it uses, and through a tunnel."""
    (task,) = ann.status()["tasks"]
    env = {**ann.env, "TERM": "tmux-256color"}
    screen = window(80, 24, *ann.laptop.command(["paislurm", "watch", ann.name], env))
    screen.see("r 1 running")
    screen.see("up")
    screen.press("s")
    screen.see(f"@{task['node']}")
    screen.press(f"[ $SLURMD_NODENAME = {task['node']} ] && exit", "Enter")
    screen.see("the shell in worker-0 exited with 0")
    screen.press("q")
    screen.see("left with 0")
    (used,) = json.loads(ann.paislurm("status", "--usage", "--json", ann.name).stdout)["usages"]
    assert (used["role"], used["running_tasks"]) == ("worker", 1)
    port = str(task["ports_by_label"]["ssh"][0])
    done = ann.laptop.run("bash", "-c", FORWARD, "forward", ann.name, "worker", port, env=ann.env)
    assert LISTED in done.stdout, done.stdout + done.stderr


def test_missing_profile_is_detected_on_the_login_node(ann: Ann) -> None:
    ann.env.pop("PAISLURM_SITE")
    done = ann.submit(role("worker", 1, "echo hello"), "--host", "login1", "--follow")
    assert (done.returncode, done.stdout) == (0, "hello\n"), done.stderr
    assert "no site profile found: paislurm detects one from Slurm" in done.stderr
    kept = ann.laptop.home / ann.name / "detected-site" / "ssh-login1.yaml"
    assert "host: login1\n" in kept.read_text()
    # It says what cannot be, without a question to anybody.
    done = ann.submit(role("wide", 99, "true"), "--host", "login1", "--suffix=-wide", extras="{slurm: {layout: het}}")
    assert done.returncode == 4, done.stderr
    assert "at most" in done.stderr


def test_remote_test_only_estimates_the_start_and_leaves_no_files(ann: Ann) -> None:
    """It is asked there, and nothing is left, here or there."""
    done = ann.submit(role("worker", 1, "true"), "--test-only")
    assert done.returncode == 0, done.stderr
    # The cluster may have work of other tests.
    assert done.stdout.startswith(f"{ann.name} would start at ")
    assert not ann.folder.exists()
    assert not list(ann.laptop.cluster.home("alice").glob(f".paislurm/remote/{ann.name}.*"))


def test_updated_options_apply_to_the_next_attempt(ann: Ann) -> None:
    """Its script, which is sent to the login node, has other options than the first."""
    limit = "squeue --noheader --jobs=$SLURM_JOB_ID --format=%l"
    first = "until [ -e go ]; do sleep 0.2; done; exit 3"
    command = f'{limit}; [ "$FC_FRAMEWORK_ATTEMPT_ID" = 1 ] || {{ {first}; }}'
    assert ann.submit(role("worker", 1, command), extras="{slurm: {time: 20}}").returncode == 0
    wait_until(lambda: ann.paislurm("logs", ann.name).stdout == "20:00\n", "the first attempt to run")
    done = ann.paislurm("update", ann.name, "--time", "8", "--retries", "1")
    assert (done.returncode, "time 00:08:00, retries 1" in done.stdout) == (0, True)
    assert ann.paislurm("exec", ann.name, "worker", "--", "touch", "go").returncode == 0
    assert ann.paislurm("wait", ann.name).returncode == 0
    wait_until(lambda: ann.paislurm("logs", ann.name).stdout == "8:00\n", "the log of the second attempt")
    assert ann.paislurm("update", ann.name, "--time", "9").returncode == 4
