"""What nodes read of their InfiniBand, and what the batch node says of a difference."""

from __future__ import annotations

from pathlib import Path

import pytest

from ..written_files import write_files
from .bash import lines_of as bash


def adapter(folder: Path, name: str = "mlx5_0", counters: str = "symbol_error=0 link_downed=3") -> None:
    files = {
        "state": "4: ACTIVE",
        "rate": "200 Gb/sec (4X HDR)",
        "link_layer": "InfiniBand",
        "../../fw_ver": "20.39.1002",
    }
    files |= {f"counters/{file}": value for file, value in (each.split("=") for each in counters.split())}
    port = folder / "class/infiniband" / name / "ports/1"
    write_files(port, {file: f"{text}\n" for file, text in files.items()})


def readings(folder: Path, code: str = "") -> list[str]:
    return bash(f"""
        PSL_SYSFS={folder}/class PSL_GPU_VENDOR=nvidia PSL_ROLE_GPUS=(4 4) PSL_NODES_OF=(n1 n2)
        PSL_INFINIBAND_CHECKS=('hca:mlx5_0 hca:mlx5_1:1' hca:mlx5_0) {code}
        print_infiniband_problems
    """)


def test_readings_of_a_node(tmp_path: Path) -> None:
    adapter(tmp_path)
    adapter(tmp_path, "mlx5_1", "symbol_error=x port_rcv_errors=12 link_error_recovery=0")
    (tmp_path / "module/nv_peer_mem").mkdir(parents=True)
    assert readings(tmp_path) == [
        "+ n1 mlx5_0:1 rate 200 Gb/s",
        "+ n1 mlx5_0:1 link InfiniBand",
        "+ n1 mlx5_0 firmware 20.39.1002",
        "+ n1 mlx5_0:1 link_downed 3",
        "+ n1 mlx5_1:1 rate 200 Gb/s",
        "+ n1 mlx5_1:1 link InfiniBand",
        "+ n1 mlx5_1 firmware 20.39.1002",
        "+ n1 mlx5_1:1 port_rcv_errors 12",
        "+ n1 nvidia_peermem module loaded",
        "+ n1 gdrdrv module missing",
    ]


@pytest.mark.parametrize("code", ["PSL_ROLE_GPUS=(0 4)", "PSL_GPU_VENDOR=amd", "PSL_INFINIBAND_CHECKS=(net:none)"])
def test_modules_are_read_where_gpus_use_infiniband(tmp_path: Path, code: str) -> None:
    """Only of NVIDIA, and only those of roles on this node."""
    adapter(tmp_path)
    assert not [line for line in readings(tmp_path, code) if " module " in line]


def warnings(folder: Path, lines: list[str]) -> list[str]:
    (folder / "fabric.0").write_text("".join(f"{line}\n" for line in lines))
    logged = bash(f"PSL_SCRATCH={folder}; compare_nodes 0 2>&1")
    assert all(line.startswith("paislurm: warning: ") for line in logged)
    return [line.removeprefix("paislurm: warning: ") for line in logged]


def of_nodes(reading: str, *values: str) -> list[str]:
    return [f"+ n{number} {reading} {value}" for number, value in enumerate(values, 1)]


FAST = ["200 Gb/s"] * 7


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (of_nodes("mlx5_1:1 rate", *FAST), []),
        (of_nodes("mlx5_1:1 rate", "100 Gb/s"), []),
        (
            of_nodes("mlx5_1:1 rate", *FAST[:2], "100 Gb/s", *FAST[2:]),
            ["node n3: mlx5_1 port 1 runs at 100 Gb/s; on the other 7 nodes 200 Gb/s"],
        ),
        (
            of_nodes("mlx5_1:1 link", "InfiniBand", "InfiniBand", "Ethernet"),
            ["node n3: mlx5_1 port 1 has the link layer Ethernet; on the other 2 nodes InfiniBand"],
        ),
        (
            of_nodes("mlx5_1 firmware", "1.2", "1.3", "1.2", "1.4", "1.2", "1.3", "1.2", "1.2"),
            [
                "nodes n2,n6: mlx5_1 has firmware 1.3; on the other 5 nodes 1.2",
                "node n4: mlx5_1 has firmware 1.4; on the other 5 nodes 1.2",
            ],
        ),
        (
            of_nodes("gdrdrv module", *["missing"] * 5, *["loaded"] * 6),
            ["nodes n1,n2,n3 and 2 more: the kernel module gdrdrv is missing; on the other 6 nodes loaded"],
        ),
        (of_nodes("gdrdrv module", "missing", "missing"), []),
        (
            of_nodes("mlx5_1:1 rate", "100 Gb/s", "200 Gb/s"),
            ["the nodes differ: mlx5_1 port 1 runs at 100 Gb/s on node n1, and 200 Gb/s on node n2"],
        ),
        (["n1 there is no InfiniBand adapter x", *of_nodes("mlx5_1:1 rate", "200 Gb/s")], []),
    ],
)
def test_what_most_nodes_do_not_have_is_a_warning(tmp_path: Path, lines: list[str], said: list[str]) -> None:
    assert warnings(tmp_path, lines) == said


RATES = of_nodes("mlx5_1:1 rate", *["200 Gb/s"] * 4)


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({4: 10}, ["node n4: mlx5_1 port 1 has counted 10 symbol_error; the median of the 4 nodes is 0"]),
        ({4: 9}, []),
        ({1: 2, 2: 3, 3: 4, 4: 30}, []),
        (
            {1: 2, 2: 3, 3: 4, 4: 31},
            ["node n4: mlx5_1 port 1 has counted 31 symbol_error; the median of the 4 nodes is 3"],
        ),
        ({1: 50, 2: 50, 3: 60, 4: 70}, []),
        (
            {1: 500, 4: 600},
            [
                "node n1: mlx5_1 port 1 has counted 500 symbol_error; the median of the 4 nodes is 0",
                "node n4: mlx5_1 port 1 has counted 600 symbol_error; the median of the 4 nodes is 0",
            ],
        ),
    ],
)
def test_a_counter_that_stands_out_is_a_warning(tmp_path: Path, values: dict[int, int], said: list[str]) -> None:
    """At least 10, and more than ten times the median; and so for each port and counter by itself."""
    lines = [f"+ n{node} mlx5_1:1 symbol_error {value}" for node, value in values.items()]
    more = [f"+ n{node} mlx5_1:1 link_downed 9" for node in range(1, 5)]
    assert warnings(tmp_path, [*RATES, *more, *lines]) == said


def test_counters_of_a_single_node_are_not_compared(tmp_path: Path) -> None:
    assert warnings(tmp_path, ["+ n1 mlx5_1:1 symbol_error 100000"]) == []


def test_hundreds_of_nodes_are_compared_at_once(tmp_path: Path) -> None:
    """Lines of 500 nodes with 8 adapters, where the timeout of the shell, a minute, is far away."""
    lines = [
        line
        for node in range(500)
        for port in range(8)
        for line in (
            f"+ n{node} mlx5_{port}:1 rate {100 if (node, port) == (7, 3) else 200} Gb/s",
            f"+ n{node} mlx5_{port}:1 link InfiniBand",
            f"+ n{node} mlx5_{port} firmware 20.39.1002",
            f"+ n{node} mlx5_{port}:1 link_downed {node % 5 + 1}",
        )
    ]
    assert warnings(tmp_path, lines) == ["node n7: mlx5_3 port 1 runs at 100 Gb/s; on the other 499 nodes 200 Gb/s"]
