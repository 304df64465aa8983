"""What the compiler costs, by the number of instances and of roles."""

from __future__ import annotations

from time import process_time
from typing import TYPE_CHECKING

from paislurm.translator.pipeline import compile_job
from paislurm.translator.site.profile import Partition, Shape, Site

from .measure import Ratio, times_of

if TYPE_CHECKING:
    from collections.abc import Iterator

SHAPE = Shape.of(count=100, cpus=64, memory_mib=1 << 18)
BIG = Site.of(partitions={"big": Partition.of(nodes=(SHAPE,))}, default_partition="big").known()
HEAD = """protocolVersion: 2
name: bench
type: job
prerequisites: [{name: plain, type: dockerimage, uri: debian}]
taskRoles:
"""
ROLE = """  r%d:
    instances: %d
    dockerImage: plain
    resourcePerInstance: {cpu: 1, memoryMB: 100, gpu: 0}
    commands: [echo hello]
"""


def run() -> Iterator[Ratio]:
    """Yield the ratios, measured one after the other."""
    yield from _instances()
    yield _roles()


def _instances() -> Iterator[Ratio]:
    one, thousand = HEAD + ROLE % (0, 1), HEAD + ROLE % (0, 1000)
    size = [len(compile_job(text).script) for text in (thousand, one)]
    yield Ratio("size of the script: 1,000 instances : 1", size[0], size[1], 1.05)
    taken = times_of(lambda: compile_job(thousand), lambda: compile_job(one), turns=45, clock=process_time)
    yield Ratio("time to compile: 1,000 instances : 1", taken[0], taken[1], 1.15)


def _roles() -> Ratio:
    ten, thousand = (HEAD + "".join(ROLE % (k, 1) for k in range(count)) for count in (10, 1000))
    for text in (ten, thousand):
        compile_job(text, site=BIG)
    both = (lambda: compile_job(thousand, site=BIG), lambda: compile_job(ten, site=BIG))
    taken, bare = times_of(*both, turns=5, clock=process_time)
    return Ratio("time to compile a role: of 1,000 roles : of 10", taken / 1000, bare / 10, 2)
