"""The way to a login node: keys, connections that are shared, refused and cut, shells and profiles that are in it."""

from __future__ import annotations

import subprocess
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from typing import TYPE_CHECKING

import pytest

from tests.cluster import hosts
from tests.cluster.ann import WAYS, Ann
from tests.cluster.jobs import role
from tests.cluster.laptop import laptops
from tests.cluster.left_behind import cancel_if_failed
from tests.cluster.processes import wait_until
from tests.cluster.sharing import small_file_system
from tests.terminal import Terminal

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.cluster.cluster import Cluster
    from tests.cluster.laptop import Laptop

LINES = "for n in $(seq 40); do echo line $n; sleep 0.05; done"
ALL_LINES = "".join(f"line {number}\n" for number in range(1, 41))
MANY_COMMANDS = """
import sys
from paislurm.backends.ssh.transport import parse_address
from paislurm.backends.ssh.ssh_runner import SshRunner
from paislurm.backends.ssh.transport import choose_transport
address = parse_address("login1")
transport = choose_transport(address, sys.argv[1])
for number in range(100):
    if sys.argv[1] == "ssh":
        transport = choose_transport(address, "ssh")
    assert SshRunner(address, transport).run(["echo", str(number)], timeout=20).stdout == f"{number}\\n"
"""


@pytest.fixture(scope="session")
def laptop(installed: Cluster) -> Iterator[Laptop]:
    yield from laptops(installed)


@pytest.fixture
def fresh(laptop: Laptop) -> Iterator[Laptop]:
    """The laptop without a connection that is left from another case, and with its settings as they were after it."""
    folder = laptop.home / ".ssh"
    kept = {path: path.read_bytes() for path in folder.iterdir() if path.is_file()}
    laptop.run("sh", "-c", "rm -rf /tmp/paislurm-*; pkill -KILL -x ssh")
    yield laptop
    for path, data in kept.items():
        path.write_bytes(data)


@pytest.fixture(params=WAYS)
def ann(request: pytest.FixtureRequest, fresh: Laptop) -> Iterator[Ann]:
    found = Ann(fresh, request.param, request.node.name.removeprefix("test_"))
    yield found
    cancel_if_failed(fresh.cluster, request.node, found.name)


def test_hundred_commands_share_one_login(ann: Ann) -> None:
    before = ann.laptop.logins()
    python = 'PYTHONPATH=/opt/paislurm/src exec /opt/paislurm/.venv/bin/python -c "$0" "$1"'
    done = ann.laptop.run("sh", "-c", python, MANY_COMMANDS, ann.env["PAISLURM_TRANSPORT"])
    assert done.returncode == 0, done.stderr
    assert ann.laptop.logins() - before == 1


def test_a_connection_that_a_person_opened_is_used(fresh: Laptop) -> None:
    """As with a second factor: the key is nowhere where paislurm could find it."""
    key = fresh.home / ".ssh" / "id_ed25519"
    hidden = fresh.write("elsewhere/token", key.read_text())
    key.unlink()
    ann = Ann(fresh, "auto", "person")
    refused = ann.submit(role("worker", 1, "echo hello"), "--follow")
    assert refused.returncode == 6
    assert "E553" in refused.stderr
    assert not ann.folder.exists()
    command = next(word for word in refused.stderr.split("`") if word.startswith("ssh -fNM"))
    opened = fresh.run("sh", "-c", command.replace("ssh ", f"ssh -i /home/ann/elsewhere/{hidden.name} ", 1))
    assert opened.returncode == 0, opened.stderr
    before = fresh.logins()
    done = ann.submit(role("worker", 1, "echo hello"), "--follow")
    assert (done.returncode, done.stdout) == (0, "hello\n"), done.stderr
    assert fresh.logins() == before


def test_an_unknown_key_is_refused_with_the_line_to_add(ann: Ann) -> None:
    known = ann.laptop.home / ".ssh" / "known_hosts"
    known.write_text("")
    done = ann.submit(role("worker", 1, "echo hello"), "--follow")
    assert done.returncode == 6
    assert "E551" in done.stderr
    assert "SHA256:" in done.stderr
    assert known.read_text() == ""
    assert not ann.folder.exists()
    line = done.stderr.rpartition("known_hosts: ")[2].splitlines()[0]
    known.write_text(line + "\n")
    done = ann.paislurm("submit", f"{ann.name}.yaml", "--follow")
    assert (done.returncode, done.stdout) == (0, "hello\n"), done.stderr


