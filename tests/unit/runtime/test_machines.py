"""One task for each GPU, on the machines that people have: which GPU, adapters and CPUs each gets."""

from __future__ import annotations

from pathlib import Path

import pytest

from .bash import lines_of as bash
from .machines import MACHINES, Machine, masks_by_cores, write_sysfs


def ranks(folder: Path, machine: Machine, masks: list[str], code: str = "", devices: str = "") -> list[list[str]]:
    """Run the runtime of each task; return the GPU, the open siblings, the adapters and what it says of its binding."""
    name = "ROCR_VISIBLE_DEVICES" if machine.vendor == "amd" else "CUDA_VISIBLE_DEVICES"
    every = devices or ",".join(map(str, range(len(machine.gpus))))
    listed = " ".join(f"hca:{adapter}" for adapter in machine.adapters)
    lines = bash(f"""
        PSL_SYSFS={write_sysfs(folder, machine)} PSL_GPU_VENDOR={machine.vendor} PSL_RANK=0 PSL_GID_INDEX=
        PSL_ROLE_GPUS=({1 if machine.gpus else 0}) PSL_BINDING=() PSL_NODES_OF=("{" ".join(["n1"] * len(masks))}")
        PSL_CPU_MASKS={",".join(masks)} PSL_INFINIBAND_CHECKS=('{listed}') NCCL_IB_HCA={",".join(machine.adapters)}
        SLURM_CPUS_PER_TASK={machine.cpus // len(masks)}
        read_cpu_list() {{ PSL_CPU_LIST=${{LISTS[PSL_SLOT]}}; }}
        LISTS=({" ".join(cpu_list(mask) for mask in masks)})
        {code}
        for ((PSL_SLOT = 0; PSL_SLOT < {len(masks)}; PSL_SLOT++)); do
          SLURM_LOCALID=$PSL_SLOT {name}={every}
          take_devices 0
          note_far_adapters 0
          said=$(check_binding 0 2>&1)
          choose_gid 0
          name_adapters_exactly
          echo "${{{name}-}}|$NVIDIA_VISIBLE_DEVICES|$NCCL_IB_HCA|${{NCCL_IB_GID_INDEX-}}|$said"
          PSL_MISMATCHES=
        done
    """)
    return [line.split("|") for line in lines]


def cpu_list(mask: str) -> str:
    """Return the CPUs of a mask as the kernel lists them."""
    cpus = [bit for bit in range(int(mask, 16).bit_length()) if int(mask, 16) >> bit & 1]
    starts = [cpu for cpu in cpus if cpu - 1 not in cpus]
    ends = [cpu for cpu in cpus if cpu + 1 not in cpus]
    return ",".join(f"{start}-{end}" for start, end in zip(starts, ends, strict=True))


WITH_GPUS = [name for name, machine in MACHINES.items() if machine.gpus]


@pytest.mark.parametrize("name", WITH_GPUS)
def test_a_task_for_each_gpu(tmp_path: Path, name: str) -> None:
    """Its GPU is in the domain of its CPUs if that has one; no GPU has two tasks; all have the same adapters."""
    machine = MACHINES[name]
    count = len(machine.gpus)
    found = ranks(tmp_path, machine, masks_by_cores(machine, count))
    gpus = [int(line[0]) for line in found]
    assert sorted(gpus) == list(range(count))
    share = machine.cpus // count
    for task, gpu in enumerate(gpus):
        domains = {core // machine.cores for core in range(task * share, (task + 1) * share)}
        if domains & set(machine.gpus):
            assert machine.gpus[gpu] in domains, (task, gpu)
    # NCCL and UCX read no order from the list: they find the nearest adapter by themselves.
    adapters = ",".join(machine.adapters)
    assert [line[1:] for line in found] == [[str(gpu), adapters, "", ""] for gpu in gpus]


@pytest.mark.parametrize("name", WITH_GPUS)
def test_an_adapter_that_is_left_out_is_missed_where_it_is_the_nearest(tmp_path: Path, name: str) -> None:
    """The profile has only the first one: tasks with GPUs by the others say so, and no others do."""
    machine = MACHINES[name]
    first, near = next(iter(machine.adapters.items()))
    count = len(machine.gpus)
    code = f"PSL_INFINIBAND_CHECKS=(hca:{first})"
    found = ranks(tmp_path, machine, masks_by_cores(machine, count), code)
    for line in found:
        domain = machine.gpus[int(line[0])]
        misses = domain != near and domain in machine.adapters.values()
        assert ("but no adapter of the site profile is" in line[4]) is misses, line


def test_tasks_without_gpus_hide_all(tmp_path: Path) -> None:
    """On a node without GPUs nothing is divided, and nothing is said."""
    machine = MACHINES["EPYC"]
    found = ranks(tmp_path, machine, masks_by_cores(machine, 8))
    assert found == [["", "none", "mlx5_0", "", ""]] * 8


def test_parts_of_gpus_keep_the_order_of_the_list(tmp_path: Path) -> None:
    """MIG on A100: CUDA names instances by UUID, of which sysfs has no domain. Source: NVIDIA MIG user guide."""
    machine = MACHINES["DGX A100"]
    parts = [f"MIG-{number}" for number in range(8)]
    found = ranks(tmp_path, machine, masks_by_cores(machine, 8), devices=",".join(parts))
    assert [line[0] for line in found] == parts
    assert {line[4] for line in found} == {""}


@pytest.mark.parametrize("name", WITH_GPUS)
def test_tasks_that_all_run_in_the_first_domain(tmp_path: Path, name: str) -> None:
    """Each GPU has one task; those whose GPU is in another domain say so, if another GPU is nearer."""
    machine = MACHINES[name]
    count = len(machine.gpus)
    share = max(1, machine.cores // count)
    masks = [f"0x{((1 << share) - 1) << (task * share % machine.cores):096X}" for task in range(count)]
    found = ranks(tmp_path, machine, masks, f"SLURM_CPUS_PER_TASK={share}")
    assert sorted(int(line[0]) for line in found) == list(range(count))
    far = [line for line in found if "but its GPU" in line[4]]
    away = [gpu for gpu in machine.gpus if gpu != 0]
    assert len(far) == (len(away) if 0 in machine.gpus else 0)
