"""pyslurm, built of its sources on PyPI inside a root tree, for the tests of the backend that asks it.

It is GPL-2.0-only: nothing of it is in this repository. It takes a minute, once a machine.
"""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

from tests.cluster import trees
from tests.cluster.boot import locked
from tests.cluster.hosts import call, enter
from tests.cluster.instance import LOGIN, TOOL, require_privilege

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cluster.instance import Instance

REQUIREMENT = "pyslurm==25.11.2"
"""It is for Slurm 25.11, and PyPI has none for any Slurm that Debian has: the pairs of the tests are unsupported."""
HEADER = TOOL / "pyslurm_headers" / "of_26_05.h"
BUILD = """
version=$(dpkg-query --show --showformat='${Version}' slurm-client)
apt-get --quiet --yes install --no-install-recommends "libslurm-dev=$version" python3-dev
mkdir /here/slurm
echo '#define SLURM_VERSION_NUMBER 0x190b02' >/here/slurm/slurm_version.h
cat >/here/before.h
python3 -m venv /venv
export SLURM_INCLUDE_DIR=/here SLURM_LIB_DIR=/usr/lib/x86_64-linux-gnu CFLAGS='-O0 -w -include /here/before.h'
nice -n 10 /venv/bin/pip wheel --no-deps --no-binary "${1%%=*}" --wheel-dir /here "$1"
"""
"""The header with a version is where its setup looks for 25.11.2; all others are Slurm's own."""


def why_not(slurm: str) -> str:
    """Say why none is built for a version of Slurm, "" where it can be tried."""
    return "" if slurm > REQUIREMENT.partition("==")[2] else f"PyPI has no {REQUIREMENT} for a Slurm as old as {slurm}"


def install(instance: Instance) -> Path:
    """Return a Python of the cluster that has it, and nothing else of ours; ClusterError where it cannot be built."""
    require_privilege("a root tree")
    built = trees.made_over("pyslurm", instance.suite, BUILD, REQUIREMENT, stdin=HEADER.read_text())
    (wheel,) = built.glob("*.whl")
    folder = instance.folder / built.name
    with locked(instance):
        if not folder.exists():
            part = folder.with_suffix(".part")
            shutil.rmtree(part, ignore_errors=True)
            call([*enter(instance, LOGIN), "/usr/bin/python3", "-m", "venv", "--without-pip", str(part)])
            (packages,) = part.glob("lib/python3*/site-packages")
            call(["/usr/bin/python3", "-m", "zipfile", "-e", str(wheel), str(packages)])
            part.rename(folder)
    return folder / "bin" / "python"
