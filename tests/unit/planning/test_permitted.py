"""What a site never takes: names that it does not have, and sizes over its limits. What is not known is not refused."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from paislurm.translator.errors import Diagnostic, PlanError
from paislurm.translator.pipeline import compile_job
from paislurm.translator.planning.layout.capacity import features_of, is_satisfied
from paislurm.translator.site.load import load_site

from ..protocol.jobs import JOB, changed
from .test_gpus import role, sku

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
KNOWS_NAMES_ALONE = "partitions: {normal: {}, long: {}}\n"
ONE = {"w": role(1, 0)}


def refused(roles: dict[str, Any], extras: dict[str, Any], profile: str = NODES + NAMES) -> tuple[Diagnostic, ...]:
    """Return why the job is refused, nothing where it is not."""
    job = changed(changed(JOB, "taskRoles", roles), "extras", extras)
    try:
        compile_job(yaml.safe_dump(job, sort_keys=False), site=load_site(profile, file="site.yaml"))
    except PlanError as error:
        return error.diagnostics
    return ()


@pytest.mark.parametrize(
    ("extras", "code", "path", "message", "hint"),
    [
        ({"account": "reserch"}, "E407", "account", "the site has no account 'reserch'; it has extra, research",
         "did you mean `research`? Or `paislurm site detect` asks Slurm again what there is"),
        ({"qos": "higher"}, "E408", "qos", "the site has no QOS 'higher'; it has high, none, normal, tiny", "`high`"),
        ({"qos": "none"}, "E408", "qos", "the account research does not have the QOS 'none'; it has high, normal, tiny",
         "write `qos: high`"),
        ({"reservation": "exam"}, "E409", "reservation", "the site has no reservation 'exam'; it has course",
         "write `reservation: course`"),
        ({"constraint": "(v100|k80)&ib"}, "E420", "constraint",
         "no node has the feature 'k80'; those of partition normal have ib, v100", "`constraint: ib`"),
        ({"constraint": "a100"}, "E420", "constraint", "no node of partition normal has a100; they have ib, v100",
         "partition long has it: write `partition: long`"),
        ({"partition": "long"}, "E425", "account",
         "partition long takes no jobs of the account 'research'; it takes extra", "`account: extra`"),
        ({"account": "extra", "qos": "tiny"}, "E425", "qos",
         "partition normal takes no jobs of the QOS 'tiny'; it takes high, normal", "`qos: high`"),
        ({"time": "1-01:00:00"}, "E403", "time", "(1-00:00:00)",
         "write `time: 1-00:00:00` under extras.slurm, or less; so long a job may run in long"),
        ({"time": "13:00:00"}, "E427", "time",
         "a time limit of 13:00:00 is more than the QOS normal allows (12:00:00)", "write `time: 12:00:00`"),
        ({"account": "extra", "time": "31"}, "E427", "time", "than the account extra allows (00:30:00)", "00:30:00"),
    ],
)  # fmt: skip
def test_words_of_a_job(extras: dict[str, Any], code: str, path: str, message: str, hint: str) -> None:
    (found,) = refused(ONE, {"slurm": extras})
    assert found.code == code
    assert message in found.message
    assert hint in found.hint
    if path != "account":
        assert found.path == f"$.extras.slurm.{path}"
    assert found.location is not None
    assert found.location.line
    assert refused(ONE, {"slurm": extras}, KNOWS_NAMES_ALONE) == ()


@pytest.mark.parametrize(
    ("roles", "extras", "code", "message", "hint"),
    [
        ({"w": role(41, 0)}, {}, "E423", "role w asks for 41 CPUs, and the account research allows 40 for one job",
         "at most 40 of these 41 tasks would fit"),
        ({"w": role(65, 0)}, {"qos": "high"}, "E423",
         "role w asks for 5 nodes, and the QOS high allows 4 for one job", "at most 52 of these 65 tasks would fit"),
        ({"w": role(5, 0, 12)}, {"qos": "high"}, "E423",
         "role w asks for 5 nodes, and the QOS high allows 4 for one job", "at most 4 of these 5 tasks would fit"),
        ({"w": role(11, 0)}, {"qos": "high"}, "E423",
         "the job asks for 1100 MiB, and the QOS high allows 1000 for all jobs of a user", "at most 10 of these 11"),
        ({"a": role(1, 4), "b": role(1, 4)}, {}, "E423",
         "the job asks for 8 GPUs, and the account research allows 6 for all jobs together", "6 GPUs at most in all"),
        ({"a": role(1, 0), "b": role(1, 0), "c": role(1, 0)}, {}, "E428",
         "the job is 3 jobs to Slurm, a component for each role, and the account research allows 2 in the queue",
         "write `layout: shared`"),
        ({"w": role(6, 0, 6)}, {"layout": "het"}, "", "", ""),
        ({"w": role(6, 0, 16)}, {"account": "extra"}, "E424",
         "role w asks for 6 nodes, and a job may have 5 in partition normal", "at most 5 of these 6 tasks would fit"),
        ({"w": role(33, 0)}, {"constraint": "ib"}, "E410", "(2 nodes of 16 CPUs, 100000 MiB and 4 GPUs with ib)",
         "at most 32 of these tasks fit at a time"),
        ({"w": role(1, 5)}, {}, "E410", "a task of 1 CPU, 100 MiB and 5 GPUs does not fit", "at most 4 GPUs there"),
    ],
)  # fmt: skip
def test_sizes(roles: dict[str, Any], extras: dict[str, Any], code: str, message: str, hint: str) -> None:
    found = refused(roles, {"slurm": extras})
    assert [each.code for each in found][:1] == ([code] if code else [])
    assert not found or message in found[0].message
    assert not found or hint in found[0].hint


def test_an_account_that_may_run_nothing() -> None:
    (found,) = refused(
        ONE, {"slurm": {"qos": "tiny"}}, (NODES + NAMES).replace("[normal, high]", "[normal, high, tiny]")
    )
    assert (found.code, found.message) == ("E428", "the QOS tiny allows no job at a time")


def test_newer_slurms_count_a_job_in_the_queue_once() -> None:
    roles = {"a": role(1, 0), "b": role(1, 0), "c": role(1, 0)}
    for version in ("25.05.1", "26.05.5"):
        assert refused(roles, {}, (NODES + NAMES).replace("24.11.5", version)) == ()
    assert refused(roles, {}, (NODES + NAMES).replace("slurmVersion: 24.11.5", "name: unknown")) == ()
    (found,) = refused(roles, {}, (NODES + NAMES).replace("24.11.5", "26.05.5").replace("maxSubmitJobs", "maxJobs"))
    assert "allows 2 at a time" in found.message


def test_a_qos_that_goes_over_its_partition() -> None:
    profile = (NODES + NAMES).replace(
        "{perJob: {cpus: 64, nodes: 4}", "{overPartitionTime: true, overPartitionNodes: true"
    )
    assert refused(ONE, {"slurm": {"qos": "high", "time": "2-00:00:00"}}, profile) == ()
    assert [each.code for each in refused({"w": role(6, 0, 16)}, {"slurm": {"qos": "high"}}, profile)] == ["E423"]
    codes = [each.code for each in refused({"w": role(6, 0, 16)}, {"slurm": {"account": "extra"}}, profile)]
    assert codes == ["E424"]


def test_types_of_gpus_and_other_resources() -> None:
    (found,) = refused({"w": role(1, 1)}, sku(w="A"))
    assert (found.code, found.path) == ("E421", "$.extras.hivedScheduler.taskRoles.w")
    assert found.message == "no node of partition normal has GPUs of the type 'a100'; they have v100"
    assert found.hint.startswith("partition long has it")
    (found,) = refused({"w": role(1, 1)}, sku(w="H"))
    assert found.hint == "did you mean `v100`?"
    other = (NODES + NAMES).replace('"hca:1"', '"hcb:1"')
    fast = {"w": {**role(1, 0), "extraContainerOptions": {"infiniband": True}}}
    (found,) = refused(fast, {}, other)
    assert (found.code, found.path) == ("E421", "$.taskRoles.w.extraContainerOptions.infiniband")
    assert "has the generic resource 'hcb'; they have hca" in found.message
    assert "did you mean `hca`?" in found.hint
    assert refused(fast, {}) == ()
    (found,) = refused({"w": role(1, 1)}, {}, NODES + "gpus: {gres: rtx}\n")
    assert (found.code, found.path) == ("E421", "$.taskRoles.w")


def test_what_the_profile_itself_names() -> None:
    wrong = NODES + NAMES + "virtualClusters: {default: {partition: normal, account: gone}}\n"
    (found,) = refused(ONE, {}, wrong)
    assert (found.code, found.path) == ("E407", "$.defaults.virtualCluster")
    assert found.hint.startswith("the site profile names it for this job; ")


def test_each_role_has_its_words_and_all_are_told() -> None:
    extras = {"slurm": {"taskRoles": {"b": {"account": "x"}}, "reservation": "y", "constraint": "z"}}
    found = refused({"a": role(1, 0), "b": role(1, 0)}, extras)
    assert [(each.code, each.path) for each in found] == [
        ("E409", "$.extras.slurm.reservation"),
        ("E420", "$.extras.slurm.constraint"),
        ("E407", "$.extras.slurm.taskRoles.b.account"),
    ]


def test_a_site_that_wants_time_limits() -> None:
    profile = f"{NODES}requireTimeLimit: true\n"
    (found,) = refused(ONE, {}, profile)
    assert (found.code, "time: 1:00:00" in found.hint) == ("E422", True)
    assert refused(ONE, {"slurm": {"time": 60}}, profile) == ()
    assert refused(ONE, {}, f"{profile}time: {{default: 60}}\n") == ()


def test_a_runtime_that_nodes_do_not_have() -> None:
    containers = "containers: {{runtime: podman, installed: [{}]}}\n"
    (found,) = refused(ONE, {}, NODES + containers.format("apptainer"))
    assert (found.code, "podman, which the nodes do not have; they have apptainer" in found.message) == ("E426", True)
    assert refused(ONE, {}, NODES + containers.format("apptainer, podman")) == ()


def test_roles_in_one_allocation_are_one_job_to_limits() -> None:
    roles = {"a": role(1, 0), "b": role(1, 0), "c": role(1, 0)}
    assert refused(roles, {"slurm": {"layout": "shared"}}) == ()
    (found,) = refused({**roles, "d": role(40, 0)}, {"slurm": {"layout": "shared"}})
    assert found.message.startswith("the job asks for ")
    assert found.path == "$.taskRoles"


def test_nodes_of_one_size_hold_a_shared_allocation_whatever_their_features() -> None:
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
def test_which_features_an_expression_names(expression: str, features: list[str]) -> None:
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
def test_whether_a_node_has_what_is_asked(expression: str, features: str, satisfied: bool) -> None:
    """Mixtures without parentheses, brackets and counts are Slurm's to read."""
    assert is_satisfied(expression, list(features)) == satisfied
    assert is_satisfied(expression, None)
