"""Histories of the simulator keep the promises: nothing is lost, and nothing runs twice.

Two thousand are played here; `make simulation` plays more.

`python -m tests.simulation 100000` plays more; `--seed` tells the shortest story of one that breaks a promise.
"""

from __future__ import annotations

import os
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from paislurm.translator.state.journal import append
from paislurm.translator.state.journal_records import Cancelled, dump

from .files import Server
from .history import play
from .scenarios import begin_with_a_sweep, begin_with_losses
from .shrink import shrink
from .syscalls import ROOT, simulated
from .world import Choices, World

HISTORIES = int(os.environ.get("PAISLURM_HISTORIES", "2000"))
PARTS = 4


@pytest.mark.slow("2,000 histories")
@pytest.mark.parametrize("part", range(PARTS))
def test_no_history_breaks_a_promise(part: int) -> None:
    for seed in range(part, HISTORIES, PARTS):
        found = play(seed)
        if found.violation:
            told = play(given=shrink(found.choices, found.violation), telling=True)
            pytest.fail("\n".join([f"seed {seed}", *told.story, told.violation]))


@pytest.mark.slow("200 histories")
def test_no_history_breaks_a_promise_when_slurm_loses_jobs() -> None:
    for seed in range(HISTORIES // 10):
        assert play(seed, begin=begin_with_losses).violation == "", f"seed {seed} with `--losses`"


@pytest.mark.slow("200 histories")
def test_no_history_of_a_paced_sweep_breaks_a_promise() -> None:
    for seed in range(HISTORIES // 10):
        assert play(seed, begin=begin_with_a_sweep).violation == "", f"seed {seed} with `--sweep`"


def test_a_seed_and_its_choices_repeat_a_history() -> None:
    first = play(7, telling=True)
    assert first.story == play(7, telling=True).story == play(given=first.choices, telling=True).story


def test_another_process_plays_the_same_history() -> None:
    """Neither the order of sets, nor the process, nor what it played before changes a history."""
    program = "from tests.simulation.history import play; print([play(seed).choices for seed in range(20, 26)])"
    played = [
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONHASHSEED": seed, "COLUMNS": seed},
            cwd=Path(__file__).parents[2],
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        for seed in ("1", "2")
    ]
    assert played == [f"{[play(seed).choices for seed in range(20, 26)]}\n"] * 2


def test_histories_meet_many_situations() -> None:
    found = [play(seed) for seed in range(60)]
    assert len({each.operations for each in found}) > 5
    assert len({each.jobs for each in found}) > 3
    assert any(each.jobs > 4 for each in found)


def server(*, cached: bool) -> Server:
    return Server(World(Choices()), cached=cached)


def test_a_client_keeps_a_missing_name_until_it_lists_the_folder() -> None:
    shared = server(cached=True)
    one, other = shared.clients["one"], shared.clients["other"]
    with pytest.raises(FileNotFoundError):
        other.stat("/a")
    one.mkdir("/a", 0o700)
    with pytest.raises(FileNotFoundError):
        other.stat("/a")
    assert other.names("/") == ["a"]
    assert other.stat("/a").st_nlink == 1


@pytest.mark.parametrize(("hosts", "left"), [(("one", "other"), b"line 1\n"), (("one", "one"), b"line 0\nline 1\n")])
def test_two_clients_that_append_at_once_can_lose_a_line(hosts: tuple[str, str], left: bytes) -> None:
    shared = server(cached=True)
    clients = [shared.clients[name] for name in hosts]
    opened = [each.open("/log", os.O_WRONLY | os.O_APPEND | os.O_CREAT) for each in clients]
    for number, (each, descriptor) in enumerate(zip(clients, opened, strict=True)):
        each.write(descriptor, f"line {number}\n".encode())
    for each, descriptor in zip(clients, opened, strict=True):
        each.sync(descriptor)
    log = shared.find("/log")
    assert log is not None
    assert log.data == left


def test_two_hosts_that_append_records_at_once_lose_none() -> None:
    for seed in range(200):
        world = World(Choices(seed))
        shared = Server(world, cached=True)
        record = Cancelled(happened_at=1, attempt=0, user="alice")
        with simulated(world, shared) as calls:
            calls.client.mkdir(ROOT, 0o700)
            for host in ("one", "other"):
                world.spawn(host, host, partial(append, Path(ROOT, "journal.jsonl"), record))
            world.run()
        found = shared.find(f"{ROOT}/journal.jsonl")
        assert found is not None
        assert found.data == dump(record) * 2
