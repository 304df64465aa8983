"""Jobs as a recorded slurmrestd tells of them, by a stand-in for it that repeats what was recorded."""

from __future__ import annotations

import json
import socket
import socketserver
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from paislurm.backends.base import JobId
from paislurm.backends.runner import Completed
from paislurm.backends.slurm import commands
from paislurm.backends.slurm.api import ApiBackend
from paislurm.backends.slurm.backend import SlurmBackend
from paislurm.backends.slurmrestd import api
from paislurm.backends.slurmrestd.answers import accounting_rows, queue_rows
from paislurm.backends.slurmrestd.client import ADDRESS, TOKEN, RestClient
from paislurm.translator.errors import RejectedError, ThrottledError, UnreachableError

from ..recording import Recording, Replay, read

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SAID = Path(__file__).parents[3] / "slurmrestd_output"


class Daemon(HTTPServer):
    """What listens where slurmrestd would; `asked` is what it was asked, with the token."""

    def __init__(self, answers: dict[str, Any]) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.answers = answers
        self.asked: list[tuple[str, str | None]] = []
        self.goes_on = threading.Event()


class SocketDaemon(Daemon):
    """The same on a unix socket."""

    def __init__(self, answers: dict[str, Any], path: Path) -> None:
        socketserver.BaseServer.__init__(self, str(path), Handler)
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.bind(str(path))
        self.socket.listen()
        self.answers, self.asked = answers, []


class Handler(BaseHTTPRequestHandler):
    """Repeat what was recorded."""

    server: Daemon

    def do_GET(self) -> None:
        self.server.asked.append((f"{self.command} {self.path}", self.headers.get("X-SLURM-USER-TOKEN")))
        said = self.server.answers.get(self.path.lstrip("/"), {"status": 404, "answer": "Unable to find endpoint"})
        if said == "silence":
            self.server.goes_on.wait(30)
            return
        text = said["answer"] if isinstance(said["answer"], str) else json.dumps(said["answer"])
        self.send_response(said["status"])
        self.end_headers()
        self.wfile.write(text.encode())

    do_DELETE = do_GET  # noqa: N815 - so http.server calls it

    def log_message(self, *_: object) -> None:
        """Say nothing."""


class Asked:
    """A backend whose slurmrestd is the stand-in, and what it said."""

    def __init__(
        self, recorded: dict[str, Any], daemon: Daemon, address: str, programs: list[Recording], timeout: float = 30
    ) -> None:
        self.job_id = JobId(recorded["asked"])
        self.daemon = daemon
        self.words: list[str] = []
        self.calls: list[tuple[str, ...]] = []
        self.replay = Replay(programs)
        slurm = SlurmBackend(self.replay)
        client = RestClient(
            lambda argv, _, end: self.calls.append((*argv, *[end] * (end != "ok"))), address=address, timeout=timeout
        )
        self.backend = ApiBackend("slurmrestd", slurm, api.RestApi(slurm, client), say=self.words.append)


