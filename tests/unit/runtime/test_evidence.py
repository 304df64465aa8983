"""What a node knows about a failed task, from files that the tests lay out."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from ..written_files import write_files, write_programs
from .bash import run
from .test_compare_nodes import adapter

PRINT = """
cd "$1"; PSL_PROC=$1/proc PSL_SYSFS=$1/class PSL_NODE_FOLDER=$1/node PSL_ATTEMPT_FOLDER=$1 SLURMD_NODENAME=n1
PSL_GPU_VENDOR=nvidia PSL_ROLE_GPUS=(0) PSL_NODES_OF=(n1) PSL_INFINIBAND_CHECKS=(hca:mlx5_0)
read_uptime() { PSL_UPTIME=5000000; }
"""


def evidence(folder: Path, code: str = 'print_evidence "$(($(date +%s) - 100))"') -> list[str]:
    """Return the findings about a task that started 100 s ago, 4900 s after its node."""
    (folder / "node").mkdir(exist_ok=True)
    (folder / "proc/self").mkdir(parents=True, exist_ok=True)
    for name in ("cgroup", "mountinfo"):
        (folder / "proc/self" / name).touch()
    found = run(PRINT + code, str(folder), env={"PATH": f"{folder}:/usr/bin:/bin"}).splitlines()
    return [line for line in found if line != "0"]


def program(folder: Path, name: str, said: str) -> None:
    """Put a stand-in for a program of the node in place."""
    write_programs(folder, {name: f"#!/bin/sh\ncat <<'END'\n{said}END\n"})


def cgroup(folder: Path, version: int, kills: int) -> None:
    """Lay out a task's memory cgroup with this number of kills, as /proc shows it."""
    path = "slurm/job_7/step_0/user/task_0"
    name, peak, prefix, kind, options = (
        ("memory.events", "memory.peak", "0::", "cgroup2 none rw", "")
        if version == 2
        else ("memory.oom_control", "memory.max_usage_in_bytes", "4:memory:", "cgroup none rw,memory", "")
    )
    files = {
        f"cgroup/{path}/{name}": f"low 0\noom_kill {kills}\noom_group_kill 0\n{options}",
        f"cgroup/{path}/{peak}": f"{498 << 20}\n",
        "proc/self/cgroup": f"{prefix}/{path}\n",
        "proc/self/mountinfo": f"30 25 0:26 / {folder}/cgroup rw - {kind}\n",
    }
    write_files(folder, files)


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize(("kills", "status", "code"), [(0, 137, "137"), (2, 137, "-1200"), (2, 1, "255")])
def test_the_cgroup_counts_kills_for_memory(tmp_path: Path, version: int, kills: int, status: int, code: str) -> None:
    """The kernel may kill a child, and its parent exits with a status of its own."""
    cgroup(tmp_path, version, kills)
    assert evidence(tmp_path) == ([str(kills), "the memory of this task reached 498 MiB"] if kills else [])
    assert evidence(tmp_path, f"print_exit {status} 0 /dev/null /dev/null")[0].split()[0] == code


def test_errors_of_devices_since_the_start_are_printed(tmp_path: Path) -> None:
    program(
        tmp_path,
        "dmesg",
        "[ 4800.100000] NVRM: Xid (PCI:0000:3b:00): 31, before the start\n"
        "[ 4950.100000] usb 1-1: new device\n"
        "[ 4950.200000] NVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen off the bus.\n"
        "[ 4951.200000] blk_update_request: I/O error, dev sda, sector \x07 1\n"
        "[ 4952.200000] mlx5_core 0000:3b:00.0: Port: 1 Link DOWN\n",
    )
    for name, when in (("sda1", time.time() - 50), ("sdb1", time.time() - 5000), ("sdc1", 0)):
        (tmp_path / "fs/ext4" / name).mkdir(parents=True)
        (tmp_path / "fs/ext4" / name / "last_error_time").write_text(f"{int(when)}\n")
    assert evidence(tmp_path) == [
        "kernel: NVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen off the bus.",
        "kernel: blk_update_request: I/O error, dev sda, sector ? 1",
        "kernel: mlx5_core 0000:3b:00.0: Port: 1 Link DOWN",
        "the file system on sda1 had an error",
    ]


