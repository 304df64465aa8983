"""What a site never takes: names that it does not have, and sizes over its limits. What is not known is not refused."""

from __future__ import annotations

from typing import Any

import pytest

from paislurm.translator.errors import Diagnostic, PlanError
from paislurm.translator.planning.layout.capacity import features_of, is_satisfied

from ..protocol.jobs import line_of
from .compiled import compiled_for, role, sku

NODES = """
slurmVersion: 24.11.5
partitions:
  normal:
    nodes:
      - {count: 2, cpus: 16, memoryMB: 100000, gpus: 4, gpuType: v100, features: [v100, ib], gres: ["hca:2"]}
      - {count: 4, cpus: 16, memoryMB: 100000, gpus: 4, gpuType: v100, features: [v100], gres: []}
    timeLimit: 1-00:00:00
    maxNodes: 5
    allowQos: [normal, high]
  long:
    nodes: [{count: 1, cpus: 16, memoryMB: 100000, gpus: 4, gpuType: a100, features: [a100], gres: []}]
    allowAccounts: [extra]
  reserved: {requiresReservation: true, timeLimit: "1"}
defaultPartition: normal
"""
NAMES = """
accounts:
  research: {qos: [normal, high, tiny], perJob: {cpus: 40}, maxSubmitJobs: 2, total: {gpus: 6}, defaultQos: normal}
  extra: {maxTime: 0:30:00}
defaultAccount: research
qos:
  normal: {maxTime: 12:00:00}
  high: {perJob: {cpus: 64, nodes: 4}, perUser: {memoryMB: 1000}}
  tiny: {maxJobs: 0}
  none: {}
reservations: [course]
infiniband: {adapters: [mlx5_0], constraint: ib, gres: "hca:1"}
nodeTypes: {A: {gpuType: a100}, H: {gpuType: h100}}
"""
KNOWS_NAMES_ALONE = "partitions: {normal: {}, long: {}, reserved: {}}\n"
ONE = {"w": role(1, 0)}


def refused(roles: dict[str, Any], extras: dict[str, Any], profile: str = NODES + NAMES) -> tuple[Diagnostic, ...]:
    """Return why the job is refused, nothing where it is not."""
    try:
        compiled_for(profile, roles, extras)
    except PlanError as error:
        return error.diagnostics
    return ()


@pytest.mark.parametrize(
    ("extras", "code", "path", "message", "hint"),
    [
        ({"account": "reserch"}, "E407", "account", "the site has no account 'reserch'; it has extra, research",
         "Or update the site profile with `paislurm site detect`"),
        ({"qos": "higher"}, "E408", "qos", "the site has no QOS 'higher'; it has high, none, normal, tiny", "`high`"),
        ({"qos": "none"}, "E408", "qos",
         "the account research cannot use the QOS 'none'; it can use high, normal, tiny",
         "write `qos: high`"),
        ({"reservation": "exam"}, "E409", "reservation", "the site has no reservation 'exam'; it has course",
         "write `reservation: course`"),
        ({"constraint": "(v100|k80)&ib"}, "E420", "constraint",
         "no node has the feature 'k80'; those of partition normal have ib, v100", "`constraint: ib`"),
        ({"constraint": "a100"}, "E420", "constraint", "no node of partition normal has a100; they have ib, v100",
         "partition long has it: write `partition: long`"),
        ({"partition": "long"}, "E425", "account",
         "partition long refuses the account 'research'; it accepts extra", "`account: extra`"),
        ({"account": "extra", "qos": "tiny"}, "E425", "qos",
         "partition normal refuses the QOS 'tiny'; it accepts high, normal", "`qos: high`"),
        ({"partition": "reserved"}, "E425", "partition", "partition reserved accepts only jobs with a reservation",
         "write `reservation: NAME`"),
        ({"time": "1-01:00:00"}, "E403", "time", "(1-00:00:00)",
         "write `time: 1-00:00:00` under extras.slurm, or less; partition long permits this time"),
        ({"time": "13:00:00"}, "E427", "time",
         "a time limit of 13:00:00 is more than the QOS normal allows (12:00:00)", "write `time: 12:00:00`"),
        ({"account": "extra", "time": "31"}, "E427", "time", "than the account extra allows (00:30:00)", "00:30:00"),
    ],
)  # fmt: skip
def test_options_that_the_site_does_not_permit_are_refused(
    extras: dict[str, Any], code: str, path: str, message: str, hint: str
) -> None:
    (found,) = refused(ONE, {"slurm": extras})
    assert found.code == code
    assert message in found.message
    assert hint in found.hint
    if path != "account":
        assert found.path == f"$.extras.slurm.{path}"
    assert line_of(found)
    assert refused(ONE, {"slurm": extras}, KNOWS_NAMES_ALONE) == ()


