"""Where tasks are, which line leads to their ports, and what sstat says that they use."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.cluster.jobs import role
from tests.cluster.processes import wait_until
from tests.contract.showing import SERVES

if TYPE_CHECKING:
    from pathlib import Path

    from tests.contract.site import Job, Site

BUSY = "python3 -c 'x = bytearray(40 << 20); any(False for _ in iter(int, 1))'"
TWO = role("web", 2, SERVES) + role("busy", 1, BUSY)
LAYOUTS = {
    "het": "{slurm: {layout: het}}",
    "shared": "{slurm: {layout: shared}}",
    "slots": "{gangAllocation: false, slurm: {layout: het}}",
}


def document(job: Job, *words: str) -> Any:
    done = job.paislurm(words[0], "--json", job.name, *words[1:])
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("extras", LAYOUTS.values(), ids=LAYOUTS)
def test_status_shows_task_places_and_memory_use(site: Site, folder: Path, extras: str) -> None:
    job = site.submit(folder, TWO, extras)
    wait_until(lambda: {task["state"] for task in job.status()["tasks"]} == {"RUNNING"}, "all tasks to run", 120)
    known = job.status()["tasks"]
    addresses = {(task["node"], task["node_address"]) for task in known}
    assert len({node for node, _ in addresses}) == len(addresses)
    assert all(address for _, address in addresses)
    assert all(set(task["ports_by_label"]) == {"http", "ssh"} for task in known)
    done = job.paislurm("port-forward", job.name, "web-1", "http")
    port = known[1]["ports_by_label"]["http"][0]
    assert f" -L {port}:{known[1]['node_address']}:{port} {site.user}@" in done.stdout, done.stderr

    def used() -> list[dict[str, Any]]:
        return document(job, "status", "--usage")["usages"] or [{"used_memory_mib": 0}]

    wait_until(lambda: used()[-1]["used_memory_mib"] >= 40, "sstat to see the memory", 60)
    web, busy = used()
    assert (web["role"], web["running_tasks"], busy["role"], busy["running_tasks"]) == ("web", 2, "busy", 1)
    assert busy["max_memory_mib"] >= busy["used_memory_mib"] > web["used_memory_mib"]
    job.paislurm("cancel", job.name)
    job.paislurm("wait", job.name)
    later = job.status()["tasks"]
    assert [(task["node_address"], task["ports_by_label"]) for task in later] == [
        (task["node_address"], task["ports_by_label"]) for task in known
    ]
