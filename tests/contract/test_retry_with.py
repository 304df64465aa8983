"""An attempt that lacked memory or time is followed by one that requests more, on a Slurm with real limits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.cluster.jobs import BOTH, role
from tests.left_out import not_asked

if TYPE_CHECKING:
    from pathlib import Path

    from tests.contract.site import Site

NEEDS = 'python3 -c "len(b\'x\' * (1500 << 20))"; echo "had $PAI_CURRENT_TASK_ROLE_MEM_MB"'
"""Commands that need 1,500 MB and a little more."""
RETRIED = "retry: {maxTransientRetries: 5}\n"


def hungry(mib: int) -> str:
    """Return roles of which one needs more memory than it requests at first."""
    return role("big", 1, NEEDS).replace("memoryMB: 100", f"memoryMB: {mib}") + role("small", 1, "sleep 1")


@BOTH
def test_the_next_attempt_has_more_memory(site: Site, folder: Path, layout: str) -> None:
    if site.tracks_by_parents:
        not_asked("this Slurm runs without control groups, and limits no memory")
    more = "{outOfMemory: {memory: x2, upTo: 2000, times: 3}}"
    extras = f"{{slurm: {{layout: {layout}, taskRoles: {{big: {{retryWith: {more}}}}}}}}}"
    job = site.submit(folder, hungry(500), extras, RETRIED)
    assert job.over()[:2] == ("SUCCEEDED", 0)
    shown = job.status()
    assert [attempt["exit_code"] for attempt in shown["attempts"]] == [-1200, -1200]
    rules = [attempt["retry_rule"] for attempt in shown["attempts"]]
    assert rules == [f"retried with more memory: big {mib} MiB, {k} of 2" for k, mib in ((1, 1000), (2, 2000))]
    assert job.log("0-big/0", attempt=2).split() == ["had", "2000"]
    told = job.paislurm("status", "--", job.name).stdout
    assert "memory big 2000 MiB" in told


def test_without_the_key_a_lack_of_memory_is_final(site: Site, folder: Path) -> None:
    if site.tracks_by_parents:
        not_asked("this Slurm runs without control groups, and limits no memory")
    job = site.submit(folder, hungry(500), "", RETRIED)
    assert job.over()[:2] == ("FAILED", -1200)
    assert not job.status()["attempts"]


def test_the_next_attempt_has_more_time(site: Site, folder: Path) -> None:
    extras = "{slurm: {time: 1, retryWith: {timeout: {time: x3}}}}"
    job = site.submit(folder, role("long", 1, "sleep 110; echo done"), extras, RETRIED)
    assert job.over()[:2] == ("SUCCEEDED", 0)
    (first,) = job.status()["attempts"]
    assert (first["exit_code"], first["retry_rule"]) == (
        -1004,
        "retried with a longer time limit: 00:03:00, 1 of 1",
    )
