"""What scontrol, srun and sacctmgr print, part by part."""

from __future__ import annotations

from datetime import timedelta

import pytest

from paislurm.translator.site.detection.accounts import Accounts, accounts
from paislurm.translator.site.detection.config import (
    SlurmConfig,
    free_ports,
    mpi_plugins,
    port_range,
    records,
    slurm_config,
)
from paislurm.translator.site.detection.node_shapes import Gres, gres, nodes, partition_records, with_nodes
from paislurm.translator.site.partitions import Account, Amounts, Qos, Shape
from paislurm.translator.site.profile import Ports, Scheduler

from .answered import NODE, PARTITION


def node(text: str, old: str = "", new: str = "") -> str:
    made = NODE.format("(null)", "IDLE", text)
    assert old in made
    return made.replace(old, new)


def test_a_value_may_have_blanks_and_look_like_a_field() -> None:
    (found,) = records("NodeName=a OS=Linux 6 #1 Partitions=p q  Reason=x Partitions=evil [me@now] ", "NodeName")
    assert found == {"NodeName": "a", "OS": "Linux 6 #1", "Partitions": "p q", "Reason": "x"}


def test_only_lines_of_the_wanted_kind_are_read() -> None:
    assert records("slurm_load_partitions: warning\nNo partitions in the system\n", "PartitionName") == []


def test_the_first_setting_of_a_name_is_used() -> None:
    text = "KillWait    = 30 sec\nAccountingStorageType = (null)\n\nCgroup Support:\nKillWait = 99\n"
    assert slurm_config(text) == SlurmConfig(kill_wait=30)


@pytest.mark.parametrize(
    ("text", "ports"),
    [
        ("6817", (6817, 6817)),
        ("60001-63000", (60001, 63000)),
        ("32768\t60999", (32768, 60999)),
        ("0-0", None),
        ("", None),
    ],
)
def test_ranges_of_ports(text: str, ports: tuple[int, int] | None) -> None:
    assert port_range(text) == ports


@pytest.mark.parametrize(
    ("taken", "free"),
    [
        ([], Ports()),
        ([(32768, 60999), (6817, 6817)], Ports()),
        ([(20000, 60999)], Ports.of(first=10000, last=19999)),
        ([(15000, 15000), (32768, 60999)], Ports.of(first=15001, last=32767)),
        ([(10000, 61000)], Ports.of(first=61001, last=65535)),
        ([(32768, 99999), (1, 31000)], Ports.of(first=31001, last=32767)),
        ([(1024, 65535)], None),
        ([(10000, 65000)], None),
    ],
)
def test_free_port_ranges_are_found(taken: list[tuple[int, int]], free: Ports | None) -> None:
    assert free_ports(taken) == free


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("gpu:v100:4,hca:2", (Gres(name="gpu", type="v100", count=4), Gres(name="hca", type="", count=2))),
        ("gpu:a100:8(S:0-1,3)", (Gres(name="gpu", type="a100", count=8),)),
        ("gpu:a100_3g.20gb:2(S:0)", (Gres(name="gpu", type="a100_3g.20gb", count=2),)),
        ("gpu:tesla", (Gres(name="gpu", type="tesla", count=1),)),
        ("gpu", (Gres(name="gpu", type="", count=1),)),
        ("nvme:no_consume:2T", (Gres(name="nvme", type="", count=2 << 40),)),
        ("(null)", ()),
    ],
)  # fmt: skip
def test_generic_resources(text: str, found: tuple[Gres, ...]) -> None:
    assert gres(text) == found


def test_reserved_resources_of_a_node_are_subtracted() -> None:
    (found,) = nodes(
        node("p", "RealMemory=1000", "RealMemory=1000 MemSpecLimit=200").replace("CPUEfctv=8", "CPUEfctv=6")
    )
    assert found.shape == Shape.of(count=1, cpus=6, memory_mib=800, features=(), gres=())
    (old,) = nodes(node("p", "CPUEfctv=8 ", ""))
    assert old.shape.cpus == 8


@pytest.mark.parametrize(("cores", "threads", "reported"), [(4, 2, 2), (8, 2, 1), (8, 1, 1), (2, 4, 4)])
def test_threads_count_if_slurm_counts_them_as_cpus(cores: int, threads: int, reported: int) -> None:
    text = node("p", "CoresPerSocket=8", f"CoresPerSocket={cores}").replace("PerCore=1", f"PerCore={threads}")
    (found,) = nodes(text)
    assert found.shape.threads_per_core == reported


