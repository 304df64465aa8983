"""What the plan and the head say of memory that is added is what Slurm is asked for."""

from __future__ import annotations

from typing import Any

import pytest

from paislurm.translator.site.profile import Site

from .compiled import compiled_for, role, site_of

UNKNOWN = Site.of()
KNOWN = site_of("partitions: {p: {nodes: [{count: 9, cpus: 6, memoryMB: 9000}]}}\ndefaultPartition: p\n")


def wants(instances: int, memory: int) -> dict[str, Any]:
    return role(instances, 0, 3, memory, completion={"minSucceededInstances": -1})


@pytest.mark.parametrize(("memory", "nodes"), [(4464, 1), (4465, 2)])
def test_a_node_has_room_for_the_batch_script_beside_the_tasks(memory: int, nodes: int) -> None:
    """Of the 9000 MiB of a node, it has 72."""
    (component,) = compiled_for(KNOWN, {"r0": wants(2, memory)}).plan.components
    assert component.nodes == nodes


@pytest.mark.parametrize(
    ("site", "instances", "memory", "asked", "note"),
    [
        (UNKNOWN, [2], 1000, ("mem-per-cpu", "358M"), "memory of each CPU raised by 24 MiB"),  # 334 without
        (UNKNOWN, [2], 1001, ("mem-per-cpu", "358M"), "memory of each CPU raised by 24 MiB"),
        (UNKNOWN, [2], 0, None, ""),
        (KNOWN, [2], 1000, ("mem", "2072M"), "memory raised by 72 MiB"),
        (KNOWN, [3], 1000, ("mem", "2072M"), "memory of each node raised by 72 MiB"),
        (KNOWN, [3], 0, None, ""),
        (KNOWN, [1, 1], 1000, ("mem", "2080M"), "memory raised by 80 MiB"),
        (KNOWN, [1, 2], 1000, ("mem", "2080M"), "memory of each node raised by 80 MiB"),
        (KNOWN, [1, 2], 0, None, ""),
    ],
)
def test_the_note_and_the_request_agree_about_added_memory(
    site: Site, instances: list[int], memory: int, asked: tuple[str, str] | None, note: str
) -> None:
    roles = {f"r{number}": wants(count, memory) for number, count in enumerate(instances)}
    compiled = compiled_for(site, roles, {"slurm": {"layout": "shared"}} if site is KNOWN else {})
    (component,) = compiled.plan.components
    found = [option for option in component.directives if option[0].startswith("mem")]
    assert found == ([asked] if asked else [])
    assert (component.note or "").partition(" for the batch")[0] == note
    head = " ".join(compiled.script.partition("paislurm runtime")[0].replace("\n# ", " ").split())
    assert (" raised by " in head) is bool(note)
    assert f"{note[1:]} for the batch script" in head or not note
