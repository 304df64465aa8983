"""The ledger of bad nodes: what is read of it, and two processes that write at the same time."""

from __future__ import annotations

import multiprocessing
from typing import TYPE_CHECKING

from paislurm.translator.state.bad_nodes import FILE, BadNode, add, avoided, bad_nodes

if TYPE_CHECKING:
    from pathlib import Path

EACH = 40


def bad(node: str, at: int = 1, cluster: str = "slurm", *, is_removed: bool = False) -> BadNode:
    return BadNode(happened_at=at, cluster=cluster, node=node, reason="slow", is_removed=is_removed)


def write(home: Path, name: str) -> None:
    for number in range(EACH):
        add(home, [bad(f"{name}{number}", number)])


def test_two_processes_lose_no_line(tmp_path: Path) -> None:
    context = multiprocessing.get_context("fork")
    processes = [context.Process(target=write, args=(tmp_path, name)) for name in ("a", "b")]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert {each.node for each in bad_nodes(tmp_path)} == {f"{name}{n}" for name in ("a", "b") for n in range(EACH)}


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
