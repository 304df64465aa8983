"""What the files of nodes say of addresses and ports: the last attempt of a task counts, nonsense does not."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from paislurm.translator.state.task_reports import MAX_PEER_LINE, MAX_PORT, Peer, apply_peers, read_peers

if TYPE_CHECKING:
    from pathlib import Path


def test_the_last_attempt_of_a_task_is_used(tmp_path: Path) -> None:
    (tmp_path / "n1.log").write_text(
        "peer 0 0 1 10.0.0.1 0 http:5000,5001 ssh:5002\nstart 0 0 0 1 n1 4 9\npeer 0 1 0 10.0.0.1 1 http:1\npeer 0 2 0",
        encoding="utf-8",
    )
    (tmp_path / "n2.log").write_text("peer 0 0 0 10.0.0.2 3 http:9\npeer 1 0 0 fe80::1 0\n", encoding="utf-8")
    assert read_peers(tmp_path) == {
        (0, 0): Peer("10.0.0.1", {"http": (5000, 5001), "ssh": (5002,)}, 0, 1),
        (0, 1): Peer("10.0.0.1", {"http": (1,)}, 1, 0),
        (1, 0): Peer("fe80::1", {}, 0, 0),
    }
    assert read_peers(tmp_path / "none") == {}


def test_addresses_that_ssh_reads_as_options_are_ignored(tmp_path: Path) -> None:
    words = ["-oProxyCommand=x", "10.0.0.1\x1b[31m", "a;b", "$(x)", "fe80::1%ib0", "::1", "node-1.site", "a" * 256]
    lines = [f"peer 0 {index} 0 {word} 0 http:5000" for index, word in enumerate(words)]
    (tmp_path / "n1.log").write_text("\n".join([*lines, ""]), encoding="utf-8")
    found = [peer.address for _, peer in sorted(read_peers(tmp_path).items())]
    assert found == ["", "", "", "", "fe80::1%ib0", "::1", "node-1.site", ""]


@given(st.lists(st.binary(max_size=60)))
def test_invalid_lines_give_no_invalid_ports(lines: list[bytes]) -> None:
    found: dict[tuple[int, int], Peer] = {}
    apply_peers(found, [b"peer 0 0 0 host 0 " + line for line in lines])
    ports = [port for peer in found.values() for numbers in peer.ports.values() for port in numbers]
    assert all(0 < port <= MAX_PORT for port in ports)
    before = dict(found)
    apply_peers(found, [b"start " + b" ".join(lines), b"peer 0 0 9 host 0 " + b"x" * MAX_PEER_LINE])
    assert {key: found[key] for key in before} == before
