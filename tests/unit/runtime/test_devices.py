"""What a task makes of the GPUs that Slurm lists, and what a node is found to lack."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from ..written_files import write_files
from .bash import lines_of as bash


@pytest.mark.parametrize(
    ("vendor", "want", "given", "local", "seen"),
    [
        ("nvidia", 2, "0,1", 1, "0,1 0,1"),
        ("nvidia", 2, "0,1,2,3", 0, "0,1 0,1"),
        ("nvidia", 2, "0,1,2,3", 1, "2,3 2,3"),
        ("amd", 1, "GPU-a,GPU-b", 1, "unset GPU-b"),
        ("nvidia", 0, "0,1", 0, " none"),
        ("amd", 0, "0,1", 0, "unset none"),
        ("nvidia", 2, "", 0, "unset all"),
    ],
)
def test_visible_devices_are_set_per_task(vendor: str, want: int, given: str, local: int, seen: str) -> None:
    name = "ROCR_VISIBLE_DEVICES" if vendor == "amd" else "CUDA_VISIBLE_DEVICES"
    code = f"""
        PSL_SYSFS=/none PSL_GPU_VENDOR={vendor} PSL_ROLE_GPUS=({want}) PSL_SLOT={local}
        PSL_NODES_OF=("n1 n1") HIP_VISIBLE_DEVICES=9
        {f"{name}={given}" if given else ":"}
        {"CUDA_VISIBLE_DEVICES=9" if vendor == "amd" else ":"}
        take_devices 0 && echo "${{CUDA_VISIBLE_DEVICES-unset}} $NVIDIA_VISIBLE_DEVICES" "${{HIP_VISIBLE_DEVICES-}}"
    """
    assert bash(code) == [f"{seen} "]


@pytest.mark.parametrize(
    ("listed", "there", "given"),
    [
        ("mlx5_1", "mlx5_0 mlx5_1", "mlx5_1"),
        ("mlx5_1", "mlx5_1 mlx5_10", "=mlx5_1"),
        ("mlx5_1:1,mlx5_10", "mlx5_1 mlx5_10", "mlx5_1:1,mlx5_10"),
        ("mlx5_1:1", "mlx5_1 mlx5_12", "=mlx5_1:1"),
        ("mlx5_1", "", "mlx5_1"),
    ],
)
def test_nccl_matches_adapter_names_exactly(tmp_path: Path, listed: str, there: str, given: str) -> None:
    for name in there.split():
        (tmp_path / "infiniband" / name).mkdir(parents=True)
    code = f"PSL_SYSFS={tmp_path} NCCL_IB_HCA={listed}; name_adapters_exactly; echo $NCCL_IB_HCA"
    assert bash(code) == [given]


def roce(folder: Path, name: str, index: int = 3, layer: str = "Ethernet", version: str = "RoCE v2") -> None:
    """Write an adapter with the GIDs of a link-local address, of both versions, and then of an IPv4 address."""
    link, address = "fe80:0000:0000:0000:0a00:00ff:fe00:0001", "0000:0000:0000:0000:0000:ffff:0a00:0001"
    gids = [(link, "IB/RoCE v1\n"), (link, "RoCE v2\n"), *[("0000:0000:0000:0000:0000:0000:0000:0000", "")] * 6]
    gids[index - 1 : index + 1] = [(address, "IB/RoCE v1\n"), (address, f"{version}\n")]
    files = {"link_layer": f"{layer}\n", "state": "4: ACTIVE\n"}
    for number, (gid, kind) in enumerate(gids):
        files |= {f"gids/{number}": f"{gid}\n", f"gid_attrs/types/{number}": kind}
    write_files(folder / "infiniband" / name / "ports/1", files)


TWO = "PSL_INFINIBAND_CHECKS=('hca:mlx5_0 hca:mlx5_1:1 net:eth1')"


@pytest.mark.parametrize(
    ("code", "nccl", "ucx"),
    [
        ("", "3", "3"),
        ("PSL_GID_INDEX=7", "7", "7"),
        ("PSL_INFINIBAND_CHECKS=('hca:mlx5_0 hca:mlx5_2')", "", ""),
        ("PSL_INFINIBAND_CHECKS=('hca:mlx5_0 hca:mlx5_3') PSL_GID_INDEX=7", "", ""),
        ("PSL_INFINIBAND_CHECKS=(hca:mlx5_3)", "", ""),
        ("PSL_INFINIBAND_CHECKS=(hca:mlx5_4)", "", ""),
        ("PSL_INFINIBAND_CHECKS=(hca:mlx5_2)", "5", "5"),
        ("export NCCL_IB_GID_INDEX=1 UCX_IB_GID_INDEX=2", "1", "2"),
        ("export NCCL_IB_ADDR_FAMILY=AF_INET6", "", "3"),
        ("export UCX_IB_ROCE_SUBNET_LIST=10.0.0.0/8", "3", ""),
        ("echo 1: DOWN >$PSL_SYSFS/infiniband/mlx5_0/ports/1/state", "", ""),
        ("rm -r $PSL_SYSFS/infiniband/mlx5_0", "", ""),
    ],
)
def test_tasks_use_the_gid_of_roce_v2_and_ipv4(tmp_path: Path, code: str, nccl: str, ucx: str) -> None:
    """The lowest index, only if all adapters are Ethernet and have the same; what the user set stays."""
    roce(tmp_path, "mlx5_0")
    roce(tmp_path, "mlx5_1")
    roce(tmp_path, "mlx5_2", index=5)
    roce(tmp_path, "mlx5_3", layer="InfiniBand")
    roce(tmp_path, "mlx5_4", version="IB/RoCE v1")
    show = 'choose_gid 0; echo "$(printenv NCCL_IB_GID_INDEX) $(printenv UCX_IB_GID_INDEX)"'
    assert bash(f"PSL_SYSFS={tmp_path} PSL_GID_INDEX= {TWO}\n{code}\n{show}") == [f"{nccl} {ucx}"]


SCONTROL = r"""
    scontrol() {
      [[ $* == 'show hostnames n[1-2]' ]] && printf 'n1\nn2\n' && return
      [[ $* == 'show hostnames n3' ]] && echo n3 && return
      echo "   JOB_GRES=rtx:v100:3"
      echo "     Nodes=n[1-2] CPU_IDs=0-1 Mem=100 GRES=gpu:1(IDX:3),rtx:v100:3(IDX:0,2-3),hca:1(CNT:1)"
      echo "     Nodes=n3 CPU_IDs=0-1 Mem=100 GRES=rtx:1(IDX:1)"
      echo "     Nodes=n4 CPU_IDs=0-1 Mem=100 GRES=xrtx:1(IDX:1),rtx:1(CNT:1)"
    }
    SLURM_JOB_ID=7 PSL_GPU_GRES=rtx
