"""The backends that the contract suite goes through, each a column of its second table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from tests.cluster import pyslurm_build
from tests.cluster.instance import LOGIN, ClusterError
from tests.cluster.kinds import SLURMS
from tests.left_out import not_asked

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tests.contract.site import Site


def _as_it_is(_: Site) -> Mapping[str, str]:
    return {}


def _with_pyslurm(site: Site) -> Mapping[str, str]:
    """Name the Python that has pyslurm; on a cluster that somebody has, it is the one that runs paislurm."""
    if site.cluster is None:
        asked = site.run(
            "python", "-c", "from paislurm.translator.app.session import Session; Session().backend('pyslurm').check()"
        )
        if asked.returncode != 0:
            pytest.skip(next((line for line in asked.stderr.splitlines() if "E509" in line), asked.stderr[-200:]))
        return {}
    if why_not := pyslurm_build.why_not(site.slurm):
        not_asked(why_not)
    try:
        python = pyslurm_build.install(site.cluster.instance)
    except ClusterError as error:
        pytest.skip(str(error))
    return {"PAISLURM_PYSLURM_PYTHON": str(python), "PAISLURM_PYSLURM_UNSUPPORTED": "1"}


@dataclass(frozen=True)
class Way:
    """One way from paislurm to a Slurm.

    `words` are for `submit`; `environment` returns what commands have, and skips a case that cannot be; `host` is where
    paislurm runs. `backend` is the name that the job's journal has.
    """

    name: str
    backend: str
    words: tuple[str, ...] = ()
    environment: Callable[[Site], Mapping[str, str]] = _as_it_is
    host: str = LOGIN
    slurms: tuple[str, ...] = SLURMS
    """The Slurms of the project's own with which it is tried; on others it cannot be, or shows nothing more."""


WAYS = (
    Way("slurm", "slurm", ("--backend", "slurm")),
    Way("pyslurm_unsupported", "pyslurm", ("--backend", "pyslurm"), _with_pyslurm, slurms=("newest",)),
)
"""The second says in its name that the pair is unsupported: a pyslurm of an older Slurm."""

WAYS_OF_SSH = (Way("ssh_by_the_program", "ssh"), Way("ssh_by_fabric", "fabric", slurms=("newest",)))
"""How a machine without Slurm goes through a login node: `test_ssh.py` has their cases.

What Slurm says does not depend on what carries it, so that one of them tries all Slurms.
"""
