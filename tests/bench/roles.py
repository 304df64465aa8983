"""What task roles cost: a job in which each of 1,000 roles takes a node of its own, on a site of 1,000 nodes."""

from __future__ import annotations

import gc
from functools import partial
from time import process_time
from typing import TYPE_CHECKING

import yaml

from paislurm.translator.planning.planner import plan
from paislurm.translator.protocol.validate import validate
from paislurm.translator.reading.read import read
from paislurm.translator.rendering.render import render
from paislurm.translator.rendering.verification import verify
from paislurm.translator.site.profile import Partition, Shape, Site

from .compiling import HEAD, script_of
from .measure import Ratio, exponent, times_of
from .peers import submitit_seconds, torchx_seconds

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .measure import Note

CPUS = 64
SHAPE = Shape.of(count=1000, cpus=CPUS, memory_mib=1 << 18)
SITE = Site.of(partitions={"big": Partition.of(nodes=(SHAPE,))}, default_partition="big").known()
ROLE = """  r%d:
    instances: 1
    dockerImage: plain
    resourcePerInstance: {cpu: %d, memoryMB: 1024, gpu: 0}
    commands: [python train.py]
"""
SIZES = (125, 250, 500, 1000)
MOST_BYTES = 1500


def run(*, peers: bool = False) -> Iterator[Ratio | Note]:
    """Yield the ratios, and with `peers` those to other programs of the kind."""
    # The program, too, does without the collector.
    gc.disable()
    try:
        yield from _compiling(peers=peers)
        yield from _sizes()
    finally:
        gc.enable()


def job(roles: int) -> str:
    """Return a job file in which each role takes all CPUs of a node."""
    return HEAD + "".join(ROLE % (k, CPUS) for k in range(roles)) + "extras: {slurm: {layout: shared}}\n"


def _compiling(*, peers: bool) -> Iterator[Ratio | Note]:
    texts = [job(size) for size in SIZES]
    *times, loaded = times_of(
        *(partial(script_of, text, SITE) for text in texts),
        lambda: yaml.load(texts[-1], getattr(yaml, "CSafeLoader", yaml.SafeLoader)),
        turns=7,
        clock=process_time,
    )
    yield Ratio(
        f"time to compile and render {SIZES[-1]:,} roles : to load their YAML with PyYAML", times[-1], loaded, 5
    )
    yield Ratio(f"exponent of roles in that time, of {SIZES[0]} to {SIZES[-1]:,} : 1", exponent(SIZES, times), 1, 1.15)
    if peers:
        checked = validate(read(texts[-1], file="job.yaml")).job
        [scripted] = times_of(
            lambda: render(plan(checked, SITE, source="job.yaml", version="1")), turns=7, clock=process_time
        )
        for name, seconds, *limits in (("torchx", torchx_seconds, 3.5, 4.5), ("submitit", submitit_seconds, 10, 20)):
            taken = seconds(SIZES[-1])
            for what, own, limit in zip(
                ("plan and render", "compile and render"), (scripted, times[-1]), limits, strict=True
            ):
                text = f"time to {what} {SIZES[-1]:,} roles : {name}'s dry run of as many"
                yield Ratio(text, own, taken, limit) if isinstance(taken, float) else taken


def _sizes() -> Iterator[Ratio]:
    few, less, more = (script_of(job(roles), SITE) for roles in (SIZES[0], *SIZES[-2:]))
    each = (len(more) - len(less)) / (SIZES[-1] - SIZES[-2])
    yield Ratio(f"bytes of script for each role : {MOST_BYTES:,}", each, MOST_BYTES, 1)
    taken = times_of(lambda: verify(more, "any"), lambda: verify(few, "any"), turns=5, clock=process_time)
    yield Ratio(
        f"time to verify a role: of {SIZES[-1]:,} roles : of {SIZES[0]}", taken[0] / SIZES[-1], taken[1] / SIZES[0], 2
    )
