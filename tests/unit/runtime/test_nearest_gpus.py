"""Which GPUs of a node a task takes: those nearest to its CPUs, on the machines that people have."""

from __future__ import annotations

from pathlib import Path

import pytest

from .bash import lines_of as bash
from .machines import MACHINES, Machine, write_sysfs

ORDERS = {
    "LUMI-G": "4,5,2,3,6,7,0,1",
    "Perlmutter": "3,2,1,0",
    "DGX A100": "3,2,1,0,7,6,5,4",
    "JUWELS Booster": "1,0,3,2",
    "DGX H100": "0,1,2,3,4,5,6,7",
    "GH200": "0,1,2,3",
}
"""The GPUs of a machine by domain."""


def mask(first: int, count: int) -> str:
    """Return the mask of some CPUs, as wide as Slurm writes it."""
    return f"0x{((1 << count) - 1) << first:096X}"


def taken(folder: Path, machine: Machine, masks: list[str], code: str = "", *, want: int = 1) -> list[str]:
    """Return what each task of a node prints of its GPUs, after the lines of the log."""
    name = "ROCR_VISIBLE_DEVICES" if machine.vendor == "amd" else "CUDA_VISIBLE_DEVICES"
    every = ",".join(map(str, range(len(machine.gpus))))
    nodes = " ".join(["n1"] * len(masks))
    return bash(f"""
        PSL_SYSFS={write_sysfs(folder, machine)} PSL_GPU_VENDOR={machine.vendor} PSL_ROLE_GPUS=({want})
        PSL_NODES_OF=('n0 {nodes} n2') PSL_CPU_MASKS={",".join(masks)}
        {"" if "read_cpu_list" in code else "note_far_gpus() { :; }"}
        {code}
        nodes_of 0
        for ((PSL_SLOT = 1; PSL_SLOT < ${{#PSL_NODES[@]}} - 1; PSL_SLOT++)); do
          {name}=${{LIST-{every}}}
          PSL_MISMATCHES=''
          take_devices 0 2>&1
          printf '%s' "$PSL_MISMATCHES"
          echo "${name} $NVIDIA_VISIBLE_DEVICES ${{CUDA_DEVICE_ORDER-}}"
        done
    """)


def lists(lines: list[str]) -> str:
    return ",".join(line.split(" ")[0] for line in lines)


@pytest.mark.parametrize("name", ORDERS)
def test_tasks_side_by_side(tmp_path: Path, name: str) -> None:
    """One task for each GPU, with an equal share of the CPUs, in the order of CPUs."""
    machine = MACHINES[name]
    count = len(machine.gpus)
    share = machine.cpus // count
    found = taken(tmp_path, machine, [mask(task * share, share) for task in range(count)])
    assert lists(found) == ORDERS[name]
    order = "" if machine.vendor == "amd" else "PCI_BUS_ID"
    assert {tuple(line.split(" ")[1:]) for line in found} == {(number, order) for number in ORDERS[name].split(",")}


