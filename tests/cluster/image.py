"""Root trees for the tests: an image with Open MPI and MPICH but no ssh, sshd and Slurm; and a sid with Apptainer."""

from __future__ import annotations

import fcntl
import subprocess
import zlib
from typing import TYPE_CHECKING

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
OF_PAISLURM = ("click", "jinja2", "platformdirs", "pydantic", "rich", "yaml")
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
    return _make_tree(instance, "image", IMAGE)


def make_sid(instance: Instance) -> Path:
    """Return the folder of a sid with Apptainer, which the first process to come makes: a quarter of a minute."""
    return _make_tree(instance, "sid", SID)


def _make_tree(instance: Instance, name: str, options: tuple[str, ...]) -> Path:
    tree = instance.folder / f"{name}-{zlib.crc32(' '.join(options).encode()):08x}"
    unfinished = instance.folder / f"{name}.unfinished"
    with (instance.folder / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not tree.exists():
            subprocess.run(["rm", "-rf", str(unfinished)], check=True)
            subprocess.run(["mmdebstrap", *options, str(unfinished)], check=True, capture_output=True)
            unfinished.rename(tree)
    return tree