def test_a_memory_error_of_a_gpu_is_printed(tmp_path: Path) -> None:
    program(tmp_path, "nvidia-smi", "Volatile\n  DRAM Uncorrectable : 2\nAggregate\n")
    assert evidence(tmp_path) == ["a GPU has an uncorrectable memory error (ECC)"]


def test_changes_of_infiniband_since_the_node_check_are_printed(tmp_path: Path) -> None:
    adapter(tmp_path)
    (tmp_path / "srun").mkdir()
    log = tmp_path / "srun/infiniband.log"
    log.write_text("\n".join(evidence(tmp_path, "print_infiniband_problems")) + "\n")
    assert evidence(tmp_path) == []
    port = tmp_path / "class/infiniband/mlx5_0/ports/1"
    write_files(port, {"counters/link_downed": "4\n", "counters/symbol_error": "17\n"})
    write_files(port, {"rate": "100 Gb/sec (4X EDR)\n", "state": "1: DOWN\n"})
    assert evidence(tmp_path, "print_changed_readings") == [
        "port 1 of the InfiniBand adapter mlx5_0 is not active but DOWN"
    ]
    (port / "state").write_text("4: ACTIVE\n")
    assert evidence(tmp_path, "print_changed_readings") == [
        "InfiniBand mlx5_0:1: rate 100 Gb/s, 200 Gb/s at the start",
        "InfiniBand mlx5_0:1: symbol_error 17, 0 at the start",
        "InfiniBand mlx5_0:1: link_downed 4, 3 at the start",
    ]


def test_a_node_that_tells_nothing_leaves_no_evidence(tmp_path: Path) -> None:
    """Users may not read the kernel's messages; of tasks that fail at once, the first one reads the node's."""
    write_programs(tmp_path, {"dmesg": "#!/bin/sh\necho 'dmesg: read kernel buffer failed' >&2\nexit 1\n"})
    assert evidence(tmp_path) == []
    program(tmp_path, "dmesg", "[ 4950.2] nvme0: I/O timeout\n")
    twice = "read_clock() { PSL_NOW=1000; }\nprint_evidence 900 && print_evidence 900"
    assert evidence(tmp_path, twice) == ["kernel: nvme0: I/O timeout"]


def test_no_mark_is_left_in_a_folder_that_is_not_ours(tmp_path: Path) -> None:
    """Any user can take the name of the node folder."""
    program(tmp_path, "dmesg", "[ 4950.2] nvme0: I/O timeout\n")
    (tmp_path / "theirs").mkdir()
    (tmp_path / "taken").symlink_to("theirs")
    assert evidence(tmp_path, "PSL_NODE_FOLDER=$1/taken; print_evidence 900") == []
    assert not list((tmp_path / "theirs").iterdir())


def test_the_result_contains_the_evidence() -> None:
    """Only that of the last attempt of a task."""
    code = """
        PSL_GANG=1 PSL_ROLE_NAME=(w)
        dispatch_lines 'evidence 0 0 0 early' 'start 0 0 0 1 n1 1 1' 'exit 0 0 0 1 3 255 unknown 1 0' \
          'kills 0 0 0 7' 'evidence 0 0 0 old' 'kills 0 0 1 2' 'evidence 0 0 1 kernel: "a\\b"' 'kills 0 0 1 x' \
          'evidence 0 0 1 x[$0]' 'evidence 0' 'evidence a 0 1 c'
        print_task_result 0 0 w
    """
    found = json.loads(run(code))
    assert (found["memory_kills"], found["evidence"]) == (2, ['kernel: "a\\b"', "x[$0]"])