"""


def test_gpus_with_another_gres_name_are_those_allocated_by_slurm() -> None:
    assert bash(SCONTROL + "print_gpus_on_nodes | sort") == [
        "PSL_GPUS_ON['n1']=0,2,3",
        "PSL_GPUS_ON['n2']=0,2,3",
        "PSL_GPUS_ON['n3']=1",
    ]


@pytest.mark.parametrize(
    ("vendor", "constrained", "local", "seen"),
    [
        ("nvidia", "false", 0, "2 2"),
        ("nvidia", "false", 1, "3 3"),
        ("nvidia", "true", 1, "1 1"),
        ("amd", "true", 0, "0 0"),
    ],
)
def test_devices_with_another_gres_name_are_divided(vendor: str, constrained: str, local: int, seen: str) -> None:
    """Whatever the shell that submits has; and counted from 0 where a task cannot open the others of its node."""
    name = "ROCR_VISIBLE_DEVICES" if vendor == "amd" else "CUDA_VISIBLE_DEVICES"
    code = f"""
        PSL_SYSFS=/none PSL_GPU_GRES=rtx PSL_GPU_VENDOR={vendor} PSL_ROLE_GPUS=(1) PSL_SLOT={local}
        PSL_NODES_OF=("n1 n1") PSL_GPUS_ON[n1]=2,3 {name}=7
        cannot_open_all_gpus() {{ {constrained}; }}
        take_devices 0 && echo "${name} $NVIDIA_VISIBLE_DEVICES"
        PSL_GPUS_ON=()
        take_devices 0 && echo "${{{name}-unset}} $NVIDIA_VISIBLE_DEVICES"
    """
    assert bash(code) == [seen, "unset all"]


@pytest.mark.parametrize(("given", "local"), [("0", 0), ("0,1,2", 1)])
def test_too_few_devices_fail_the_task(given: str, local: int) -> None:
    code = f"""
        PSL_SYSFS=/none PSL_GPU_VENDOR=nvidia PSL_ROLE_GPUS=(2) PSL_SLOT={local}
        PSL_NODES_OF=("n1 n1") CUDA_VISIBLE_DEVICES={given}
        take_devices 0 2>&1 || echo "failed"
    """
    assert bash(code) == [
        f"paislurm: error: this task needs 2 GPUs and has 1 on n1: CUDA_VISIBLE_DEVICES={given}",
        "failed",
    ]


@pytest.fixture
def sysfs(tmp_path: Path) -> Path:
    ports = {
        f"infiniband/mlx5_0/ports/{port}/state": f"{state}\n" for port, state in ((1, "1: DOWN"), (2, "4: ACTIVE"))
    }
    names = {"ib0": "up", "ib1": "down", "veth0": "unknown"}
    write_files(tmp_path, ports | {f"net/{name}/operstate": f"{state}\n" for name, state in names.items()})
    return tmp_path


LITTLE = "tasks can lock only 64 KiB of memory, and InfiniBand needs"


@pytest.mark.parametrize(
    ("check", "problem"),
    [
        ("hca:mlx5_0", ""),
        ("hca:mlx5_0:2", ""),
        ("hca:mlx5_0:1", "port 1 of the InfiniBand adapter mlx5_0 is not active but DOWN"),
        ("hca:mlx5_0:3", "the InfiniBand adapter mlx5_0 has no port 3 in SYSFS/infiniband/mlx5_0/ports"),
        ("hca:mlx5_1", "there is no InfiniBand adapter mlx5_1 in SYSFS/infiniband (site profile: infiniband.adapters)"),
        ("net:ib0", ""),
        ("net:veth0", ""),
        ("net:ib1", "the network interface ib1 is not up but down"),
        ("net:ib2", "there is no network interface ib2 in SYSFS/net (site profile: infiniband)"),
        ("memlock:8", ""),
        ("memlock:99", f"{LITTLE} 99 (site profile: infiniband.memlockMB)"),
        ("memlock:unlimited", f"{LITTLE} unlimited (site profile: infiniband.memlockMB)"),
    ],
)
def test_missing_infiniband_features_of_a_node_are_reported(sysfs: Path, check: str, problem: str) -> None:
    """Of the roles that run there; twice the same is said once."""
    code = f"""
        ulimit -l 64
        PSL_GPU_VENDOR=nvidia PSL_ROLE_GPUS=(0 0 0)
        PSL_SYSFS={sysfs} PSL_NODES_OF=(n1 'n2 n1' n2) PSL_INFINIBAND_CHECKS=({check} {check} net:elsewhere)
        print_infiniband_problems
    """
    assert bash(code) == ([f"n1 {problem}".replace("SYSFS", str(sysfs))] if problem else [])


def test_tasks_raise_their_soft_limit_to_the_hard_limit() -> None:
    """Only those that need it."""
    code = """
        ulimit -S -l 8 && ulimit -H -l 64
        PSL_INFINIBAND_CHECKS=(net:ib0 memlock:64)
        PSL_CONTAINER_RUNTIME=apptainer PSL_GANG=1 PSL_ROLE_GPUS=(0 0)
        check_slot_node() { :; }
        check_node_folder() { :; }
        enter_task_folder() { :; }
        note_process() { :; }
        take_devices() { :; }
        for PSL_ROLE in 0 1; do prepare_task 0 0; ulimit -S -l; done
    """
    assert bash(code) == ["8", "64"]


ROUTES = """Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\tMTU\tWindow\tIRTT
eno1\t00000000\t01014D0A\t0003\t0\t0\t0\t00000000\t0\t0\t0
docker0\t000011AC\t00000000\t0001\t0\t0\t0\t0000FFFF\t0\t0\t0
eno1\t00014D0A\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0
"""


@pytest.mark.parametrize(
    ("hosts", "address", "found"),
    [
        ("127.0.0.1 localhost\n127.0.1.1\tNAME.site\tNAME", "10.77.1.17", "eno1"),
        ("127.0.1.1 NAME.site NAME", "10.78.1.17", ""),
        ("127.0.1.1 NAME.site NAME", "fd00::17", ""),
        ("127.0.0.1 localhost\n10.77.1.17 NAME", "10.77.1.17", ""),
    ],
)
def test_the_interface_for_gloo_is_set(tmp_path: Path, hosts: str, address: str, found: str) -> None:
    write_files(tmp_path, {"hosts": hosts.replace("NAME", socket.gethostname()) + "\n", "route": ROUTES})
    code = f"""
        HOSTNAME=another
        echo "found $(find_gloo_interface {address} {tmp_path}/hosts {tmp_path}/route)"
    """
    assert bash(code) == [f"found {found}"]


@pytest.mark.parametrize(
    ("text", "variables"),
    [
        ("# btl_tcp_if_include = x\nbtl = ^openib\n", "unset 127.0.0.1/8,ib0"),
        ("btl = ^openib\n  btl_tcp_if_include=lo", "eth7 unset"),
        (None, "unset 127.0.0.1/8,ib0"),
    ],
)
def test_open_mpi_gets_one_list_of_interfaces(tmp_path: Path, text: str | None, variables: str) -> None:
    """A second list beside that of its own defaults would take TCP from it."""
    if text is not None:
        write_files(tmp_path, {"openmpi/openmpi-mca-params.conf": text})
    code = f"""
        PSL_ETC={tmp_path} OMPI_MCA_btl_tcp_if_exclude=127.0.0.1/8,ib0
        include_ethernet eth7
        echo "${{OMPI_MCA_btl_tcp_if_include-unset}} ${{OMPI_MCA_btl_tcp_if_exclude-unset}}"
    """
    assert bash(code) == [variables]