@pytest.mark.parametrize(
    ("state", "away"),
    [
        ("IDLE", False),
        ("MIXED+CLOUD", False),
        ("IDLE+CLOUD+POWERED_DOWN", False),
        ("DOWN*", True),
        ("IDLE+DRAIN", True),
        ("DOWN+CLOUD+NOT_RESPONDING", True),
        ("FUTURE", None),
    ],
)
def test_states(state: str, away: bool | None) -> None:
    found = nodes(node("p", "State=IDLE", f"State={state}"))
    assert [each.away for each in found] == ([] if away is None else [away])


def test_partitions_and_their_bounds() -> None:
    text = PARTITION.format("a") + " MaxCPUsPerNode=4 MaxMemPerNode=UNLIMITED MaxNodes=2\n"
    text += PARTITION.format("b").replace("RootOnly=NO", "RootOnly=YES") + "\n"
    text += PARTITION.format("c").replace("UNLIMITED", "1-12:00:00").replace("=UP", "=DRAIN").replace("=YES", "=NO")
    first, second = partition_records(text)
    assert (first.name, first.time_limit, first.is_default, first.is_up) == ("a", None, True, True)
    assert (first.max_cpus, first.max_memory, first.max_nodes) == (4, 0, 2)
    assert (second.name, second.time_limit, second.is_default, second.is_up) == ("c", timedelta(days=1.5), False, False)


@pytest.mark.parametrize(
    ("text", "default", "plugins"),
    [
        ("MPI plugin types are...\n\tnone\n\tpmi2\n\tpmix\n", "(null)", ("pmix", "pmi2")),
        ("srun: MPI types are...\nsrun: pmix\nsrun: none\nsrun: pmi2\n", "pmi2", ("pmi2", "pmix")),
        ("\tpmix\npmix plugin versions available: pmix_v3,pmix_v4\n", "pmix_v4", ("pmix_v4", "pmix", "pmix_v3")),
        ("MPI plugin types are...\n\tnone\n", "none", ()),
    ],
)  # fmt: skip
def test_plugins(text: str, default: str, plugins: tuple[str, ...]) -> None:
    assert mpi_plugins(text, default) == plugins


USERS = "Def Acct|Account|Partition|QOS|Def QOS|MaxJobs|MaxSubmit|MaxWall|MaxTRES|GrpTRES|GrpJobs|GrpSubmit\n"
QOS = "Name|Flags|MaxWall|MaxJobsPU|MaxSubmitPU|MaxTRES|MaxTRESPU|GrpTRES|GrpJobs|GrpSubmit\n"


def test_accounts_are_sorted_and_have_their_limits() -> None:
    users = USERS + "b|b||normal,high|high|7|3|01:30:00|cpu=8,gres/gpu=2,mem=10G,node=1|cpu=100|2|\n"
    users += "b|a||normal|||||||\nb|c|debug|odd|||9|||||\n"
    found = accounts(
        users, QOS + "high|DenyOnLimit,PartitionMaxNodes|1-00:00:00|4|5||cpu=5,mem=7|||\nother|||||||||\n", limited=True
    )
    assert found.default == "b"
    assert list(found.accounts) == ["a", "b", "c"]
    assert found.accounts["a"] == Account.of(qos=("normal",))
    assert found.accounts["c"] == Account.of(qos=("odd",)), "it is the user's on one partition alone"
    assert found.accounts["b"] == Account.of(
        max_jobs=2,
        max_submit_jobs=3,
        max_time=timedelta(minutes=90),
        per_job=Amounts.of(nodes=1, cpus=8, memory_mib=10240, gpus=2),
        total=Amounts.of(cpus=100),
        qos=("high", "normal"),
        default_qos="high",
    )
    high = Qos.of(
        over_partition_nodes=True,
        max_jobs=4,
        max_submit_jobs=5,
        max_time=timedelta(days=1),
        per_user=Amounts.of(cpus=5, memory_mib=7),
    )
    assert found.qos == {"high": high, "normal": Qos(), "odd": Qos()}


def test_limits_not_enforced_by_slurm_are_ignored() -> None:
    users = USERS + "b|b||high||7|3|01:30:00|cpu=8|cpu=100|2|\n"
    found = accounts(users, QOS + "high||1-00:00:00|4|5|||||\n", limited=False)
    assert (found.accounts, found.qos) == ({"b": Account.of(qos=("high",))}, {"high": Qos()})


@pytest.mark.parametrize("text", ["", "\n", "|\n", "sacctmgr: nothing\n"])
def test_missing_accounts_give_an_empty_result(text: str) -> None:
    assert accounts(text, text, limited=True) == Accounts()


