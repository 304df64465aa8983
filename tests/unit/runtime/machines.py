"""Recorded machines: where the GPUs, the adapters and the CPUs of a node are, from what is published of each.

A domain is a NUMA domain with CPUs. `adapters` are those that take part in communication between nodes; other network
cards of a machine (storage, management) are left out. Where a source gives the GPUs but not the adapters, the comment
says what the adapters rest on.
"""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct

from ..written_files import write_files


class Machine(Struct, frozen=True):
    """A node: domains of GPUs and adapters by number, and what each domain has of CPUs."""

    gpus: tuple[int, ...]
    adapters: dict[str, int]
    domains: int
    cores: int
    """The cores of each domain."""
    threads: int = 2
    """The threads of a core; the second ones have numbers behind all first ones."""
    vendor: str = "nvidia"

    @property
    def cpus(self) -> int:
        """The number of cores of the node, which is that of the CPUs with a first thread."""
        return self.domains * self.cores


def _named(*domains: int, prefix: str = "mlx5_") -> dict[str, int]:
    return {f"{prefix}{number}": domain for number, domain in enumerate(domains)}


MACHINES = {
    # `nvidia-smi topo -m` and NCCL's topology in NVIDIA/nccl#1505; mlx5_4, 5, 10 and 11 are for storage.
    "DGX A100": Machine(
        (3, 3, 1, 1, 7, 7, 5, 5),
        {
            f"mlx5_{number}": domain
            for number, domain in zip((0, 1, 2, 3, 6, 7, 8, 9), (3, 3, 1, 1, 7, 7, 5, 5), strict=True)
        },
        8,
        16,
    ),
    # `nvidia-smi topo -m` in NVIDIA/nccl#1264: a ConnectX-7 beside each GPU; mlx5_3 and mlx5_4 are others.
    "DGX H100": Machine(
        (0, 0, 0, 0, 1, 1, 1, 1),
        {
            f"mlx5_{number}": domain
            for number, domain in zip((0, 1, 2, 5, 6, 7, 8, 9), (0, 0, 0, 0, 1, 1, 1, 1), strict=True)
        },
        2,
        56,
    ),
    # No matrix that names H200 was found: one of an HGX board of its generation, in NVIDIA/nccl#2150.
    "HGX H200": Machine((0, 0, 0, 0, 1, 1, 1, 1), _named(0, 0, 0, 0, 1, 1, 1, 1), 2, 64),
    # CPUs and GPUs: ishandhanani/srt-slurm#164 and `nvidia-smi topo -m` in sgl-project/sglang#11208. NVIDIA multi-node
    # tuning guide, topology of a compute node: two ConnectX-7 by each Grace.
    "GB200": Machine((0, 0, 1, 1), _named(0, 0, 1, 1), 2, 72, 1),
    # JSC, JUPITER, configuration: four superchips with an NDR200 adapter each.
    "GH200": Machine((0, 1, 2, 3), _named(0, 1, 2, 3), 4, 72, 1),
    # LUMI documentation, GPU nodes: one adapter by each MI250X, which is two GPUs. Its adapters are Slingshot.
    "LUMI-G": Machine((3, 3, 1, 1, 0, 0, 2, 2), _named(3, 1, 0, 2, prefix="cxi"), 4, 16, 2, "amd"),
    # NERSC, Perlmutter, GPU nodes: GPU 0 is by domain 3. Of its four adapters two are by each of two domains here:
    # made up, so that GPUs without an adapter in their domain are among the machines.
    "Perlmutter": Machine((3, 2, 1, 0), _named(3, 3, 1, 1, prefix="cxi"), 4, 16),
    # GPUs: POP co-design, GPU affinity, JUWELS Booster. JSC, JUWELS Booster: four adapters behind the GPUs' switches.
    "JUWELS Booster": Machine((3, 1, 7, 5), _named(3, 1, 7, 5), 8, 6),
    # MeluXina, detailed architecture: 8 domains of EPYC 7H12; one adapter, whose domain is not published: made up.
    "EPYC": Machine((), _named(2), 8, 16),
}


def write_sysfs(folder: Path, machine: Machine) -> Path:
    """Write the sysfs of a machine, and return its class folder, which the profile names."""
    for number, domain in enumerate(machine.gpus):
        device = folder / f"bus/pci/drivers/nvidia/0000:{number + 7:02x}:00.0"
        if machine.vendor == "amd":
            device = folder / f"class/drm/renderD{128 + number}/device"
        write_files(device, {"numa_node": f"{domain}\n"})
    for name, domain in machine.adapters.items():
        files = {
            "device/numa_node": f"{domain}\n",
            "ports/1/state": "4: ACTIVE\n",
            "ports/1/link_layer": "InfiniBand\n",
        }
        write_files(folder / "class/infiniband" / name, files)
    for core in range(machine.cpus):
        for thread in range(machine.threads):
            cpu = core + thread * machine.cpus
            (folder / f"devices/system/cpu/cpu{cpu}/node{core // machine.cores}").mkdir(parents=True)
    (folder / "class").mkdir(exist_ok=True)
    return folder / "class"


def masks_by_cores(machine: Machine, tasks: int) -> list[str]:
    """Return the masks of tasks with an equal share of the cores, side by side, with both threads, as Slurm does."""
    share = machine.cpus // tasks
    ones = (1 << share) - 1
    return [
        f"0x{sum(ones << task * share + thread * machine.cpus for thread in range(machine.threads)):096X}"
        for task in range(tasks)
    ]
