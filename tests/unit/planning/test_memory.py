"""What the plan and the head say of memory that is added is what Slurm is asked for."""

from __future__ import annotations

import pytest

from paislurm.translator.pipeline import compile_job
from paislurm.translator.site.profile import Partition, Shape, Site

UNKNOWN = Site()
KNOWN = Site(
    known=True,
    partitions=(Partition(name="p", shapes=(Shape(count=9, cpus=4, memory_mib=9000),)),),
    default_partition="p",
)
JOB = """protocolVersion: 2
name: demo
type: job
prerequisites: [{{name: plain, type: dockerimage, uri: debian}}]
taskRoles:
  worker:
    instances: {instances}
    dockerImage: plain
    resourcePerInstance: {{cpu: 3, memoryMB: {memory}, gpu: 0}}
    commands: [echo hello]
extras: {{slurm: {{layout: {layout}}}}}
"""


@pytest.mark.parametrize(
    ("site", "layout", "instances", "memory", "asked", "note"),
    [
        (UNKNOWN, "het", 2, 1000, ("mem-per-cpu", "358M"), "memory of each CPU raised by 24 MiB"),  # 334 without
        (UNKNOWN, "het", 2, 1001, ("mem-per-cpu", "358M"), "memory of each CPU raised by 24 MiB"),
        (KNOWN, "het", 1, 1000, ("mem", "1072M"), "memory raised by 72 MiB"),
        (KNOWN, "het", 3, 1000, ("mem", "1072M"), "memory of each node raised by 72 MiB"),
        (KNOWN, "shared", 1, 1000, ("mem", "1072M"), "memory raised by 72 MiB"),
        (KNOWN, "shared", 3, 1000, ("mem", "1072M"), "memory of each node raised by 72 MiB"),
        (UNKNOWN, "het", 2, 0, None, ""),
        (KNOWN, "het", 2, 0, None, ""),
        (KNOWN, "shared", 2, 0, None, ""),
    ],
)
def test_added_memory_is_told_as_it_is_asked_for(
    site: Site, layout: str, instances: int, memory: int, asked: tuple[str, str] | None, note: str
) -> None:
    compiled = compile_job(JOB.format(instances=instances, memory=memory, layout=layout), site=site)
    (component,) = compiled.plan.components
    found = [option for option in component.directives if option[0].startswith("mem")]
    assert found == ([asked] if asked else [])
    assert component.note.partition(" for the batch")[0] == note
    head = " ".join(compiled.script.partition("paislurm runtime")[0].replace("\n# ", " ").split())
    assert (f"{note[:1].upper()}{note[1:]} for the batch script" in head) is bool(note)
