"""What the compiler costs, by the number of instances and of roles."""

from __future__ import annotations

from functools import partial
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
FEW, MANY = 10, 1000


def run() -> Iterator[Ratio]:
    """Yield the ratios, measured one after the other."""
    yield from _instances()
    yield _roles()


def script_of(text: str, site: Site | None = None) -> str:
    """Compile a job file and render the script, which `compile_job` leaves for the first access."""
    return compile_job(text, site=site or Site.of()).script


def before_dispatch(script: str) -> str:
    """Return the functions of a script, without its last part, which calls them."""
    functions, marker, _ = script.partition("# ==== dispatch ====\n")
    assert marker
    return functions


def _instances() -> Iterator[Ratio]:
    many, one = HEAD + ROLE % (0, MANY), HEAD + ROLE % (0, 1)
    size = [len(script_of(text)) for text in (many, one)]
    yield Ratio(f"size of the script: {MANY:,} instances : 1", size[0], size[1], 1.05)
    taken = times_of(partial(script_of, many), partial(script_of, one), turns=45, clock=process_time)
    yield Ratio(f"time to compile and render: {MANY:,} instances : 1", taken[0], taken[1], 1.15)


def _roles() -> Ratio:
    both = [partial(script_of, HEAD + "".join(ROLE % (k, 1) for k in range(count)), BIG) for count in (MANY, FEW)]
    for compiling in both:
        compiling()
    taken, bare = times_of(*both, turns=5, clock=process_time)
    return Ratio(f"time to compile and render a role: of {MANY:,} roles : of {FEW}", taken / MANY, bare / FEW, 2)
