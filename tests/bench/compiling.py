"""What the command line and the compiler cost."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from paislurm.translator.pipeline import compile_job
from paislurm.translator.site.profile import Partition, Shape, Site

from .measure import Ratio, best, process

if TYPE_CHECKING:
    from collections.abc import Iterator

PYTHON = os.path.realpath(sys.executable)
HELLO = str(Path(__file__).parents[2] / "examples" / "hello-world.yaml")
SHAPE = Shape(count=100, cpus=64, memory_mib=1 << 18)
BIG = Site(known=True, partitions=(Partition(name="big", shapes=(SHAPE,)),), default_partition="big")
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
    yield _help()
    yield _script()
    yield from _instances()
    yield _roles()


def _python(*argv: str) -> list[str]:
    """Return a command line of this interpreter by its real path, with the packages of this environment.

    It keeps what it compiles, as it does for users.
    """
    path = os.pathsep.join(path for path in sys.path if path)
    return ["env", "--unset=PYTHONDONTWRITEBYTECODE", f"PYTHONPATH={path}", PYTHON, "-S", *argv]


def _help() -> Ratio:
    taken, bare = best(process(_python("-m", "paislurm.translator.cli.main", "--help")), process(_python("-c", "pass")))
    return Ratio("paislurm --help : python -c pass", taken, bare, 6)


def _script() -> Ratio:
    libraries = "import yaml, pydantic, jinja2"
    taken, bare = best(
        process(_python("-m", "paislurm.translator.cli.main", "script", HELLO)), process(_python("-c", libraries))
    )
    return Ratio("paislurm script hello-world : importing PyYAML, pydantic and Jinja2", taken, bare, 2.2)


def _instances() -> Iterator[Ratio]:
    one, thousand = HEAD + ROLE % (0, 1), HEAD + ROLE % (0, 1000)
    size = [len(compile_job(text).script) for text in (thousand, one)]
    yield Ratio("size of the script: 1,000 instances : 1", size[0], size[1], 1.05)
    taken = best(lambda: compile_job(thousand), lambda: compile_job(one), turns=45)
    yield Ratio("time to compile: 1,000 instances : 1", taken[0], taken[1], 1.05)


def _roles() -> Ratio:
    ten, thousand = (HEAD + "".join(ROLE % (k, 1) for k in range(count)) for count in (10, 1000))
    for text in (ten, thousand):
        compile_job(text, site=BIG)
    taken, bare = best(lambda: compile_job(thousand, site=BIG), lambda: compile_job(ten, site=BIG), turns=5)
    return Ratio("time to compile a role: of 1,000 roles : of 10", taken / 1000, bare / 10, 5)
