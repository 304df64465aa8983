"""InfiniBand: what is asked of Slurm, which variables tasks get, and who wins."""

from __future__ import annotations

from typing import Any

import pytest

from paislurm.translator.pipeline import Compiled

from ..protocol.jobs import ROLE
from .compiled import compiled_for
from .compiled import directives as asked

PARTITION = "partitions: {ib: {nodes: [{count: 4, cpus: 16, memoryMB: 100000, gpus: 4}]}}\ndefaultPartition: ib\n"
FABRIC = "infiniband: {adapters: [mlx5_0], interface: ib0, ethernet: eth0, constraint: hdr, gres: 'hca:mlx:2'}\n"
ON = {**ROLE, "extraContainerOptions": {"infiniband": True}}


def compiled(roles: dict[str, Any], site: str = PARTITION + FABRIC, **slurm: Any) -> Compiled:
    return compiled_for(site, roles, {"slurm": slurm})


def variables(found: Compiled, position: int = 0) -> dict[str, str]:
    infiniband = found.plan.roles[position].infiniband
    return dict(infiniband.variables) if infiniband else {}


def codes(found: Compiled) -> set[str]:
    return {fault.code for fault in found.warnings} & {"W411", "W412"}


def test_infiniband_is_set_per_role() -> None:
    found = compiled({"worker": ON, "ps": ROLE})
    assert (asked(found)["constraint"], asked(found)["gres"]) == ("hdr", "hca:mlx:2")
    assert dict(found.plan.roles[0].step_options)["gres"] == "hca:mlx:2"
    assert not {"constraint", "gres"} & asked(found, 1).keys()
    assert (variables(found)["NCCL_IB_DISABLE"], variables(found, 1), codes(found)) == ("0", {}, {"W412"})


def test_roles_that_share_nodes_share_the_infiniband() -> None:
    """Each step takes its own part of the resource."""
    found = compiled({"a": ON, "b": ON, "ps": ROLE}, layout="shared")
    assert (asked(found)["constraint"], asked(found)["gres"]) == ("hdr", "hca:mlx:4")


def test_a_job_without_infiniband_disables_it() -> None:
    found = compiled({"a": ROLE, "b": ROLE})
    assert ("constraint" in asked(found), codes(found)) == (False, set())
    assert {variables(found, position)["NCCL_IB_DISABLE"] for position in (0, 1)} == {"1"}
    assert found.plan.roles[0].infiniband is not None
    assert found.plan.roles[0].infiniband.checks == ("net:eth0",)


def test_a_site_without_infiniband_settings_sets_no_variables() -> None:
    found = compiled({"worker": ON}, site=PARTITION)
    assert (codes(found), variables(found), "FABRIC[0]" in found.script) == ({"W411"}, {}, False)
    assert codes(compiled({"worker": ROLE}, site=PARTITION)) == set()


@pytest.mark.parametrize(
    ("own", "both"), [("rack1", "rack1&hdr"), ("a|b", "(a|b)&hdr"), ("hdr", "hdr"), ("[a|b]", "([a|b])&hdr")]
)
def test_the_constraint_of_the_job_is_combined(own: str, both: str) -> None:
    assert asked(compiled({"worker": ON}, constraint=own))["constraint"] == both


def test_an_interface_list_in_the_command_is_not_duplicated() -> None:
    """Open MPI refuses to have both."""
    excluded = "OMPI_MCA_btl_tcp_if_exclude"
    mpirun = {**ROLE, "commands": ["mpirun -mca btl_tcp_if_include eth1 ./a"]}
    assert excluded in variables(compiled({"a": ROLE}))
    found = compiled({"a": ROLE, "b": mpirun})
    assert excluded not in variables(found, 0).keys() | variables(found, 1).keys()


def test_gpu_jobs_have_additional_transports() -> None:
    with_gpus = {**ON, "resourcePerInstance": {"cpu": 1, "memoryMB": 100, "gpu": 1}}
    """UCX itself takes the best transports of an InfiniBand; off it, it must not lose those of the GPUs."""
    assert "UCX_TLS" not in variables(compiled({"worker": with_gpus}))
    off = {**with_gpus, "extraContainerOptions": {}}
    assert variables(compiled({"worker": off}))["UCX_TLS"] == "tcp,sm,self,cuda"
    amd = PARTITION + FABRIC + "gpus: {vendor: amd}\n"
    assert variables(compiled({"worker": off}, site=amd))["UCX_TLS"] == "tcp,sm,self,rocm"