@pytest.mark.parametrize("name", ["DGX A100", "DGX H100"])
def test_tasks_in_turns_over_two_sockets(tmp_path: Path, name: str) -> None:
    """So Slurm distributes CPUs to the tasks of a host file: task 1 is in the other socket."""
    machine = MACHINES[name]
    share = machine.cpus // 8
    firsts = [(task % 2 * 4 + task // 2) * share for task in range(8)]
    found = lists(taken(tmp_path, machine, [mask(first, share) for first in firsts])).split(",")
    order = ORDERS[name].split(",")
    assert found == [order[first // share] for first in firsts]


def test_two_gpus_a_task(tmp_path: Path) -> None:
    machine = MACHINES["LUMI-G"]
    found = taken(tmp_path, machine, [mask(16 * domain, 7) for domain in (3, 0, 2, 1)], want=2)
    assert [line.split(" ")[0] for line in found] == ["0,1", "4,5", "6,7", "2,3"]


@pytest.mark.parametrize(
    ("domains", "given"),
    [
        ((0, 1, 2, 3), "3,2,1,0"),
        ((0, 0, 1, 2), "3,0,2,1"),  # a task of another domain's CPUs takes what is left: dealt out, it moved two more
        ((3, 3, 3, 0), "0,1,2,3"),
        ((1, 3, 1, 3), "2,0,3,1"),
    ],
)
def test_a_task_has_the_gpu_of_its_own_domain_if_it_is_free(
    tmp_path: Path, domains: tuple[int, ...], given: str
) -> None:
    """Nodes with four domains per socket (NPS4) have a GPU in each; here GPU 3 is in domain 0."""
    machine = MACHINES["Perlmutter"]
    share = machine.cpus // 4
    masks = [mask(domain * share + 8 * domains[:task].count(domain), 8) for task, domain in enumerate(domains)]
    assert lists(taken(tmp_path, machine, masks)) == given


def test_several_ranks_of_a_task_have_masks_of_their_own(tmp_path: Path) -> None:
    masks = [mask(first, 8) for first in (112, 120, 0, 8)]
    found = taken(tmp_path, MACHINES["DGX A100"], masks, "PSL_RANKS_OF=(2) PSL_NODES_OF=('n0 n1 n1 n2')", want=4)
    assert [line.split(" ")[0] for line in found] == ["4,5,6,7", "2,3,0,1"]


PLAIN = [mask(0, 8), mask(8, 8), mask(16, 8), mask(24, 8)]


@pytest.mark.parametrize(
    ("code", "masks"),
    [
        ("", [""] * 4),
        ("", [*PLAIN[:3], "5"]),
        ("PSL_CPU_MASKS=0x1,0x2", PLAIN),
        ("echo -1 >${PSL_SYSFS%/*}/bus/pci/drivers/nvidia/0000:08:00.0/numa_node", PLAIN),
        ("rm -r ${PSL_SYSFS%/*}/bus/pci/drivers/nvidia/0000:08:00.0/numa_node", PLAIN),
        ("rm -r ${PSL_SYSFS%/*}/bus/pci/drivers/nvidia/0000:08:00.0", PLAIN),
        ("rm -r ${PSL_SYSFS%/*}/devices/system/cpu/cpu8", PLAIN),
        ("LIST=GPU-0,GPU-1,GPU-2,GPU-3", PLAIN),
        ("LIST=0,1,2,4", PLAIN),
        ("PSL_SYSFS=/no/such/class", PLAIN),
        ("export CUDA_DEVICE_ORDER=FASTEST_FIRST", PLAIN),
    ],
)
def test_where_something_is_unknown_the_list_stays(tmp_path: Path, code: str, masks: list[str]) -> None:
    listed = code.removeprefix("LIST=") if "LIST=" in code else "0,1,2,3"
    assert lists(taken(tmp_path, MACHINES["Perlmutter"], masks, code)) == listed


def test_gpus_that_slurm_divides_stay(tmp_path: Path) -> None:
    """Each task sees what Slurm lists, be it one GPU or all that are near."""
    found = taken(tmp_path, MACHINES["DGX H100"], [mask(0, 8), mask(56, 8)], "PSL_BINDING=(gpu) LIST=4,5,6,7")
    assert [line.split(" ")[0] for line in found] == ["4,5,6,7", "4,5,6,7"]


FAR = "this task runs on CPUs 0-15 of n1, in NUMA domain 0, but its GPU {} is in NUMA domain {}"


@pytest.mark.parametrize(
    ("name", "cpus", "said"),
    [
        ("Perlmutter", "0-15", ["", FAR.format(2, 1), FAR.format(1, 2), FAR.format(0, 3)]),
        ("Perlmutter", "0-63", [""] * 4),
        ("JUWELS Booster", "0-5", [""] * 4),
    ],
)
def test_a_task_far_from_its_gpus_says_so(tmp_path: Path, name: str, cpus: str, said: list[str]) -> None:
    """Only if another GPU of the node is nearer: half of JUWELS Booster's domains have none."""
    machine = MACHINES[name]
    code = f"read_cpu_list() {{ PSL_CPU_LIST={cpus}; }}"
    share = machine.cpus // 4
    lines = taken(tmp_path, machine, [mask(task * share, share) for task in range(4)], code)
    assert [line for line in lines if line.startswith("this task")] == [line for line in said if line]
    assert lists([line for line in lines if not line.startswith("this task")]) == ORDERS[name]


def test_the_cpus_of_a_task() -> None:
    code = 'read_cpu_list; grep -q "^Cpus_allowed_list:.$PSL_CPU_LIST$" /proc/self/status && echo same'
    assert bash(code) == ["same"]


@pytest.mark.parametrize(
    ("settings", "threads"),
    [
        ("", "8"),
        ("PSL_RANKS_OF=(3)", "2"),
        ("export OMP_NUM_THREADS=3", "3"),
        ("PSL_BINDING=(none)", "unset"),
        ("PSL_BINDING=(gpu)", "8"),
    ],
)
def test_threads_of_a_task(settings: str, threads: str) -> None:
    code = f"""
        PSL_ATTEMPT_FOLDER=/f PSL_RUN_ID=r PSL_ROLE_FOLDER=(0-w) PSL_PORT_COUNTS=('') PSL_ROLE=0 PSL_SLOT=0
        PSL_ROLE_ALIASES=('') PSL_NODE_FOLDER=/n PSL_ADDRESS_OF[n1]=a PSL_PORTS_OF=([0.0.http]=1 [0.0.ssh]=2) PSL_GANG=1
        environment_of_role_0() {{ export PAI_TASK_CPU_NUM=8; }}
        {settings}
        export_task_environment 0 0 0
        printenv OMP_NUM_THREADS || echo unset
    """
    assert bash(code) == [threads]