@pytest.mark.parametrize(
    ("text", "enforced"),
    [
        ("", set()),
        ("none", set()),
        ("associations", {"associations"}),
        ("associations,qos", {"associations", "qos"}),
        ("limits", {"associations", "limits"}),
        ("safe,qos", {"associations", "limits", "qos"}),
        ("ALL", {"associations", "limits", "qos"}),
    ],
)
def test_enforced_limits_are_parsed(text: str, enforced: set[str]) -> None:
    assert slurm_config(f"AccountingStorageEnforce = {text}\n").enforced == enforced


@pytest.mark.parametrize(
    ("plugins", "required"), [("lua,require_timelimit", True), ("job_submit/require_timelimit", True), ("lua", False)]
)
def test_a_plugin_that_requires_a_time_limit_is_recognized(plugins: str, required: bool) -> None:
    assert slurm_config(f"JobSubmitPlugins = {plugins}\n").requires_time == required


EXPEDITES = "enable_expedited_requeue"


@pytest.mark.parametrize(
    ("text", "scheduler"),
    [
        ("SchedulerType = sched/builtin\nSchedulerParameters = bf_interval=9\n", Scheduler.of(type="builtin")),
        ("SchedulerType = sched/backfill\nSchedulerParameters = (null)\n", Scheduler.of(backfill_interval=30)),
        ("SchedulerType = sched/backfill\nSchedulerParameters = defer,bf_interval=60,bf_window=9\n",
         Scheduler.of(backfill_interval=60)),
        ("SchedulerType = sched/backfill\nSchedulerParameters = bf_interval=-1\n", Scheduler.of(backfill_interval=-1)),
        ("SchedulerType = sched/other\n", Scheduler()),
        (f"SLURM_VERSION = 26.05.5\nSlurmctldParameters = a,{EXPEDITES}\n", Scheduler.of(expedited_requeue=True)),
        (f"SLURM_VERSION = 24.11.5\nSlurmctldParameters = {EXPEDITES}\n", Scheduler()),
        ("", Scheduler()),
    ],
)  # fmt: skip
def test_the_scheduler_is_recognized(text: str, scheduler: Scheduler) -> None:
    assert slurm_config(text).scheduler == scheduler


def test_features_and_other_resources_of_a_node() -> None:
    text = node("p", "Gres=(null)", "AvailableFeatures=v100,ib,v100 Gres=gpu:v100:4,hca:2,fs:lustre:1")
    (found,) = nodes(text)
    assert (found.shape.features, found.shape.gres) == (("ib", "v100"), ("fs:lustre:1", "hca:2"))
    (many,) = nodes(node("p", "Gres=(null)", "Gres=nvme:2T"))
    assert (many.shape.features, many.shape.gres) == ((), None), "a profile has no numbers that long"


@pytest.mark.parametrize(
    ("partition", "config", "memory"),
    [
        ("MaxMemPerCPU=1000", "MaxMemPerNode = 5000", 8000),
        ("MaxMemPerNode=UNLIMITED", "MaxMemPerCPU = 500", 4000),
        ("MaxMemPerNode=3000", "MaxMemPerCPU = 500", 3000),
        ("MaxMemPerNode=UNLIMITED", "MaxMemPerNode = 5000", 5000),
        ("MaxMemPerNode=UNLIMITED", "MaxMemPerNode = UNLIMITED", 100000),
    ],
)
def test_the_memory_of_a_node_is_what_its_cpus_allow(partition: str, config: str, memory: int) -> None:
    """Slurm refuses a job that would need more CPUs than the node has."""
    (record,) = partition_records(f"{PARTITION.format('a')} {partition}\n", slurm_config(config + "\n"))
    (shape,) = with_nodes(record, nodes(node("a", "RealMemory=1000", "RealMemory=100000"))).nodes
    assert shape.memory_mib == memory


def test_a_partition_for_jobs_with_a_reservation_is_recognized() -> None:
    text = "".join(f"{PARTITION.format(name)} ReqResv={name}\n" for name in ("NO", "YES"))
    assert [with_nodes(record, ()).requires_reservation for record in partition_records(text)] == [False, True]


def test_allowed_accounts_and_qos_of_a_partition_are_parsed() -> None:
    text = PARTITION.format("a") + " AllowAccounts=ALL AllowQos=high,normal\n"
    text += PARTITION.format("b").replace("AllowGroups=ALL", "AllowAccounts=research AllowQos=ALL")
    first, second = partition_records(text)
    assert (first.allow_accounts, first.allow_qos) == (None, ("high", "normal"))
    assert (second.allow_accounts, second.allow_qos) == (("research",), None)
