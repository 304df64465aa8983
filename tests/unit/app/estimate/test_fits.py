"""Tests of whether the resources of a job are free now, and of later starts despite free resources."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from paislurm.translator.app.document import plain
from paislurm.translator.app.estimate.ask import ask_start
from paislurm.translator.app.estimate.fits import fits_now
from paislurm.translator.app.estimate.gpus import Pool, pools
from paislurm.translator.app.estimate.start import Start
from paislurm.translator.app.session import Session
from paislurm.translator.cli.output.estimate import start_text

from ...backends.recording import Replay, read
from ...site.detection.answered import VERSIONS

Options = tuple[tuple[str, str | None], ...]


def asks(text: str) -> Options:
    """Return options of sbatch: `ntasks=1 no-requeue`."""
    pairs = (word.partition("=") for word in text.split())
    return tuple((name, value if equals else None) for name, equals, value in pairs)


def node(
    name: str,
    *,
    state: str = "mixed",
    partition: str = "gpu*",
    idle: int = 8,
    used: int = 8,
    gres: str = "gpu:a100:4,hca:2",
    taken: str = "gpu:a100:2(IDX:0-1),hca:0",
    allocated: int = 4000,
) -> str:
    return f"{name}|{partition}|up|{state}|{gres}|{taken}|{used}/{idle}/0/16|10000|{allocated}|\n"


SITE = node("n1") + node("n2") + node("n3", state="idle", used=0, idle=16, taken="", allocated=0)
"""Two nodes with 8 CPUs, 6000 MiB and 2 GPUs left, and one with 16, 10000 and 4."""
TASK = "no-requeue time=05:00 cpus-per-task=4 mem-per-cpu=250M "


@pytest.mark.parametrize(
    ("components", "fits"),
    [
        ([f"{TASK}ntasks=1"], True),
        ([f"{TASK}ntasks=8"], True),
        ([f"{TASK}ntasks=9"], False),
        ([f"{TASK}ntasks=4 gpus-per-task=a100:2"], True),
        ([f"{TASK}ntasks=5 gpus-per-task=2"], False),
        ([f"{TASK}ntasks=1 gpus-per-task=v100:1"], False),
        ([f"{TASK}nodes=3 ntasks=3 ntasks-per-node=1 gres=gpu:2,hca:1"], True),
        ([f"{TASK}nodes=2 ntasks=2 ntasks-per-node=1 gres=gpu:a100:3"], False),
        ([f"{TASK}nodes=1 ntasks=1 ntasks-per-node=1 gres=gpu:a100:4"], True),
        ([f"{TASK}nodes=4 ntasks=4"], False),
        ([f"{TASK}nodes=1 ntasks=2 ntasks-per-node=1"], False),
        (["nodes=1 ntasks=1 cpus-per-task=1 mem=6001M"], True),
        (["nodes=2 ntasks=2 cpus-per-task=1 mem=6001M"], False),
        (["ntasks=1 cpus-per-task=16"], True),
        (["ntasks=2 cpus-per-task=9"], False),
        ([f"{TASK}ntasks=1 partition=gpu,debug"], True),
        ([f"{TASK}ntasks=3 gpus-per-task=1", f"{TASK}ntasks=3 gpus-per-task=1"], True),
        ([f"{TASK}nodes=2 ntasks=2", f"{TASK}nodes=2 ntasks=2"], False),
        ([f"{TASK}ntasks=1 partition=debug"], None),
        ([f"{TASK}ntasks=1 constraint=fast"], None),
        ([f"{TASK}ntasks=1 exclude=n1"], None),
        ([f"{TASK}ntasks=1 begin=now+1hour"], None),
        ([f"{TASK}ntasks=1 reservation=r"], None),
        ([], None),
    ],
)
def test_free_resources(components: list[str], fits: bool | None) -> None:
    assert fits_now([asks(each) for each in components], pools(SITE)) is fits


@pytest.mark.parametrize("state", ["drained", "reserved", "allocated", "idle*"])
def test_unavailable_nodes_have_no_free_resources(state: str) -> None:
    assert fits_now([asks("ntasks=1 mem-per-cpu=1M")], pools(node("n1", state=state))) is False


def test_a_partition_that_is_down_has_no_free_resources() -> None:
    assert fits_now([asks("ntasks=1 mem-per-cpu=1M")], pools(SITE.replace("|up|", "|down|"))) is False


def test_without_an_answer_free_resources_are_unknown() -> None:
    assert fits_now([asks("ntasks=1 mem-per-cpu=1M")], ()) is None


OPTION = st.tuples(
    st.sampled_from(["nodes", "ntasks", "ntasks-per-node", "cpus-per-task", "mem", "mem-per-cpu", "gres", "partition"])
    | st.text(max_size=5),
    st.none() | st.integers(0, 40).map(str) | st.text(max_size=8),
)


@given(st.lists(st.lists(OPTION, max_size=6).map(tuple), max_size=3), st.lists(st.text(max_size=6), max_size=9))
def test_any_options_and_answers_are_parsed(components: list[Options], columns: list[str]) -> None:
    assert fits_now(components, pools(f"{'|'.join(columns)}|\n{SITE}")) in (True, False, None)


@given(st.integers(1, 12), st.integers(1, 20))
def test_fewer_tasks_fit_where_more_fit(tasks: int, cpus: int) -> None:
    def fits(count: int) -> bool | None:
        return fits_now([asks(f"ntasks={count} cpus-per-task={cpus} mem-per-cpu=1M")], found)

    found = pools(SITE)
    assert not fits(tasks + 1) or fits(tasks)


@pytest.mark.parametrize("version", VERSIONS)
def test_a_full_and_an_idle_partition(version: str) -> None:
    """In the recorded answers, node n2 of `pair` has one CPU and one GPU left."""

    def free(*components: str) -> bool | None:
        runner = Replay(read("estimate_busy", version))
        options = [asks(each) for each in components]
        return ask_start(Session(), runner, "#!/bin/bash\n", ["pair", "watched"], components=options)[0].resources_free

    small = "partition=pair nodes=1 ntasks=1 mem=100M gres=gpu:1"
    assert free(small, "partition=watched nodes=2 ntasks=2 mem=100M gres=gpu:4") is True
    assert free(small, "partition=watched nodes=2 ntasks=2 mem=100M gres=gpu:5") is False
    assert free(small.replace("gpu:1", "gpu:2")) is False
    assert free(f"{small} cpus-per-task=2") is False
    assert free() is None


def test_a_later_start_despite_free_resources() -> None:
    later = Start(at=9000, nodes="n1", partition="gpu", resources_free=True)
    said = start_text("demo", later, ["gpu"], components=1, now=1200)
    assert said.startswith("resources for demo are free now: backfill may start it at once, if its time limit ends ")
    assert "; Slurm's estimate, without backfill, is 1970-01-01" in said
    assert said.endswith(" (in 2 h 10 min) on n1 in partition gpu")
    for free in (False, None):
        other = start_text("demo", replace(later, resources_free=free), ["gpu"], components=1, now=1200)
        assert other.endswith("on n1 in partition gpu (Slurm's estimate)")
        assert "backfill" not in other
    at_once = start_text("demo", later, ["gpu"], components=1, now=9000)
    assert at_once == "demo would start at once on n1 in partition gpu (Slurm's estimate)"


def test_the_document_omits_free_nodes() -> None:
    (pool,) = pools(SITE)
    assert isinstance(pool, Pool)
    assert [(each.name, each.cpus, each.memory_mib) for each in pool.free_nodes] == [
        ("n1", 8, 6000),
        ("n2", 8, 6000),
        ("n3", 16, 10000),
    ]
    assert not any("node" in key and "count" not in key for key in plain(pool.gpus))
