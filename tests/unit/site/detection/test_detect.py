"""From answers to a site: as three Slurms gave them, and where they are odd."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from msgspec.structs import replace

from paislurm.translator.site.detection.answers import Answers, Detection
from paislurm.translator.site.detection.detect import detect
from paislurm.translator.site.detection.profile_text import profile_text
from paislurm.translator.site.devices import Gpus, GpuVendor
from paislurm.translator.site.load import load_site
from paislurm.translator.site.partitions import Account, Partition, Qos, Shape
from paislurm.translator.site.profile import Ports, Scheduler, Site, Times, VirtualCluster

from .answered import CONFIG, EXPECTED, VERSIONS, detected, recorded

PLUGINS = {
    "22.05": ("22.05.8", ("pmix", "pmi2", "cray_shasta", "pmix_v4")),
    "24.11": ("24.11.5", ("pmix", "pmi2", "cray_shasta", "pmix_v5")),
    "26.05": ("26.05.5", ("pmi2", "cray_shasta")),
}
NODES = {
    "watched": (0, 2), "fragile": (0, 2), "normal": (2, 2), "small": (1, 0), "pair": (2, 0), "spot": (0, 1),
    "urgent": (0, 1),
}  # fmt: skip
"""By partition, nodes with InfiniBand and other ones."""


def keys_of(detection: Detection) -> list[str]:
    return [gap.key for gap in detection.gaps]


@pytest.mark.parametrize("version", VERSIONS)
def test_recordings_of_each_slurm_version_are_detected(version: str) -> None:
    detection = detect(recorded(version))
    slurm, plugins = PLUGINS[version]
    shape = Shape.of(count=1, cpus=16, memory_mib=1000000, gpus=4, gpu_type="v100", features=("v100",), gres=())
    rich = shape.model_copy(update={"features": ("ib", "v100"), "gres": ("hca:2", "rtx:4")})
    account = Account.of(qos=("high", "normal"))
    assert (
        detection.site
        == Site.of(
            name="paislurm",
            slurm_version=slurm,
            scheduler=Scheduler.of(backfill_interval=1),
            partitions={
                name: Partition.of(
                    nodes=tuple(
                        each.model_copy(update={"count": n}) for each, n in ((rich, of_rich), (shape, of_others)) if n
                    ),
                    time_limit=timedelta(days=1),
                )
                for name, (of_rich, of_others) in NODES.items()
            },
            default_partition="normal",
            virtual_clusters={"default": VirtualCluster.of(partition="normal")},
            accounts={"extra": account, "research": account},
            default_account="research",
            qos={"high": Qos(), "normal": Qos()},
            reservations=(),
            time=Times.of(kill_wait=timedelta(seconds=5)),
            mpi=plugins,
        ).known()
    )
    assert keys_of(detection) == ["gpus.vendor", "infiniband", "storages"]
    assert load_site(profile_text(detection), file="site.yaml") == detection.site


def test_the_profile_text_matches_the_expected_file() -> None:
    assert profile_text(detect(recorded("22.05"))) == EXPECTED.read_text(encoding="utf-8")


def test_a_cluster_without_partitions_leaves_gaps() -> None:
    detection = detected(partitions="No partitions in the system\n", nodes="No nodes in the system\n")
    assert {"partitions", "partitions.NAME.nodes", "address"} <= set(keys_of(detection))


def test_a_partition_named_like_the_default_virtual_cluster_is_accepted() -> None:
    found = [detected(name).site.virtual_clusters for name in ("default", "other")]
    assert found == [{}, {"default": VirtualCluster.of(partition="other")}]


def test_missing_answers_become_gaps() -> None:
    detection = detect(Answers(config="", refused={"nodes": "scontrol refuses: no", "mpi": "`srun` is not on PATH"}))
    assert detection.site == Site.of().known()
    reasons = {gap.key: gap.reason for gap in detection.gaps}
    assert [reasons[key] for key in ("partitions.NAME.nodes", "partitions", "mpi")] == [
        "scontrol refuses: no",
        "Slurm shows you none",
        "`srun` is not on PATH",
    ]
    assert {"address", "containers.runtime"} <= reasons.keys()
    assert load_site(profile_text(detection), file="site.yaml") == detection.site


@pytest.mark.parametrize("name", ["a b", "a,b", "it's", 'say"', "a#b", "back\\slash", "a`b", "\x1b[2J"])
def test_a_partition_with_an_invalid_name_is_only_mentioned(name: str) -> None:
    detection = detected(name)
    assert detection.site.partitions == {}
    assert "partitions" in keys_of(detection)
    assert load_site(profile_text(detection), file="site.yaml") == detection.site


@pytest.mark.parametrize(
    "name", ["yes", "No", "null", "1e3", "0x1F", "1:30", "~", "<<", "*a", "&a", "-", "a:", "{a}", "é", "1"]
)
def test_a_partition_name_that_yaml_could_misread_is_quoted(name: str) -> None:
    detection = detected(name, gres=f"gpu:{name}:2" if ":" not in name else "gpu:2")
    (partition,) = detection.site.partitions.values()
    assert partition.name == detection.site.default_partition == name
    assert partition.node_count == 1
    assert load_site(profile_text(detection), file="site.yaml") == detection.site


def test_texts_of_slurm_stay_within_their_comment() -> None:
    detection = detected(gres="hca\x1b[2J:1\u2028x: y", refused={"mpi": "no\n\ndefaultPartition: evil\x85x: 1"})
    text = profile_text(detection)
    assert "\x1b" not in text
    assert load_site(text, file="site.yaml") == detection.site


def test_an_unavailable_node_is_counted_and_reported() -> None:
    detection = detected(state="DOWN*+DRAIN")
    assert detection.site.partitions["all"].node_count == 1
    assert "all: 1 of 1 node is currently down or drained." in detection.remarks["partitions"]


@pytest.mark.parametrize(
    ("gres", "types", "remark"),
    [
        ("gpu:a100:2(S:0),gpu:a100_1g.10gb:7,gpu:a100:1(S:1)", ("a100:3", "a100_1g.10gb:7"), "of several types."),
        ("gpu:1g.10gb:4,gpu:3g.40gb:2,hca:1", ("1g.10gb:4", "3g.40gb:2"), "of several types."),
        ("gpu:a100:2,gpu:3", (), "types are omitted for 1, because some GPUs have none"),
        ("gpu:a100:2,gpu:it's:3", (), "types are omitted for 1, because some GPUs have none"),
    ],
)
def test_several_gpu_types_in_a_node(gres: str, types: tuple[str, ...], remark: str) -> None:
    detection = detected(gres=gres)
    (shape,) = detection.site.partitions["all"].nodes
    assert (shape.gpu_types, shape.gpus, shape.gpu_type) == (types, 0 if types else 5, "")
    assert any(remark in each for each in detection.remarks["partitions"])
    assert load_site(profile_text(detection), file="site.yaml") == detection.site


@pytest.mark.parametrize(
    ("gres", "vendor", "gap"),
    [("gpu:mi250:4", "amd", False), ("gpu:a100:4", "nvidia", True), ("gpu:4", "nvidia", True)],
)
def test_the_gpu_vendor_is_detected(gres: str, vendor: GpuVendor, gap: bool) -> None:
    detection = detected(gres=gres)
    assert detection.site.gpus == Gpus.of(vendor=vendor)
    assert ("gpus.vendor" in keys_of(detection)) == gap


def test_gpus_with_another_gres_name_are_detected() -> None:
    assert "gpus.gres" in keys_of(detected(gres="rtx:4"))


def test_partition_limits_per_node_are_applied() -> None:
    bounds = "PartitionName=all MaxCPUsPerNode=4 MaxMemPerNode=500 MaxNodes=3 MaxTime=UNLIMITED"
    detection = detected(partitions=bounds)
    assert detection.site.partitions["all"].nodes == (Shape.of(count=1, cpus=4, memory_mib=500, features=(), gres=()),)
    assert detection.site.partitions["all"].max_nodes == 3


def test_jobs_of_exclusive_partitions_get_whole_nodes() -> None:
    kinds = ("EXCLUSIVE", "NO", "YES:4")
    lines = [f"PartitionName=p{number} MaxTime=UNLIMITED OverSubscribe={kind}" for number, kind in enumerate(kinds)]
    detection = detected(partitions="\n\n".join(lines))
    site = load_site(profile_text(detection), file="site.yaml")
    assert site == detection.site
    assert [each.whole_nodes for each in site.partitions.values()] == [True, False, False]


def test_slurm_addresses_are_used_if_names_do_not_resolve() -> None:
    assert detected(node_resolves=False).site.address.method == "node-address"
    assert detected(node_resolves=True).site.address.method == "getent"


def test_ports_avoid_those_of_slurm_and_the_system() -> None:
    config = f"{CONFIG}SrunPortRange = 20000-21000\n"
    assert detected(config=config, ephemeral_ports="32768 60999").site.ports == Ports.of(first=21001, last=32767)
    detection = detected(config=config, ephemeral_ports="1024 65535")
    assert detection.site.ports == Ports()
    assert "ports" in keys_of(detection)


def test_memory_unknown_to_slurm_is_reported() -> None:
    answers = recorded("24.11")
    unknown = replace(answers, nodes=answers.nodes.replace("RealMemory=1000000", "RealMemory=1"))
    assert "partitions.NAME.nodes.memoryMB" in keys_of(detect(unknown))


def test_missing_accounts_are_reported() -> None:
    (said,) = detected().remarks["virtualClusters"]
    assert said.startswith("Slurm has no accounting here")


def test_root_gets_a_profile_without_own_accounts() -> None:
    detection = detect(replace(recorded("24.11"), user="root"))
    assert (detection.site.accounts, detection.site.default_account, detection.site.qos) == (None, None, None)


def test_accounts_not_enforced_by_slurm_are_only_listed() -> None:
    answers = recorded("24.11")
    lax = replace(answers, config=answers.config.replace("associations,limits,qos", "none"))
    detection = detect(lax)
    assert detection.site.accounts is None
    assert "Accounts of alice: extra, research." in detection.remarks["virtualClusters"]


def test_reservations_without_an_answer_are_unknown() -> None:
    assert detected(refused={"reservations": "denied"}).site.reservations is None
    reported = detected(reservations="ReservationName=held StartTime=x\nReservationName=a#b Users=x\n")
    assert reported.site.reservations == ("held",)


def test_a_plugin_that_requires_time_limits_is_reported() -> None:
    detection = detected(config=f"{CONFIG}JobSubmitPlugins = lua,require_timelimit\n")
    assert detection.site.require_time_limit
    assert "requireTimeLimit: true" in profile_text(detection)


@pytest.mark.parametrize(
    ("field", "pattern", "odd"),
    [
        ("nodes", r"ThreadsPerCore=\d+", "ThreadsPerCore=0"),
        ("nodes", r"gpu:(\w+):\d+", r"gpu:\1:99999999999999"),
        ("qos", r"(?m)\|\d*$", "|99999999999999"),
        ("qos", r"mem=\w+|\|\|\|", "|mem=999999999P|"),
    ],
)
def test_a_number_that_no_profile_may_have_is_left_out(field: str, pattern: str, odd: str) -> None:
    answers = recorded("24.11")
    text = re.sub(pattern, odd, getattr(answers, field))
    assert load_site(profile_text(detect(replace(answers, **{field: text}))), file="site.yaml").partitions