@pytest.mark.parametrize(
    ("roles", "extras", "code", "message", "hint"),
    [
        ({"w": role(41, 0)}, {}, "E423", "role w requests 41 CPUs, but the account research allows 40 for one job",
         "at most 40 of these 41 tasks would fit"),
        ({"w": role(65, 0)}, {"qos": "high"}, "E423",
         "role w requests 5 nodes, but the QOS high allows 4 for one job", "at most 52 of these 65 tasks would fit"),
        ({"w": role(5, 0, 12)}, {"qos": "high"}, "E423",
         "role w requests 5 nodes, but the QOS high allows 4 for one job", "at most 4 of these 5 tasks would fit"),
        ({"w": role(11, 0)}, {"qos": "high"}, "E423",
         "the job requests 1100 MiB, but the QOS high allows 1000 for all jobs of a user", "at most 10 of these 11"),
        ({"a": role(1, 4), "b": role(1, 4)}, {}, "E423",
         "the job requests 8 GPUs, but the account research allows 6 for all jobs together", "at most 6 GPUs in all"),
        ({"a": role(1, 0), "b": role(1, 0), "c": role(1, 0)}, {"layout": "het"}, "E428",
         "Slurm counts the job as 3 jobs, one per component, but the account research allows 2 in the queue",
         "write `layout: shared`"),
        ({"w": role(6, 0, 6)}, {"layout": "het"}, "", "", ""),
        ({"w": role(6, 0, 16)}, {"account": "extra"}, "E424",
         "role w requests 6 nodes, but at most 5 are allowed in partition normal",
         "at most 5 of these 6 tasks would fit"),
        ({"w": role(33, 0)}, {"constraint": "ib"}, "E410", "(2 nodes of 16 CPUs, 100000 MiB and 4 GPUs with ib)",
         "at most 32 of these tasks fit at a time"),
        ({"w": role(1, 5)}, {}, "E410", "a task of 1 CPU, 100 MiB and 5 GPUs does not fit", "at most 4 GPUs there"),
    ],
)  # fmt: skip
def test_sizes_beyond_the_limits_are_refused(
    roles: dict[str, Any], extras: dict[str, Any], code: str, message: str, hint: str
) -> None:
    found = refused(roles, {"slurm": extras})
    assert [each.code for each in found][:1] == ([code] if code else [])
    assert not found or message in found[0].message
    assert not found or hint in found[0].hint


def test_an_account_without_permissions_is_refused() -> None:
    (found,) = refused(
        ONE, {"slurm": {"qos": "tiny"}}, (NODES + NAMES).replace("[normal, high]", "[normal, high, tiny]")
    )
    assert (found.code, found.message) == ("E428", "the QOS tiny allows no job at a time")


HET = {"slurm": {"layout": "het"}}


def test_newer_slurm_versions_count_a_pending_job_once() -> None:
    roles = {"a": role(1, 0), "b": role(1, 0), "c": role(1, 0)}
    for version in ("25.05.1", "26.05.5"):
        assert refused(roles, HET, (NODES + NAMES).replace("24.11.5", version)) == ()
    assert refused(roles, HET, (NODES + NAMES).replace("slurmVersion: 24.11.5", "name: unknown")) == ()
    (found,) = refused(roles, HET, (NODES + NAMES).replace("24.11.5", "26.05.5").replace("maxSubmitJobs", "maxJobs"))
    assert "allows 2 at a time" in found.message


def test_a_qos_can_override_partition_limits() -> None:
    profile = (NODES + NAMES).replace(
        "{perJob: {cpus: 64, nodes: 4}", "{overPartitionTime: true, overPartitionNodes: true"
    )
    assert refused(ONE, {"slurm": {"qos": "high", "time": "2-00:00:00"}}, profile) == ()
    assert [each.code for each in refused({"w": role(6, 0, 16)}, {"slurm": {"qos": "high"}}, profile)] == ["E423"]
    codes = [each.code for each in refused({"w": role(6, 0, 16)}, {"slurm": {"account": "extra"}}, profile)]
    assert codes == ["E424"]


FAST = {"w": role(1, 0, extraContainerOptions={"infiniband": True})}
HIVED, WORKER = "$.extras.hivedScheduler.taskRoles.w", "$.taskRoles.w"


