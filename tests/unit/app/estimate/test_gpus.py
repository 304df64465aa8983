"""Tests of free GPUs from sinfo and squeue, for sites without recorded answers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paislurm.backends.slurm.estimate_commands import sinfo_gpus, squeue_waiting
from paislurm.translator.app.estimate.gpus import GpuCount, PartitionGpus, pools
from paislurm.translator.cli.output.estimate import gpus_text


def node(state: str = "idle", has: str = "gpu:a100:4", used: str = "gpu:a100:1(IDX:0)", available: str = "up") -> str:
    return f"n1|gpu*|{available}|{state}|{has}|{used}|4/12/0/16|64000|16000|\n"


def waiting(tres: str = "", node: str = "", job: str = "", task: str = "", reason: str = "Priority") -> str:
    shown = (each or "N/A" for each in (tres, node, job, task))
    return f"7|gpu|2|3|{'|'.join(shown)}|{reason}|\n"


def only(text: str, jobs: str = "") -> PartitionGpus:
    (pool,) = pools(text, jobs)
    return pool.gpus


def counts(found: PartitionGpus) -> tuple[int, ...]:
    """Return the GPUs that are free, all, those of unavailable nodes, these nodes, and the stranded GPUs."""
    return (
        found.free_gpu_count, found.gpu_count, found.unavailable_gpu_count, found.unavailable_node_count,
        found.stranded_gpu_count,
    )  # fmt: skip


@pytest.mark.parametrize(
    "state", ["idle", "mixed", "idle~", "idle~*".rstrip("*"), "planned", "completing", "powered_down"]
)
def test_free_gpus(state: str) -> None:
    pool = only(node(state))
    assert counts(pool) == (3, 4, 0, 0, 0)


@pytest.mark.parametrize("state", ["drained", "draining@", "down*", "idle*", "maint", "reserved", "failing", "unknown"])
def test_gpus_of_unavailable_or_reserved_nodes(state: str) -> None:
    pool = only(node(state))
    assert counts(pool) == (0, 4, 4, 1, 0)
    assert gpus_text(pool).startswith(
        "GPUs in partition gpu now: 0 of 4 free (a100 0 of 4), 4 on unavailable or reserved nodes"
    )


def test_gpus_without_a_free_cpu() -> None:
    pool = only(node("allocated"))
    assert counts(pool) == (0, 4, 0, 0, 3)


def test_gpus_are_counted_by_type() -> None:
    text = node(
        has="gpu:v100:2(S:0),gpu:a100:2(S:1),shard:8", used="gpu:v100:2(IDX:0-1),gpu:a100:1(IDX:2),shard:0(0/8)"
    )
    assert only(text).gpu_types == (
        GpuCount(gpu_type="a100", gpu_count=2, free_gpu_count=1),
        GpuCount(gpu_type="v100", gpu_count=2, free_gpu_count=0),
    )
    plain = only(node(has="gpu:4", used="gpu:(null):3(IDX:0-2)"))
    assert plain.gpu_types == (GpuCount(gpu_type=None, gpu_count=4, free_gpu_count=1),)
    assert gpus_text(plain) == "GPUs in partition gpu now: 1 of 4 free, no job waits for any"
    assert only(node(has="(null)", used="gpu:0")).gpu_types == ()


@pytest.mark.parametrize(
    ("row", "asked"),
    [
        (waiting("cpu=2,node=2,gres/gpu=6,gres/gpu:a100=6", node="gres/gpu:a100:3"), 6),
        (waiting("cpu=2,node=2", node="gres/gpu:a100:3"), 6),
        (waiting("cpu=2,node=2", node="gres:gpu:2,gres:hca:1"), 4),
        (waiting("cpu=2,node=2", node="gres:gpu"), 2),
        (waiting("cpu=2,node=2", node="gres/gpu:a100"), 2),
        (waiting(job="gres/gpu=5"), 5),
        (waiting(task="gres/gpu:a100=2"), 6),
        (waiting("cpu=2,node=2,gres/gpumem=5"), 0),
        (waiting(node="gres:gpumem:5"), 0),
        (waiting("gres/gpu=6", reason="JobHeldAdmin"), 0),
        (waiting("gres/gpu=6", reason="Dependency"), 6),
    ],
)
def test_gpus_that_waiting_jobs_request(row: str, asked: int) -> None:
    pool = only(node(), row)
    assert (pool.waiting_job_count, pool.waiting_gpu_count) == (bool(asked), asked)


def test_gpus_of_another_name() -> None:
    text, jobs = node(has="accel:4,gpu:1", used="accel:1"), waiting(node="gres/accel:2") + waiting(node="gres/gpu:1")
    (pool,) = pools(text, jobs, "accel")
    assert (counts(pool.gpus)[:2], pool.gpus.waiting_gpu_count) == ((3, 4), 4)


def test_components_are_one_job() -> None:
    rows = waiting("gres/gpu=2").replace("7|", "7+0|", 1) + waiting("gres/gpu=3").replace("7|", "7+1|", 1)
    pool = only(node(), rows)
    assert (pool.waiting_job_count, pool.waiting_gpu_count) == (1, 5)


def test_answers_of_another_cluster() -> None:
    assert only(f"CLUSTER: far\n{node()}").gpu_count == 4
    assert "--clusters=far" in sinfo_gpus(["gpu"], "far")
    assert "--clusters=far" in squeue_waiting(["gpu"], "far")
    assert "--local" in sinfo_gpus()


@given(st.text(alphabet="gpu:|,()a1/=*\n ", max_size=80), st.text(alphabet="gpures:/|,=1 \nN", max_size=80))
def test_any_answer_is_parsed(nodes: str, jobs: str) -> None:
    for pool in pools(nodes, jobs):
        assert 0 <= pool.gpus.free_gpu_count <= pool.gpus.gpu_count
