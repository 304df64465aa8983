"""Clones of private repositories: what is in their addresses is on no command line, real git from a real server."""

from __future__ import annotations

import base64
import functools
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar

import pytest

from paislurm.translator.state import tidy

from ..ran import Ran, git_repository, plugins

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
        else:
            self.send_response(401)
            self.send_header("WWW-Authenticate", 'Basic realm="x"')
            self.end_headers()

    def log_message(self, *words: object) -> None:
        """Say nothing."""


@pytest.fixture
def server(tmp_path: Path) -> Iterator[str]:
    """A private repository on this machine; yields host and port."""
    git_repository(tmp_path / "served" / "repo", "file")
    Private.seen, Private.asked = set(), []
    handler = functools.partial(Private, directory=str(tmp_path / "served"))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as running:
        thread = threading.Thread(target=running.serve_forever)
        thread.start()
        yield f"127.0.0.1:{running.server_address[1]}"
        running.shutdown()
        thread.join()


def clone_and(command: str, ran: Callable[..., Ran], server: str) -> Ran:
    """Run a job that clones with a secret in the address; on no command line is anything of the secret."""
    address = f"http://<% $secrets.login %>@{server}/repo/.git"
    entry = {"plugin": "git", "parameters": {"repo_uri": address, "clone_dir": "it"}}
    done = ran(["cat it/file", command], secrets={"login": QUOTED}, extras=plugins(entry))
    assert done.code == 0, done.log("stderr")
    words = (b"home:", b"%40home", b"pa:s", b"rd@")
    assert [line for line in Private.seen if any(word in line for word in words)] == []
    return done


def test_the_clone_contains_no_credentials(ran: Callable[..., Ran], server: str) -> None:
    done = clone_and("env | grep -c -e CLONE_ -e home: || true", ran, server)
    assert (done.log("stdout"), f"Basic {TOKEN}" in Private.asked) == ("10\n", True)
    lines = [line for line in Private.seen if server.encode() in line]
    assert any(line.startswith(b"git\0-c\0credential.http://") for line in lines)


def test_commands_in_the_clone_find_no_credentials(
    ran: Callable[..., Ran], server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They need no password, and find none where it would be kept after the job."""
    monkeypatch.setattr(tidy, "_tidy_attempt", lambda *_, **__: False)
    again = f"git -c credential.helper= clone --quiet http://{server}/repo/.git other 2>/dev/null || echo asked"
    command = f"git -C it fetch --quiet && git -C it config remote.origin.url; touch done; {again}"
    done = clone_and(command, ran, server)
    assert done.log("stdout") == f"1http://{server}/repo/.git\nasked\n"
    assert (done.work() / "done").exists()
    files = [path for path in done.attempt.rglob("*") if path.is_file()]
    assert [path for path in files if QUOTED.encode() in path.read_bytes()] == []
    (calls,) = re.findall(r"(?m)^PSL_NODE_FOLDER=(.*)$", (done.attempt / "placement.sh").read_text())
    assert not Path(calls).exists()
