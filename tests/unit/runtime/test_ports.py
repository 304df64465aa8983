"""Ports: OpenPAI's own worked values, and what happens where the hash leads to a port that is taken."""

from __future__ import annotations

import hashlib
import re
import socket
from pathlib import Path

import pytest

from ..written_files import write_programs
from .bash import lines_of as bash

FIRST_UID = "f1020521-9bda-11ea-830b-000d3ab25bb6"
WORKED = [
    (FIRST_UID, "tcp", (29877, 22353, 29076), (20000, 40000)),
    (FIRST_UID, "udp", (31903, 33486, 35953), (20000, 40000)),
    (FIRST_UID, "ssh", (39080,), (20000, 40000)),
    (FIRST_UID, "http", (30643,), (20000, 40000)),
    ("f102a4a7-9bda-11ea-830b-000d3ab25bb6", "mpi", (20966, 21891), (20000, 40000)),
    (FIRST_UID, "tcp", (24877, 32353, 39076), (15000, 40000)),
]
"""Source: openpai-runtime's own fixture: unique id, label, ports, and the range, of which the end is left out."""


def hashed(uid: str, label: str, number: int, first: int, end: int) -> int:
    """Return the port that OpenPAI's runtime computes."""
    digest = hashlib.md5(f"[{uid}][{label}][{number}]".encode(), usedforsecurity=False).hexdigest()
    return (int(digest[:12], 16) + int(digest[12:24], 16) + int(digest[24:], 16)) % (end - first) + first


@pytest.mark.parametrize(("uid", "label", "ports", "within"), WORKED)
def test_ports_match_the_reference_values(
    uid: str, label: str, ports: tuple[int, ...], within: tuple[int, int]
) -> None:
    texts = [f"[{uid}][{label}][{number}]" for number in range(len(ports))]
    digests = [hashlib.md5(text.encode(), usedforsecurity=False).hexdigest() for text in texts]
    code = f'PSL_FIRST_PORT={within[0]} PSL_LAST_PORT={within[1] - 1}; for d; do hash_port "$d"; echo "$PSL_PORT"; done'
    assert bash(code, *digests) == [str(port) for port in ports]
    assert tuple(hashed(uid, label, number, *within) for number in range(len(ports))) == ports


JOB = """
PSL_ROLE_NAME=(a b) PSL_PORT_COUNTS=('tcp:3 ssh:1 http:1' 'ssh:1 http:1') PORT_FIRSTS=() PSL_FIXED_PORTS=()
PSL_RUN_ID=77-0 PSL_NODE_FOLDER=$PWD
"""


def test_ports_of_tasks_are_hashed_by_run_role_index_and_attempt(tmp_path: Path) -> None:
    """A port that somebody listens on is passed over, and so is one that another task has."""
    busy = hashed("77-0-a-2-1", "tcp", 0, 15000, 40000)
    printed = "printf '%s\\n' \"${PSL_PORT_LINES[@]}\""
    code = f"read_listeners() {{ PSL_PORT_TAKEN[{busy}]=1; }}\n"
    code += f"{JOB} PSL_FIRST_PORT=15000 PSL_LAST_PORT=39999; assign_ports '0 2 1' '1 0 0' && {printed}"
    lines = [line.split() for line in bash(code, cwd=tmp_path)]
    found = [(role, index, *pair.split(":")) for role, index, *pairs in lines for pair in pairs]
    assert list(tmp_path.iterdir()) == []
    taken = {busy}
    for role, index, label, text in found:
        uid = f"77-0-{'ab'[int(role)]}-{index}-{1 if role == '0' else 0}"
        for number, port in enumerate(map(int, text.split(","))):
            wanted = hashed(uid, label, number, 15000, 40000)
            while wanted in taken:
                wanted = wanted + 1 if wanted < 39999 else 15000
            assert port == wanted
            taken.add(port)
    assert [(role, label) for role, _, label, _ in found] == [
        ("0", "tcp"), ("0", "ssh"), ("0", "http"), ("1", "ssh"), ("1", "http"),
    ]  # fmt: skip


def test_the_next_free_port_is_taken_around_the_end_of_the_range() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
        port = listener.getsockname()[1]
        udp.bind(("127.0.0.1", 0))
        bound = udp.getsockname()[1]
        code = f"""
            read_listeners
            PSL_FIRST_PORT={port} PSL_LAST_PORT={port + 1}
            PSL_PORT={port} && take_free_port && echo "$PSL_PORT"
            PSL_FIRST_PORT={port - 1} PSL_LAST_PORT={port}
            PSL_PORT={port} && take_free_port && echo "$PSL_PORT"
            echo "${{PSL_PORT_TAKEN[{bound}]-free}}"
        """
        assert bash(code) == [str(port + 1), str(port - 1), "1"]


def test_an_exhausted_port_range_is_reported() -> None:
    settings = "PSL_FIRST_PORT=20000 PSL_LAST_PORT=20001 PSL_PORT_TAKEN=([20000]=1 [20001]=1) PSL_PORT=20000"
    code = f"{settings}; take_free_port 2>&1; echo $?"
    assert bash(code) == ["paislurm: no free port from 20000 to 20001 on n1", "1"]


def test_one_md5sum_for_all_ports_of_a_node(tmp_path: Path) -> None:
    write_programs(tmp_path, {"md5sum": f'#!/bin/bash\necho call >>{tmp_path}/calls\nexec /usr/bin/md5sum "$@"\n'})
    requests = " ".join(f"'0 {index} 0'" for index in range(300))
    code = f'{JOB} PSL_FIRST_PORT=15000 PSL_LAST_PORT=39999; assign_ports {requests} && echo "${{PSL_PORT_LINES[@]}}"'
    (text,) = bash(code, path=f"{tmp_path}:/usr/bin:/bin", cwd=tmp_path)
    assert len(re.findall(r"[a-z]+:[0-9,]+", text)) == 900
    assert (tmp_path / "calls").read_text() == "call\n"


def test_a_long_list_of_ports_is_split_below_the_slurm_limit(tmp_path: Path) -> None:
    """Slurm cuts lines of more than 1024 bytes."""
    lists = {"http": "20000", "many": ",".join(str(port) for port in range(30000, 30400)), "ssh": "20001"}
    line = "1 7 " + " ".join(f"{label}:{ports}" for label, ports in lists.items())
    events = bash(f"PSL_REPORT_FD=1; report_ports '{line}'; report_ports '1 8 ssh:1'", cwd=tmp_path)
    assert max(map(len, events)) < 1024
    assert events[-1] == "ports 1 8 ssh:1"
    sent = "; ".join(f"is_event {event} && dispatch_event {event}" for event in events)
    printed = "; ".join(f'echo "${{PSL_PORTS_OF[1.7.{label}]}}"' for label in lists)
    assert bash(f"{sent}; {printed}", cwd=tmp_path) == list(lists.values())
