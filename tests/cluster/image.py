"""Root trees for the tests: an image with Open MPI and MPICH but no ssh, sshd and Slurm; and a sid with Apptainer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.cluster.instance import require_privilege
from tests.cluster.trees import OF_PAISLURM, WHEELS, make_tree

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cluster.instance import Instance

IMAGE = (
    "--quiet",
    "--variant=essential",
    "--include=openmpi-bin,mpich,rsync",
    '--customize-hook=cd "$1/usr" && rm -rf bin/ssh* bin/scp bin/sftp share/doc share/locale share/man',
    "bookworm",
)
SID = (
    "--quiet",
    "--variant=extract",
    "--include=base-files,bash,coreutils,dash,grep,libc-bin,mount,sed,util-linux,apptainer,curl",
    *(f"--include=python3-{name}" for name in OF_PAISLURM),
    '--extract-hook=cd "$1/etc" && touch hosts passwd group localtime && ln -sf dash ../usr/bin/sh',
    '--aptopt=Acquire::Check-Valid-Until "false"',
    "sid",
)
"""Apptainer is in no release of Debian's; what paislurm needs comes in other versions than elsewhere in the tests.

Its packages are unpacked and not configured, which takes a fourth of the time.
"""


def make_image(instance: Instance) -> Path:
    """Return the folder of the image, which the first process to come makes: half a minute."""
    require_privilege("an image")
    return make_tree(instance.shared, "image", IMAGE)


def make_sid(instance: Instance) -> Path:
    """Return the folder of a sid with Apptainer, which the first process to come makes: a quarter of a minute."""
    require_privilege("an image")
    return make_tree(instance.shared, "sid", SID, wheels=WHEELS)
