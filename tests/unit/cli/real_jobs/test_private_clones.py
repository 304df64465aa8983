"""Clones of private repositories: what is in their addresses is on no command line, real git from a real server."""

from __future__ import annotations

import base64
import functools
import re
import subprocess
import threading
from collections.abc import Iterator
from contextlib import suppress
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar

import pytest
import yaml

from paislurm.translator.state import tidy

from ...protocol.jobs import JOB
from ..running import Runner, job_file

USER, PASSWORD = "me@home", "pa:s%&\\wörd"
QUOTED = "me%40home:pa:s%25&%5Cw%C3%B6rd"
TOKEN = base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()


class Private(SimpleHTTPRequestHandler):
    """Serves files to who knows the password, and keeps the command lines of all processes while it is asked."""

    seen: ClassVar[set[bytes]] = set()
    asked: ClassVar[list[str]] = []

    def do_GET(self) -> None:
        for path in Path("/proc").glob("[0-9]*/cmdline"):
            with suppress(OSError):
                self.seen.add(path.read_bytes())
        given = self.headers.get("Authorization", "")
        self.asked.append(given)
        if given == f"Basic {TOKEN}":
            super().do_GET()
            return
        self.send_response(401)
        self.send_header("WWW-Authenticate", 'Basic realm="x"')
        self.end_headers()

    def log_message(self, *words: object) -> None:
        """Say nothing."""


@pytest.fixture
def server(tmp_path: Path) -> Iterator[str]:
    """A private repository on this machine; yields host and port."""
    repository = tmp_path / "served" / "repo"
    git = ["git", "-C", str(repository), "-c", "user.name=x", "-c", "user.email=x@y"]
    subprocess.run(["git", "init", "-q", "-b", "main", str(repository)], check=True)
    (repository / "file").write_text("1")
    subprocess.run([*git, "add", "-A"], check=True)
    subprocess.run([*git, "commit", "-qm", "1"], check=True)
    subprocess.run([*git, "update-server-info"], check=True)
    Private.seen, Private.asked = set(), []
    handler = functools.partial(Private, directory=str(tmp_path / "served"))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as running:
        thread = threading.Thread(target=running.serve_forever)
        thread.start()
        yield f"127.0.0.1:{running.server_address[1]}"
        running.shutdown()
        thread.join()


def clone_and(command: str, run: Runner, server: str, tmp_path: Path, jobs: Path) -> str:
    """Run a job that clones with a secret in the address, and return what its command printed."""
    address = f"http://<% $secrets.login %>@{server}/repo/.git"
    entry = {"plugin": "git", "parameters": {"repo_uri": address, "clone_dir": "it"}}
    worker = {**JOB["taskRoles"]["worker"], "instances": 1, "commands": ["cat it/file", command]}
    job = {
        **JOB,
        "secrets": {"login": QUOTED},
        "taskRoles": {"worker": worker},
        "extras": {"com.microsoft.pai.runtimeplugin": [entry]},
    }
    said = run("submit", job_file(tmp_path, yaml.safe_dump(job)), "--backend", "local", "--wait")
    (logs,) = jobs.glob("*/attempts/0/logs/0-worker")
    assert said.code == 0, [path.read_text() for path in logs.iterdir()]
    return (logs / "0.stdout.log").read_text()


def test_the_clone_contains_no_credentials(run: Runner, server: str, tmp_path: Path, surroundings: Path) -> None:
    printed = clone_and("env | grep -c -e CLONE_ -e home: || true", run, server, tmp_path, surroundings)
    assert printed == "10\n"
    assert f"Basic {TOKEN}" in Private.asked
    lines = [line for line in Private.seen if server.encode() in line]
    assert any(line.startswith(b"git\0-c\0credential.http://") for line in lines)
    words = ("home:", "%40home", "pa:s", "rd@")
    assert [line for line in Private.seen if any(word.encode() in line for word in words)] == []


def test_commands_in_the_clone_find_no_credentials(
    run: Runner, server: str, tmp_path: Path, surroundings: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They need no password, and find none where it would be kept after the job."""
    monkeypatch.setattr(tidy, "_tidy_attempt", lambda *_, **__: False)
    again = f"git -c credential.helper= clone --quiet http://{server}/repo/.git other 2>/dev/null || echo asked"
    command = f"git -C it fetch --quiet && git -C it config remote.origin.url; touch done; {again}"
    printed = clone_and(command, run, server, tmp_path, surroundings)
    assert printed == f"1http://{server}/repo/.git\nasked\n"
    words = ("home:", "%40home", "pa:s", "rd@")
    assert [line for line in Private.seen if any(word.encode() in line for word in words)] == []
    (attempt,) = surroundings.glob("*/attempts/0")
    assert (attempt / "work/0-worker/0/done").exists()
    files = [path for path in attempt.rglob("*") if path.is_file()]
    assert [path for path in files if QUOTED.encode() in path.read_bytes()] == []
    (calls,) = re.findall(r"(?m)^PSL_NODE_FOLDER=(.*)$", (attempt / "placement.sh").read_text())
    assert not Path(calls).exists()
