"""`remove` on a terminal and without one: what must be confirmed, and what is printed."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from unittest.mock import Mock

import pytest

from paislurm.translator.app.session import user_name
from paislurm.translator.plural import size_text
from paislurm.translator.state.folder_removal import room_taken
from paislurm.translator.state.job_folder import JobFolder

from ...app.jobs.test_remove import there
from ..running import Runner


def test_without_a_terminal_a_pattern_needs_yes(
    run: Runner, ended: Callable[..., JobFolder], surroundings: Path
) -> None:
    for name in ("a-1", "a-2", "b"):
        ended(name)
    for words in (["a-*"], ["--state", "succeeded"]):
        run("remove", *words).ends(2, "--yes")
    assert there(surroundings) == {"a-1", "a-2", "b"}
    assert run("remove", "a-*", "--yes").code == 0
    assert there(surroundings) == {"b"}


@pytest.mark.parametrize("by_name", [True, False])
def test_without_a_terminal_a_group_needs_yes_and_jobs_that_are_named_do_not(
    run: Runner, ended: Callable[..., JobFolder], surroundings: Path, *, by_name: bool
) -> None:
    for name in ("seed10", "seed2"):
        ended(name, group="sweep")
    ended("only", group="alone")
    for words in (["sweep"], ["seed2", "sweep"]):
        run("remove", *words).ends(2, "cannot ask to confirm the removal of 2 jobs: use --yes")
    assert there(surroundings) == {"seed10", "seed2", "only"}
    *rows, total = run("remove", "sweep", "--dry-run").out.splitlines()
    assert ([line.split()[2] for line in rows], "2 jobs" in total) == (
        [f"{user_name()}~seed2", f"{user_name()}~seed10"],
        True,
    )
    for words in (["alone"], ["seed10", f"{user_name()}~seed2"] if by_name else ["sweep", "--yes"]):
        assert run("remove", *words).code == 0
    assert there(surroundings) == set()


@pytest.mark.parametrize(("answer", "stays"), [("n", {"a", "b"}), ("y", set())])
def test_on_a_terminal_several_jobs_need_confirmation(
    run: Runner,
    ended: Callable[..., JobFolder],
    surroundings: Path,
    monkeypatch: pytest.MonkeyPatch,
    answer: str,
    stays: set[str],
) -> None:
    ended("a")
    ended("b")
    monkeypatch.setattr("paislurm.translator.cli.output.removal.is_terminal", lambda _: True)
    confirm = Mock(return_value=answer == "y")
    monkeypatch.setattr("click.confirm", confirm)
    run("remove", "a", "b")
    assert confirm.call_args.args == ("remove these 2 jobs?",)
    assert there(surroundings) == stays


def test_list_shows_and_sorts_by_the_size_of_folders(run: Runner, ended: Callable[..., JobFolder]) -> None:
    for name, size in (("large", 1 << 20), ("small", 1)):
        (ended(name).path / "data").write_bytes(b"x" * size)
    rows = [line.split() for line in run("list", "--columns", "name,size", "--sort", "-size").out.splitlines()]
    assert ([row[0] for row in rows], rows[1][-1]) == (["name", "large", "small"], "MiB")
    by_size = json.loads(run("list", "--sort", "-size", "--json").out)["jobs"]
    assert [job["size_bytes"] for job in by_size] == [room_taken(job["folder"]).size for job in by_size]
    assert [job["size_bytes"] for job in json.loads(run("list", "--json").out)["jobs"]] == [None, None]


def test_the_total_size_of_a_group_is_reported(
    run: Runner, ended: Callable[..., JobFolder], surroundings: Path
) -> None:
    ended("one")
    rooms = [room_taken(str(ended(f"train-{number}", group="train").path)) for number in range(3)]
    files, size = sum(room.inodes for room in rooms), size_text(sum(room.size for room in rooms))
    shown = run("remove", "train", "--dry-run").out.splitlines()
    assert shown[-1] == f"would remove 3 jobs of group train ({size}, {files} files)"
    assert len(json.loads(run("remove", "train", "--dry-run", "--json").out)["removed"]) == 3
    lines = run("remove", "train", "one", "--yes").out.splitlines()
    assert (len(lines), lines[-1]) == (5, f"removed 3 jobs of group train ({size}, {files} files)")
    assert there(surroundings) == set()
