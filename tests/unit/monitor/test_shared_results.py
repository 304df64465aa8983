"""Slurm is asked seldom: all processes of a user share what it said last."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Collection, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from paislurm.backends.base import JobId, Observation
from paislurm.translator.errors import Diagnostic, ThrottledError
from paislurm.translator.files.shared_files import SharedFiles
from paislurm.translator.monitor.polling import shared_results
from paislurm.translator.monitor.polling.shared_results import FILE, NOT_ASKED, PollResult, SharedPollResults

from .jobs import FakeBackend, observed

SEVEN, EIGHT = JobId("7"), JobId("8")


@pytest.fixture
def backend() -> FakeBackend:
    return FakeBackend(observed("RUNNING"))


@pytest.fixture
def pass_time(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """Let the file server's time go on."""
    ahead, now = [0.0], SharedFiles.now

    def go_on(seconds: float) -> None:
        ahead[0] += seconds

    monkeypatch.setattr(SharedFiles, "now", lambda files: now(files) + ahead[0])
    return go_on


def test_a_poll_result_is_shared_until_it_is_too_old(tmp_path: Path, pass_time: Callable[[float], None]) -> None:
    backend = FakeBackend(observed("PENDING", reason="Resources", reasons=("Resources", "")))
    backend.tags["tag"] = EIGHT
    first, other = (SharedPollResults(lambda: backend, tmp_path) for _ in range(2))
    said = first.ask({SEVEN}, {"tag", "lost"}, 60)
    assert (said.asked, dict(said.found), backend.queries) == ({SEVEN, EIGHT}, {"tag": EIGHT, "lost": None}, 1)
    assert other.ask({SEVEN}, {"tag"}, 15) == said
    assert (tmp_path / FILE).stat().st_mode & 0o777 == 0o600
    pass_time(20)
    assert [each.ask({SEVEN}, (), 60).observations for each in (first, other)] == [said.observations] * 2
    assert backend.queries == 1
    assert other.ask({SEVEN}, (), 15).asked == {SEVEN}
    assert backend.queries == 2
    assert first.ask({SEVEN}, (), 15).time >= said.time
    assert backend.queries == 2


def test_a_poll_result_of_another_process_is_new_once(
    tmp_path: Path, backend: FakeBackend, pass_time: Callable[[float], None]
) -> None:
    first, other = (SharedPollResults(lambda: backend, tmp_path) for _ in range(2))
    assert (first.ask({SEVEN}, (), 15).asked, first.news()) == ({SEVEN}, None)
    pass_time(20)
    said = other.ask({SEVEN}, (), 15)
    assert [first.news(), first.news(), other.news()] == [said, None, None]


def test_a_poll_covers_all_jobs_of_the_user(tmp_path: Path) -> None:
    backend = FakeBackend(observed("RUNNING"), observed("RUNNING", job_id="8"))
    answers = SharedPollResults(lambda: backend, tmp_path)
    assert answers.ask({SEVEN}, (), 15, lambda: ({EIGHT}, {"tag"})).asked == {SEVEN, EIGHT}
    assert EIGHT in SharedPollResults(lambda: backend, tmp_path).ask({EIGHT}, (), 15).observations


def test_a_job_submitted_after_the_poll_has_no_result(tmp_path: Path, backend: FakeBackend) -> None:
    SharedPollResults(lambda: backend, tmp_path).ask({SEVEN}, (), 15)
    assert EIGHT not in SharedPollResults(lambda: backend, tmp_path).ask({EIGHT}, (), 15).asked


def test_an_outage_is_shared_and_polled_again(
    tmp_path: Path, backend: FakeBackend, pass_time: Callable[[float], None]
) -> None:
    backend.fails = "away"
    first, other = (SharedPollResults(lambda: backend, tmp_path) for _ in range(2))
    assert "timed out" in first.ask({SEVEN}, (), 60).error
    backend.fails = ""
    assert "timed out" in other.ask({SEVEN}, (), 15).error
    assert backend.queries == 1
    pass_time(16)
    assert other.ask({SEVEN}, (), 15).error == ""


class Throttling(FakeBackend):
    """A Slurm that says that it is asked too often."""

    def observe(self, ids: Collection[JobId]) -> Mapping[JobId, Observation]:
        found = super().observe(ids)
        if self.slurm:
            raise ThrottledError(Diagnostic(code="E507", message="asked too often"))
        return found