def test_changed_host_key_is_rejected(ann: Ann) -> None:
    other = ann.laptop.write("other/key", "").parent / "host"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(other)], check=True)
    kind, key = other.with_suffix(".pub").read_text().split()[:2]
    other.unlink()
    (ann.laptop.home / ".ssh" / "known_hosts").write_text(f"login1 {kind} {key}\n{ann.laptop.login} {kind} {key}\n")
    done = ann.submit(role("worker", 1, "echo hello"))
    assert done.returncode == 6
    assert "E552" in done.stderr
    assert "differs from that in known_hosts" in done.stderr


def test_unreachable_host_is_reported(ann: Ann) -> None:
    done = ann.submit(role("worker", 1, "true"), "--host", "login1:2")
    assert done.returncode == 6
    assert "E550" in done.stderr
    assert "refused" in done.stderr or "Unable to connect to port 2" in done.stderr
    done = ann.paislurm("submit", f"{ann.name}.yaml", "--host", "-oProxyCommand=touch${IFS}/tmp/x")
    assert done.returncode == 2
    assert "is not the address of a login node" in done.stderr


def test_output_of_the_login_profile_is_ignored(ann: Ann) -> None:
    """A login shell may print, and read what is typed; it may be no bash."""
    profile = 'echo "Welcome!"; echo "mind the step" >&2; read -r answer; export SLURM_JOB_NAME=mine\n'
    with ann.laptop.login_profile(profile):
        done = ann.submit(role("worker", 1, "echo hello"), "--follow")
    assert (done.returncode, done.stdout) == (0, "hello\n"), done.stderr
    assert "Welcome" not in done.stderr


def test_a_shell_in_a_task_has_a_terminal(ann: Ann) -> None:
    assert ann.submit(role("worker", 1, "sleep 600")).returncode == 0
    wait_until(lambda: ann.status()["tasks"][0]["state"] == "RUNNING", "the task to run")
    argv = ann.laptop.command(["paislurm", "exec", ann.name, "worker"], {**ann.env, "TERM": "xterm"})
    with closing(Terminal(argv, rows=40, columns=100)) as terminal:
        terminal.type("echo $((6 * 7)); tty; stty size\r")
        terminal.expect(r"\n42\r")
        terminal.expect("/dev/pts/")
        terminal.expect("40 100")
        terminal.type("exit 5\r")
        assert terminal.ended() == 5
        assert terminal.settings() == terminal.before
    assert ann.paislurm("cancel", ann.name).returncode == 0


def test_submit_works_through_a_jump_host(ann: Ann) -> None:
    login = ann.laptop.login
    config = (
        f"Host jump\n  HostName {login}\n  User alice\nHost inner\n  HostName {login}\n  User alice\n  ProxyJump jump\n"
    )
    ann.laptop.write(".ssh/config", config)
    before = ann.laptop.logins()
    done = ann.submit(role("worker", 1, "echo hello"), "--follow", "--host", "inner")
    assert (done.returncode, done.stdout) == (0, "hello\n"), done.stderr
    assert ann.laptop.logins() > before


CUTS = (0.0, 0.02, 0.1, 0.4, 0.8, 0.97, 0.98, 0.99, 0.995, 1.02)
"""Where a connection is cut, as parts of what a submit sends and gets: login, files, sbatch and its answer, the log."""