@pytest.fixture
def ask() -> Iterator[Callable[..., Asked]]:
    daemons: list[Daemon] = []

    def make(case: str, *programs: Recording, more: dict[str, Any] | None = None, timeout: float = 30) -> Asked:
        recorded = json.loads((SAID / f"{case}.json").read_text(encoding="utf-8"))
        daemon = Daemon({**recorded["answers"], **(more or {})})
        threading.Thread(target=daemon.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        daemons.append(daemon)
        return Asked(recorded, daemon, f"http://127.0.0.1:{daemon.server_port}", list(programs), timeout)

    yield make
    for daemon in daemons:
        daemon.goes_on.set()
        daemon.shutdown()
        daemon.server_close()


ENDED = {
    "completed": ("COMPLETED", "COMPLETED", 0, 0, "n1"),
    "het_failed": ("FAILED", "FAILED", 3, 0, "n1,n2,n3"),
    "failed_with_137": ("FAILED", "FAILED", 137, 0, "n1"),
    "killed_by_signal": ("FAILED", "FAILED", 0, 11, "n1"),
    "cancelled_by_root": ("CANCELLED", "CANCELLED by 0", 0, 0, "n1"),
}


@pytest.mark.parametrize("case", sorted(ENDED))
def test_endings(ask: Callable[..., Asked], case: str) -> None:
    asked = ask(case)
    seen = asked.backend.observe([asked.job_id])[asked.job_id]
    assert (seen.state, seen.raw_state, seen.status, seen.signal, seen.nodes) == ENDED[case]
    assert seen.final
    assert seen.submitted
    assert seen.started
    assert seen.ended
    assert asked.calls == [("slurmrestd", f"job/{asked.job_id}")] * 2


def test_a_running_job(ask: Callable[..., Asked]) -> None:
    asked = ask("het_running")
    seen = asked.backend.observe([asked.job_id])[asked.job_id]
    assert (seen.state, seen.final, seen.nodes) == ("RUNNING", False, "n1,n2,n3")
    assert (seen.status, seen.signal, seen.ended) == (None, None, None)


def test_a_pending_job_says_why(ask: Callable[..., Asked]) -> None:
    asked = ask("pending")
    seen = asked.backend.observe([asked.job_id])[asked.job_id]
    assert (seen.state, seen.final, seen.reason, seen.nodes) == ("PENDING", False, "BeginTime", "")
    assert seen.started is None


def test_unknown_jobs_are_not_in_the_answer_and_can_be_cancelled(ask: Callable[..., Asked]) -> None:
    path = "slurm/v0.0.42/job/9999999"
    asked = ask("unknown_job")
    assert asked.backend.observe([asked.job_id]) == {}
    asked.backend.cancel(asked.job_id)
    assert asked.daemon.asked[-1][0] == f"DELETE /{path}"


def test_nodes_that_are_out_of_order(ask: Callable[..., Asked]) -> None:
    asked = ask("node_down")
    assert asked.backend.unavailable_nodes("n[6-8,99]") == {"n7": "broken", "n8": "being looked at"}
    assert asked.backend.unavailable_nodes("n[6-7]") == {"n7": "broken"}


def test_a_controller_that_is_away_says_nothing_of_any_job(ask: Callable[..., Asked]) -> None:
    asked = ask("controller_away")
    for call in (lambda: asked.backend.observe([asked.job_id]), lambda: asked.backend.cancel(asked.job_id)):
        with pytest.raises(UnreachableError, match="slurmrestd got no answer of Slurm"):
            call()
    with pytest.raises(UnreachableError, match="Unable to contact slurm controller"):
        asked.backend.unavailable_nodes("n1")
    assert not asked.words


def test_where_the_database_does_not_answer_sacct_tells_why(ask: Callable[..., Asked]) -> None:
    refused = Completed(status=1, stdout="", stderr="Problem talking to the database: Connection refused\n")
    asked = ask("database_away", Recording(tuple(commands.sacct([JobId("9999999")])), refused))
    with pytest.raises(UnreachableError, match="Problem talking to the database"):
        asked.backend.observe([asked.job_id])


def test_many_accounts_are_asked_of_sacct_at_once(ask: Callable[..., Asked]) -> None:
    ids = sorted(JobId(str(number)) for number in range(1, api.FEW + 2))
    nothing = Completed(status=0, stdout="", stderr="")
    more = {"slurm/v0.0.42/jobs/": {"status": 200, "answer": {"jobs": []}}}
    asked = ask("completed", Recording(tuple(commands.sacct(ids)), nothing), more=more)
    assert asked.backend.observe(ids) == {}
    assert asked.calls == [("slurmrestd", "jobs/")]


def test_a_token_goes_with_each_call(ask: Callable[..., Asked], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(TOKEN, "ey.secret")
    asked = ask("completed")
    asked.backend.observe([asked.job_id])
    assert {token for _, token in asked.daemon.asked} == {"ey.secret"}


def test_a_socket_needs_no_token(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(TOKEN, raising=False)
    recorded = json.loads((SAID / "completed.json").read_text(encoding="utf-8"))
    with SocketDaemon(recorded["answers"], tmp_path / "socket") as daemon:
        threading.Thread(target=daemon.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        asked = Asked(recorded, daemon, f"unix:{tmp_path}/socket", [])
        assert asked.backend.observe([asked.job_id])[asked.job_id].state == "COMPLETED"
        daemon.shutdown()
    assert {token for _, token in daemon.asked} == {None}


UNUSABLE = {
    "no version": ({}, "it has no v0.0.42"),
    "no token": (
        {"status": 401, "answer": "Authentication failure"},
        r"does not let this user in \(Authentication fail",
    ),
}


@pytest.mark.parametrize("why", sorted(UNUSABLE))
def test_one_that_cannot_be_asked_is_told_before_a_job_is_submitted(ask: Callable[..., Asked], why: str) -> None:
    said, words = UNUSABLE[why]
    with pytest.raises(UnreachableError, match=words) as caught:
        ask("completed", more={"slurm/v0.0.42/ping/": said} if said else None).backend.check()
    assert caught.value.diagnostics[0].code == "E509"


def test_a_daemon_that_is_gone_is_said_once_and_programs_are_asked(tmp_path: Path) -> None:
    queue, accounts = read("completed")[1:]
    job_id = JobId(queue.completed.stdout.partition("|")[0])
    recorded = {"asked": job_id, "answers": {}}
    with Daemon({}) as daemon:
        asked = Asked(recorded, daemon, f"unix:{tmp_path}/none", [queue, accounts, *read("unknown_job")[-1:]])
        assert asked.backend.observe([job_id])[job_id].state == "COMPLETED"
        asked.backend.cancel(JobId("9999999"))
    (words,) = asked.words
    assert "nobody answers at unix:" in words
    assert words.endswith("; Slurm's programs are asked instead")


@pytest.mark.parametrize(
    "address", ["", "unix:", "login:6820", "ftp://login", "http://", "http://login:x", "http://[x"]
)
def test_an_address_that_is_none(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(ADDRESS, address)
    with pytest.raises(UnreachableError, match=ADDRESS) as caught:
        RestClient().get("slurm", "ping/")
    assert "unix:/PATH or http://HOST:PORT" in caught.value.diagnostics[0].hint


def test_a_token_that_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(TOKEN, "two\nlines")
    with pytest.raises(UnreachableError, match=TOKEN):
        RestClient(address="http://127.0.0.1:1").get("slurm", "ping/")


def test_a_job_of_another_cluster_is_cancelled_by_the_programs(tmp_path: Path) -> None:
    done = Completed(status=0, stdout="", stderr="")
    with Daemon({}) as daemon:
        calls = [Recording(tuple(commands.scancel([JobId("7;far")])), done)]
        asked = Asked({"asked": "7", "answers": {}}, daemon, f"unix:{tmp_path}/none", calls)
        asked.backend.cancel(JobId("7;far"))
    assert not asked.words


def test_a_daemon_that_hangs_says_nothing(ask: Callable[..., Asked]) -> None:
    asked = ask("completed", more={"slurm/v0.0.42/job/1": "silence"}, timeout=0.5)
    with pytest.raises(UnreachableError, match=r"slurmrestd gave no answer within 0\.5 s"):
        asked.backend.observe([JobId("1")])
    assert not asked.words


@pytest.mark.parametrize(
    ("said", "error", "words"),
    [
        ({"status": 500, "answer": "Unspecified error"}, UnreachableError, "no answer of Slurm: Unspecified error"),
        ({"status": 502, "answer": ""}, UnreachableError, "HTTP status 502"),
        ({"status": 500, "answer": {"errors": []}}, UnreachableError, "no answer of Slurm"),
        ({"status": 400, "answer": ""}, RejectedError, "HTTP status 400"),
        ({"status": 500, "answer": {"errors": ["odd"]}}, UnreachableError, "no answer of Slurm"),
        ({"status": 429, "answer": "Too many requests"}, ThrottledError, "Too many requests"),
        ({"status": 200, "answer": {"errors": [{"error": "Access denied"}]}}, RejectedError, "Access denied"),
    ],
)
def test_what_is_no_answer_ends_no_job(
    ask: Callable[..., Asked], said: dict[str, Any], error: type[Exception], words: str
) -> None:
    asked = ask("completed", more={"slurm/v0.0.42/job/1": said})
    with pytest.raises(error, match=words):
        asked.backend.observe([JobId("1")])


def test_states_of_several_words_are_squeues() -> None:
    recorded = json.loads((SAID / "het_running.json").read_text(encoding="utf-8"))
    (job, *_) = recorded["answers"][f"slurm/v0.0.42/job/{recorded['asked']}"]["answer"]["jobs"]
    for words, state in ((["FAILED", "COMPLETING"], "COMPLETING"), (["RUNNING", "CONFIGURING"], "CONFIGURING")):
        assert [row.state for row in queue_rows([{**job, "job_state": words}])] == [state]


def test_of_a_requeued_job_the_last_run_counts() -> None:
    recorded = json.loads((SAID / "completed.json").read_text(encoding="utf-8"))
    (job,) = recorded["answers"][f"slurmdb/v0.0.42/job/{recorded['asked']}"]["answer"]["jobs"]
    later = {**job, "time": {**job["time"], "submission": job["time"]["submission"] + 60}, "nodes": "n2"}
    assert [row.nodes for row in accounting_rows([later, job], lambda _: None)] == ["n2"]