def test_variables_with_unknown_values_are_omitted() -> None:
    found = variables(compiled({"a": ROLE}, site=PARTITION + "infiniband: {adapters: [mlx5_0]}\n"))
    assert not {"NCCL_SOCKET_IFNAME", "UCX_NET_DEVICES", "FI_TCP_IFACE", "OMPI_MCA_btl_tcp_if_exclude"} & found.keys()
    assert found["UCX_TLS"] == "tcp,sm,self"
    without = variables(compiled({"a": ROLE}, site=PARTITION + "infiniband: {adapters: [mlx5_0], interface: ib0}\n"))
    assert without["NCCL_SOCKET_IFNAME"] == "^lo,docker,ib0"


def test_variables_of_the_profile_override_the_defaults() -> None:
    own = "infiniband: {adapters: [mlx5_0], variables: {enabled: {I_MPI_OFI_PROVIDER: null, A: 1}, "
    own += "disabled: {NCCL_IB_DISABLE: 2}}}\n"
    found = variables(compiled({"a": ON}, site=PARTITION + own))
    assert ("I_MPI_OFI_PROVIDER" in found, found["A"], found["NCCL_IB_DISABLE"]) == (False, "1", "0")
    assert variables(compiled({"a": ROLE}, site=PARTITION + own))["NCCL_IB_DISABLE"] == "2"


def test_the_gid_index_of_the_profile_is_a_setting_of_the_script() -> None:
    found = compiled({"a": ON}, site=PARTITION + "infiniband: {adapters: [mlx5_0], gidIndex: 5}\n")
    assert "\nPSL_GID_INDEX='5'" in found.script
    assert "\nPSL_GID_INDEX='" not in compiled({"a": ON}).script


@pytest.mark.parametrize(
    ("command", "says"),
    [
        ("export NCCL_SOCKET_IFNAME=eno1", "set NCCL_SOCKET_IFNAME to eno1, but the site profile has eth0,ib0"),
        ("NCCL_SOCKET_IFNAME='=eno1' python a.py", "NCCL_SOCKET_IFNAME to eno1"),
        ("export GLOO_SOCKET_IFNAME=eno1 A=b", "GLOO_SOCKET_IFNAME to eno1"),
        ("mpirun --mca btl_tcp_if_include eno1 -x A=b x", "btl_tcp_if_include to eno1"),
        ("export OMPI_MCA_oob_tcp_if_include=eno1,bond0", "OMPI_MCA_oob_tcp_if_include to eno1,bond0"),
        ("export NCCL_IB_HCA=mlx4_0:1", "NCCL_IB_HCA to mlx4_0:1, but the site profile has mlx5_0"),
        ("mpirun -x NCCL_IB_DISABLE=1 x", "NCCL_IB_DISABLE to 1, which turns off the InfiniBand"),
        ("export NCCL_SOCKET_IFNAME=eth0", ""),
        ("export NCCL_SOCKET_IFNAME=ib", ""),
        ("export NCCL_SOCKET_IFNAME=eno1,ib0", ""),
        ("export NCCL_SOCKET_IFNAME=^docker", ""),
        ("export NCCL_SOCKET_IFNAME=$MINE", ""),
        ("export NCCL_SOCKET_IFNAME=e$MINE", ""),
        ("export GLOO_SOCKET_IFNAME=lo", ""),
        ("mpirun --mca btl_tcp_if_include 10.0.0.0/8 x", ""),
        ("export NCCL_IB_HCA=mlx5", ""),
        ("export NCCL_IB_DISABLE=0 NCCL_DEBUG=INFO", ""),
        ("unset NCCL_SOCKET_IFNAME other", ""),
    ],
)
def test_a_choice_in_the_commands_that_contradicts_the_profile_is_warned_of(command: str, says: str) -> None:
    found = compiled({"worker": {**ON, "commands": [command]}})
    messages = [each.message for each in found.warnings if each.code == "W417"]
    assert [says in each for each in messages] == [True] * bool(says), messages
    assert not [
        each for each in compiled({"a": {**ON, "commands": [command]}}, site=PARTITION).warnings if each.code == "W417"
    ]