def test_cut_connection_neither_loses_nor_repeats_log_lines(ann: Ann) -> None:
    laptop, way = ann.laptop, ann.env["PAISLURM_TRANSPORT"]
    ports = range(2300, 2300 + len(CUTS) + 1)
    hosts_of_config = "".join(f"Host cut{p}\n  HostName 127.0.0.1\n  Port {p}\n  User alice\n" for p in ports)
    laptop.write(".ssh/config", hosts_of_config)
    laptop.knows(*(f"[127.0.0.1]:{port}" for port in ports))
    whole = laptop.relay(ports[-1], -1)
    assert Ann(laptop, way, "whole", f"cut{ports[-1]}").submit(role("worker", 1, LINES)).returncode == 0
    total = int(whole.read_text())
    with ThreadPoolExecutor(4) as pool:
        parts = zip(CUTS, ports, strict=False)
        for failed in pool.map(lambda each: _follow_over_a_cut(laptop, way, int(total * each[0]), each[1]), parts):
            assert not failed


def _follow_over_a_cut(laptop: Laptop, way: str, limit: int, port: int) -> str:
    """Submit a job and follow it over a link that is cut; return what is wrong then."""
    ann = Ann(laptop, way, f"cut-{port}", f"cut{port}")
    counted = laptop.relay(port, limit)
    done = ann.submit(role("worker", 1, LINES), "--follow")
    if done.returncode == 6 and "E550" in done.stderr:
        # Nothing was sent, and that was said.
        done = ann.paislurm("submit", f"{ann.name}.yaml", "--follow")
    if (done.returncode, done.stdout) != (0, ALL_LINES):
        return f"after {limit} bytes: {done}"
    folders = list(laptop.cluster.home("alice").glob(f".paislurm/remote/*{ann.name}*"))
    if not counted.read_text().startswith("cut") or len(folders) != 1 or not ann.was_submitted_once():
        return f"after {limit} bytes: {counted.read_text()}, {folders}"
    return ""


def test_following_logs_resumes_after_a_silent_connection(ann: Ann) -> None:
    laptop = ann.laptop
    assert (
        ann.submit(
            role("worker", 1, f"echo begun; until [[ -e ~/{ann.name} ]]; do sleep 0.2; done; echo over")
        ).returncode
        == 0
    )
    follower = laptop.popen("paislurm", "logs", "--follow", ann.name, env=ann.env)
    assert follower.stdout is not None
    assert any(line == "begun\n" for line in follower.stdout)
    prefix = ["nsenter", f"--target={laptop.pid}", "--net"]
    hosts.ip(["link set eth0 down"], prefix)
    assert any("still waiting" in line for line in follower.stdout)
    go = laptop.cluster.home("alice") / ann.name
    go.touch()
    hosts.ip(["link set eth0 up"], prefix)
    try:
        rest = follower.stdout.read()
    finally:
        go.unlink()
    assert "over\n" in rest
    assert "SUCCEEDED" in rest
    assert follower.wait() == 0


def test_job_of_a_killed_submit_is_recovered(ann: Ann) -> None:
    laptop = ann.laptop
    text = ann.submit(role("worker", 1, "echo hello"), "--dry-run")
    assert text.returncode == 0, text.stderr
    process = laptop.popen("paislurm", "submit", f"{ann.name}.yaml", env=ann.env)
    remote = laptop.cluster.home("alice") / ".paislurm" / "remote"
    wait_until(lambda: any(remote.glob(f"{ann.name}.*/attempts/0/sbatch-*")), "sbatch to be called")
    laptop.kill(process)
    done = ann.paislurm("wait", ann.name)
    assert done.returncode == 0, done.stderr
    assert ann.paislurm("logs", ann.name).stdout == "hello\n"
    assert ann.was_submitted_once()


def test_full_remote_disk_is_reported_and_leaves_no_files(ann: Ann) -> None:
    laptop, cluster = ann.laptop, ann.laptop.cluster
    with small_file_system(cluster.instance) as small:
        home, filler = (cluster.seen(small) / name for name in (ann.name, "filler"))
        with filler.open("wb") as file, suppress(OSError):
            while True:
                file.write(b"x" * 65536)
                file.flush()
        with filler.open("r+b") as file:
            file.truncate(filler.stat().st_size // 4096 * 4096 - 65536)
        with laptop.login_profile(f"export PAISLURM_HOME={small}/{ann.name}\n"):
            done = ann.submit(role("worker", 1, "true"))
        assert done.returncode == 4, done.stderr
        assert "E510" in done.stderr
        assert not ann.folder.exists()
        assert list((home / "remote").iterdir()) == []
