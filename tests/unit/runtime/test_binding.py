"""What a task says that did not get what its binding plans, and what the job's log has of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from ..written_files import write_files
from .bash import lines_of as bash

SHARED = "this task shares CPUs: the {} tasks of its step on n1 need {} CPUs and are bound to {}"


def checked(masks: str, local: int = 0, code: str = "", cpus: int = 1) -> list[str]:
    """Return what a task logs and reports, and whether it goes on."""
    return bash(f"""
        PSL_CPU_MASKS={masks} SLURM_LOCALID={local} SLURM_CPUS_PER_TASK={cpus} PSL_RUNNING='7 0' PSL_RANK=0
        PSL_BINDING=()
        {code}
        exec {{PSL_REPORT_FD}}>&1
        check_binding 0 2>&1 || echo ended
    """)


def warned(text: str) -> list[str]:
    return [f"paislurm: warning: {text}", f"mismatch 0 7 warning: {text}"]


WIDE = f"0x1{'0' * 31},0x3{'0' * 31}"


@pytest.mark.parametrize(
    ("masks", "local", "cpus", "said"),
    [
        ("0x1,0x2", 0, 1, []),
        ("0x1,0x1", 1, 1, warned(SHARED.format(2, 2, 1))),
        ("0x0F,0x3C", 0, 4, warned(SHARED.format(2, 8, 6))),
        # Both are bound to a socket with CPUs for both.
        ("0xFF,0xFF", 0, 4, []),
        # Others share; this task does not.
        ("0x1,0x2,0x2", 0, 1, []),
        ("0x1,0x2,0x2", 2, 1, warned(SHARED.format(3, 3, 2))),
        (WIDE, 0, 2, warned(SHARED.format(2, 4, 2))),
        ("0xF", 0, 8, []),
        ("", 0, 1, []),
        ("0x1,none", 0, 1, []),
        ("0x1,0x1", 5, 1, []),
    ],
)
def test_a_task_that_shares_cpus_says_so(masks: str, local: int, cpus: int, said: list[str]) -> None:
    assert checked(masks, local, cpus=cpus) == said


def test_a_mismatch_ends_a_strict_task() -> None:
    text = SHARED.format(2, 2, 1)
    lines = [f"paislurm: error: {text}", f"mismatch 0 7 error: {text}", "ended"]
    assert checked("0x1,0x1", code="PSL_BINDING=('gpu strict')") == lines
    assert checked("0x1,0x2", code="PSL_BINDING=(strict)") == []


def test_a_task_without_binding_expects_nothing() -> None:
    assert checked("0x1,0x1", code="PSL_BINDING=('none strict')") == []


def test_all_mismatches_are_said_once() -> None:
    found = checked("0x1,0x2", code="PSL_MISMATCHES=$'a far GPU\\na far adapter\\n'")
    assert found == [*warned("a far GPU"), *warned("a far adapter")]
    assert (
        checked("0x1,0x2", code="PSL_MISMATCHES=$'x\\n'; check_binding 0 2>/dev/null {PSL_REPORT_FD}>/dev/null") == []
    )


def test_the_log_of_the_job_has_the_first_tasks() -> None:
    code = "PSL_ROLE_NAME=(w); for i in 0 1 2 3 4; do dispatch_event mismatch 0 $i warning: far; done 2>&1"
    said = [f"paislurm: warning: task w-{number}: far" for number in range(3)]
    assert bash(code) == [*said, "paislurm: warning: more tasks did not get what their binding plans: see their logs"]


@pytest.mark.parametrize("words", ["mismatch", "mismatch 0 0", "mismatch 1 0 warning: x", "mismatch a[0] 0 warning: x"])
def test_other_reports_of_a_mismatch_are_none(words: str) -> None:
    assert bash(f"PSL_ROLE_NAME=(w); dispatch_event {words} 2>&1") == []


def adapter(folder: Path, name: str, domain: int, *, layer: str = "InfiniBand", state: str = "4: ACTIVE") -> None:
    files = {"device/numa_node": str(domain), "ports/1/link_layer": layer, "ports/1/state": state}
    write_files(folder / "infiniband" / name, {file: f"{text}\n" for file, text in files.items()})


FAR = "the adapter mlx5_1 of n1 is in NUMA domain 1, as is a GPU of this task, but no adapter of the site profile is"


@pytest.mark.parametrize(
    ("code", "far"),
    [
        ("", True),
        ("PSL_INFINIBAND_CHECKS=('hca:mlx5_0 hca:mlx5_1:1')", False),
        ("PSL_INFINIBAND_CHECKS=(hca:mlx5_4)", False),
        ("PSL_DIVIDED_GPUS=(0)", False),
        ("PSL_DIVIDED_GPUS=(0 1)", False),
        ("PSL_DIVIDED_GPUS=()", False),
        ("PSL_GPU_DOMAINS=()", False),
        ("rm -r $PSL_SYSFS/infiniband/mlx5_1", False),
        ("echo -1 >$PSL_SYSFS/infiniband/mlx5_1/device/numa_node", False),
    ],
)
def test_an_adapter_that_the_profile_leaves_out(tmp_path: Path, code: str, far: bool) -> None:
    """Nothing is said where a domain is unknown, and of adapters that are down or of another link layer."""
    adapter(tmp_path, "mlx5_0", 0)
    adapter(tmp_path, "mlx5_1", 1)
    adapter(tmp_path, "mlx5_2", 1, state="1: DOWN")
    adapter(tmp_path, "mlx5_3", 1, layer="Ethernet")
    adapter(tmp_path, "mlx5_4", -1)
    found = bash(f"""
        PSL_SYSFS={tmp_path} PSL_GPU_DOMAINS=(0 1) PSL_DIVIDED_GPUS=(1) PSL_INFINIBAND_CHECKS=('hca:mlx5_0 net:ib0')
        PSL_MISMATCHES=
        {code}
        note_far_adapters 0
        printf '%s' "$PSL_MISMATCHES"
    """)
    assert found == ([FAR] if far else [])
