"""Which slot an ssh goes to, by whatever name it has for a task."""

from __future__ import annotations

from pathlib import Path

import pytest

from .bash import run

JOB = """
PSL_ROLE_NAME=(w) PSL_ROLE_ALIASES=('w') PSL_ROLE_FOLDER=(0-w) PSL_INSTANCES=(4) PSL_NODES_OF=('n1 n2')
PSL_PORT_COUNTS=('http:1 ssh:1')
PSL_ATTEMPT_FOLDER=$PWD
PSL_ADDRESS_OF=([n1]=10.0.0.1 [n2]=10.0.0.2) PSL_GANG=0
! find_task "$1" "$2" || echo "$PSL_FOUND_ROLE.$PSL_FOUND_SLOT"
"""


@pytest.mark.parametrize(
    ("host", "port", "slot"),
    [
        ("w-2", "", "0.0"),
        ("W-1", "", "0.1"),
        ("10.0.0.1", "102", "0.0"),
        ("n1", "102", "0.0"),
        ("10.0.0.2", "101", "0.1"),
        ("n2", "", "0.1"),
        ("n2", "22", "0.1"),
        ("10.0.0.2", "102", ""),
        ("10.0.0.2", "103", ""),
        ("n3", "", ""),
    ],
)
def test_without_gang_allocation_tasks_take_turns_in_slots(tmp_path: Path, host: str, port: str, slot: str) -> None:
    """Task 2 is in slot 0, which task 0 has left; task 3 has not begun."""
    (tmp_path / "tasks").mkdir()
    # Task 1 began on the other node the first time.
    for node, index, attempt, place in ((1, 0, 0, 0), (1, 1, 0, 0), (2, 1, 1, 1), (1, 2, 0, 0)):
        line = f"peer 0 {index} {attempt} 10.0.0.{node} {place} http:9 ssh:{100 + index}\n"
        with (tmp_path / f"tasks/n{node}.log").open("a") as file:
            file.write("start 0 0 0 0 n1 0 1\n" + line)
    assert run(f"cd {tmp_path}\n{JOB}", host, port).strip() == slot


@pytest.mark.parametrize(("port", "slot"), [("100", "0.0"), ("102", "0.2"), ("101", ""), ("999", ""), ("", "0.2")])
@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "::1"])
def test_localhost_with_a_port_finds_the_task_on_this_node(tmp_path: Path, host: str, port: str, slot: str) -> None:
    """Task 2 asks, on n1, where task 0 is too."""
    ports = "".join(f"PAI_PORT_LIST_w_{index}_ssh={100 + index}\n" for index in range(4))
    (tmp_path / "peers.sh").write_text(ports)
    me = "SLURMD_NODENAME=n1 PAI_CURRENT_TASK_ROLE_NAME=w PAI_CURRENT_TASK_ROLE_CURRENT_TASK_INDEX=2"
    code = JOB.replace("PSL_GANG=0", "PSL_GANG=1").replace("'n1 n2'", "'n1 n2 n1 n2'")
    assert run(f"cd {tmp_path}\n{me}\n{code}", host, port).strip() == slot


@pytest.mark.parametrize(
    ("words", "port"),
    [
        (["-p", "7", "host"], "7"),
        (["-oPort=7", "host"], "7"),
        (["-o", "Port 7", "host"], "7"),
        (["-o", 'port="7"', "host"], "7"),
        (["-p", "7", "-o", "Port=8", "host"], "7"),
        (["-o", "Port=8", "host", "-p", "7"], "8"),
        (["-o", "PortX=8", "host"], ""),
        (["-o", "ConnectTimeout=5", "host"], ""),
    ],
)
def test_the_port_of_ssh_is_its_first(words: list[str], port: str) -> None:
    assert run('read_ssh_arguments "$@"; printf %s "$PSL_SSH_PORT"', *words) == port


@pytest.mark.parametrize(("host", "port", "slot"), [("n2", "101", "0.1"), ("n1", "101", ""), ("w-1", "9", "0.1")])
def test_with_gang_allocation_a_slot_is_a_task(tmp_path: Path, host: str, port: str, slot: str) -> None:
    (tmp_path / "peers.sh").write_text("PAI_PORT_LIST_w_0_ssh=100\nPAI_PORT_LIST_w_1_ssh=101\n")
    code = JOB.replace("PSL_GANG=0", "PSL_GANG=1").replace("PSL_INSTANCES=(4)", "PSL_INSTANCES=(2)")
    assert run(f"cd {tmp_path}\n{code}", host, port).strip() == slot