def test_a_rate_limited_backend_is_not_polled(tmp_path: Path, pass_time: Callable[[float], None]) -> None:
    """By persons, too, and without a word that could be read as an end."""
    backend = Throttling(observed("RUNNING"))
    backend.slurm = "throttles"

    def look() -> PollResult:
        return SharedPollResults(lambda: backend, tmp_path).ask({SEVEN}, (), 15)

    first, waits = look(), []
    assert (first.throttled, first.asked, first.error) == (True, frozenset(), "asked too often")
    for _ in range(6):
        queries, waited = backend.queries, 0
        while backend.queries == queries:
            pass_time(10)
            waited += 10
            assert not look().asked
        waits.append(waited)
    assert waits == [60, 120, 240, 480, 960, 960]
    backend.slurm = ""
    pass_time(961)
    assert look().observations
    assert json.loads((tmp_path / FILE).read_text())["throttled"] == 0


def test_only_one_of_many_processes_polls(tmp_path: Path, backend: FakeBackend) -> None:
    start = threading.Barrier(6)

    def ask(_: int) -> PollResult:
        start.wait()
        return SharedPollResults(lambda: backend, tmp_path).ask({SEVEN}, (), 15)

    with ThreadPoolExecutor(6) as pool:
        assert [SEVEN in each.observations for each in pool.map(ask, range(6))] == [True] * 6
    assert backend.queries == 1


def test_waiting_for_the_poll_of_another_process_times_out(
    tmp_path: Path, backend: FakeBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shared_results, "OTHER_SECONDS", 0.3)
    answers = SharedPollResults(lambda: backend, tmp_path)
    with SharedPollResults(lambda: backend, tmp_path)._lock.taken() as mine:
        assert mine
        assert answers.ask({SEVEN}, (), 15) == NOT_ASKED
    assert backend.queries == 0


@pytest.mark.parametrize("text", ["", "no JSON", "{}", '{"asked": 1}', '{"asked": [], "observations": [{}]}', "[]"])
def test_an_invalid_file_is_ignored(tmp_path: Path, backend: FakeBackend, text: str) -> None:
    (tmp_path / FILE).write_text(text)
    assert SharedPollResults(lambda: backend, tmp_path).ask({SEVEN}, (), 15).observations


def test_a_file_from_the_future_is_outdated(
    tmp_path: Path, backend: FakeBackend, pass_time: Callable[[float], None]
) -> None:
    SharedPollResults(lambda: backend, tmp_path).ask({SEVEN}, (), 15)
    pass_time(-3600)
    SharedPollResults(lambda: backend, tmp_path).ask({SEVEN}, (), 15)
    assert backend.queries == 2


def test_without_a_writable_folder_a_process_caches_its_own_result(tmp_path: Path, backend: FakeBackend) -> None:
    blocked = tmp_path / "monitor"
    blocked.write_text("")
    answers = SharedPollResults(lambda: backend, blocked)
    assert [SEVEN in answers.ask({SEVEN}, (), 15).observations for _ in range(3)] == [True] * 3
    assert backend.queries == 1


def test_an_observation_is_restored_unchanged(tmp_path: Path) -> None:
    seen = replace(observed("CANCELLED", final=True, raw_state="CANCELLED by 0", nodes="n[1-2]"), signal=9, started=5)
    backend = FakeBackend(seen)
    SharedPollResults(lambda: backend, tmp_path).ask({SEVEN}, (), 15)
    assert SharedPollResults(lambda: backend, tmp_path).ask({SEVEN}, (), 15).observations == {SEVEN: seen}


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(looks=st.lists(st.tuples(st.sampled_from([1, 5, 16, 40, 61]), st.sampled_from([15.0, 60.0])), max_size=25))
def test_any_number_of_processes_make_one_poll_per_interval(
    tmp_path_factory: pytest.TempPathFactory, pass_time: Callable[[float], None], looks: list[tuple[int, float]]
) -> None:
    """Each look is by a process of its own, after some seconds, which takes an answer that is so old at most."""
    folder, backend = tmp_path_factory.mktemp("home"), FakeBackend(observed("RUNNING"))
    now, last = 0.0, -1000.0
    for seconds, max_age in looks:
        now += seconds
        pass_time(seconds)
        before = backend.queries
        assert SharedPollResults(lambda: backend, folder).ask({SEVEN}, (), max_age).observations
        assert backend.queries - before == (now - last >= max_age)
        last = now if backend.queries > before else last