@pytest.mark.parametrize(
    ("roles", "extras", "profile", "path", "message", "hint"),
    [
        ({"w": role(1, 1)}, sku(w="A"), NODES + NAMES, HIVED,
         "no node of partition normal has GPUs of the type 'a100'; they have v100", "partition long has it"),
        ({"w": role(1, 1)}, sku(w="H"), NODES + NAMES, HIVED, "", "did you mean `v100`?"),
        (FAST, {}, (NODES + NAMES).replace('"hca:1"', '"hcb:1"'), f"{WORKER}.extraContainerOptions.infiniband",
         "have no generic resource 'hcb'; they have hca", "did you mean `hca`?"),
        ({"w": role(1, 1)}, {}, NODES + "gpus: {gres: rtx}\n", WORKER, "", ""),
    ],
)  # fmt: skip
def test_limits_on_gpu_types_and_other_resources_apply(
    roles: dict[str, Any], extras: dict[str, Any], profile: str, path: str, message: str, hint: str
) -> None:
    (found,) = refused(roles, extras, profile)
    assert (found.code, found.path) == ("E421", path)
    assert (message in found.message, hint in found.hint) == (True, True)
    assert refused(FAST, {}) == ()


def test_invalid_names_in_the_profile_are_reported_as_such() -> None:
    wrong = NODES + NAMES + "virtualClusters: {default: {partition: normal, account: gone}}\n"
    (found,) = refused(ONE, {}, wrong)
    assert (found.code, found.path) == ("E407", "$.defaults.virtualCluster")
    assert found.hint.startswith("the name comes from the site profile: ")


def test_errors_of_all_roles_are_reported() -> None:
    extras = {"slurm": {"taskRoles": {"b": {"account": "x"}}, "reservation": "y", "constraint": "z"}}
    found = refused({"a": role(1, 0), "b": role(1, 0)}, extras)
    assert [(each.code, each.path) for each in found] == [
        ("E409", "$.extras.slurm.reservation"),
        ("E420", "$.extras.slurm.constraint"),
        ("E407", "$.extras.slurm.taskRoles.b.account"),
    ]


def test_a_site_can_require_time_limits() -> None:
    profile = f"{NODES}requireTimeLimit: true\n"
    (found,) = refused(ONE, {}, profile)
    assert (found.code, "time: 1:00:00" in found.hint) == ("E422", True)
    assert refused(ONE, {"slurm": {"time": 60}}, profile) == ()
    assert refused(ONE, {}, f"{profile}time: {{default: 60}}\n") == ()


def test_a_container_runtime_missing_on_nodes_is_refused() -> None:
    containers = "containers: {{runtime: podman, installed: [{}]}}\n"
    (found,) = refused(ONE, {}, NODES + containers.format("apptainer"))
    assert (found.code, "podman is not on the nodes; they have apptainer" in found.message) == ("E426", True)
    assert refused(ONE, {}, NODES + containers.format("apptainer, podman")) == ()


def test_roles_in_one_allocation_count_as_one_job() -> None:
    roles = {"a": role(1, 0), "b": role(1, 0), "c": role(1, 0)}
    assert refused(roles, {"slurm": {"layout": "shared"}}) == ()
    (found,) = refused({**roles, "d": role(40, 0)}, {"slurm": {"layout": "shared"}})
    assert found.message.startswith("the job requests ")
    assert found.path == "$.taskRoles"


def test_nodes_of_equal_size_can_share_despite_different_features() -> None:
    roles = {f"r{number}": role(8, 0) for number in range(9)}
    assert refused(roles, {"slurm": {"layout": "shared"}}, NODES.replace("maxNodes: 5", "maxNodes: 6")) == ()


@pytest.mark.parametrize(
    ("expression", "features"),
    [
        ("a", ["a"]),
        ("a&b|c", ["a", "b", "c"]),
        ("[rack1*2&rack2*4]", ["rack1", "rack2"]),
        ("(knl&snc4)|{x,y}", ["knl", "snc4", "x", "y"]),
        ("a|a", ["a"]),
        ("gpu-a100_80.g=x", ["gpu-a100_80.g=x"]),
    ],
)
def test_features_in_an_expression_are_found(expression: str, features: list[str]) -> None:
    assert features_of(expression) == features


@pytest.mark.parametrize(
    ("expression", "features", "satisfied"),
    [
        ("a", "a", True),
        ("a", "b", False),
        ("a&b", "a", False),
        ("a&b", "ab", True),
        ("a|b", "b", True),
        ("a|b", "c", False),
        ("(a|b)&c", "bc", True),
        ("(a|b)&c", "ab", False),
        ("c&(a|b)", "c", False),
        ("(a&b)|(c&d)", "cd", True),
        ("(a&b)|(c&d)", "ac", False),
        ("a|b&c", "a", True),
        ("a&b|c", "x", True),
        ("[a|b]", "c", True),
        ("a*2", "c", True),
        ("a&(b", "a", False),
        ("a)", "a", True),
        ("", "", True),
    ],
)
def test_feature_expressions_are_matched_against_nodes(expression: str, features: str, satisfied: bool) -> None:
    """Mixtures without parentheses, brackets and counts are Slurm's to read."""
    assert is_satisfied(expression, list(features)) == satisfied
    assert is_satisfied(expression, None)
