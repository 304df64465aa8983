"""The ledger of bad nodes: what is read of it, and two processes that write at the same time."""

from __future__ import annotations

import multiprocessing
from pathlib import Path

import pytest

from paislurm.translator.state.bad_nodes import FILE, BadNode, add, bad_nodes
from paislurm.translator.state.history import avoided

EACH = 40


def bad(node: str, at: int = 1, cluster: str = "slurm", *, is_removed: bool = False) -> BadNode:
    return BadNode(happened_at=at, cluster=cluster, node=node, reason="slow", is_removed=is_removed)


def write(home: Path, name: str) -> None:
    for number in range(EACH):
        add(home, [bad(f"{name}{number % 10}", number)])


@pytest.mark.parametrize("long", [1 << 20, 3000])
def test_two_processes_lose_no_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, long: int) -> None:
    """Nor do they if both shorten the ledger several times."""
    monkeypatch.setattr("paislurm.translator.state.bad_nodes.LONG_BYTES", long)
    context = multiprocessing.get_context("fork")
    processes = [context.Process(target=write, args=(tmp_path, name)) for name in ("a", "b")]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert {(each.node, each.happened_at) for each in bad_nodes(tmp_path)} == {
        (f"{name}{n}", EACH - 10 + n) for name in ("a", "b") for n in range(10)
    }
    lines = len((tmp_path / FILE).read_bytes().splitlines())
    assert (lines == 2 * EACH) == (long > 3000)


def test_a_long_ledger_keeps_the_latest_nodes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("paislurm.translator.state.bad_nodes.LONG_BYTES", 0)
    monkeypatch.setattr("paislurm.translator.state.bad_nodes.MAX_NODES", 2)
    add(tmp_path, [])
    add(tmp_path, [bad("n1", 1), bad("n2", 2), bad("n3", 3), bad("n4", 4), bad("n4", 5, is_removed=True)])
    assert [each.node for each in bad_nodes(tmp_path)] == ["n3", "n2"]
    assert len((tmp_path / FILE).read_bytes().splitlines()) == 2
    assert [path.name for path in tmp_path.iterdir()] == [FILE]


def test_the_last_line_about_a_node_counts(tmp_path: Path) -> None:
    assert bad_nodes(tmp_path) == ()
    add(tmp_path, [bad("n1", 1), bad("n2", 2), bad("n1", 3), bad("n3", 4), bad("n3", 5, is_removed=True)])
    add(tmp_path, [bad("n1", 9, "far"), bad("n1", 9, "far")])
    assert [(each.cluster, each.node) for each in bad_nodes(tmp_path)] == [
        ("far", "n1"),
        ("slurm", "n1"),
        ("slurm", "n2"),
    ]
    assert [each.happened_at for each in bad_nodes(tmp_path, "slurm")] == [3, 2]


def test_invalid_and_torn_lines_are_ignored(tmp_path: Path) -> None:
    """Names that sbatch would misread are invalid."""
    (tmp_path / FILE).write_bytes(
        b'{"version": 1, "happened_at": 1, "cluster": "slurm", "node": "n[1-9]"}\n\n[]\n{"version": 2}\n{"version": 1, '
    )
    add(tmp_path, [bad("n2")])
    assert [each.node for each in bad_nodes(tmp_path)] == ["n2"]


def test_only_the_latest_nodes_of_some_age_are_avoided() -> None:
    nodes = [bad("n3", 90), bad("n2", 80), bad("n1", 10)]
    assert avoided(nodes, 100, 50, 1) == ("n3",)
    assert avoided(nodes, 100, 50, 9) == ("n3", "n2")
    assert avoided(nodes, 100, 50, 0) == ()
