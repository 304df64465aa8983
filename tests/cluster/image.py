"""A container image for the tests: Debian with Open MPI and MPICH, and with no ssh, no sshd and no Slurm."""

from __future__ import annotations

import fcntl
import subprocess
import zlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cluster.instance import Instance

OPTIONS = (
    "--quiet",
    "--variant=essential",
    "--include=openmpi-bin,mpich",
    *(f"--dpkgopt=path-exclude=/usr/share/{folder}/*" for folder in ("doc", "info", "locale", "man")),
    '--customize-hook=rm -f "$1"/usr/bin/ssh* "$1"/usr/bin/scp "$1"/usr/bin/sftp',
)


def make_image(instance: Instance) -> Path:
    """Return the image's folder, which the first process to come makes: half a minute."""
    image = instance.folder / f"image-{zlib.crc32(' '.join(OPTIONS).encode()):08x}"
    unfinished = instance.folder / "image.unfinished"
    with (instance.folder / "image.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not image.exists():
            subprocess.run(["rm", "-rf", str(unfinished)], check=True)
            subprocess.run(["mmdebstrap", *OPTIONS, "bookworm", str(unfinished)], check=True, capture_output=True)
            unfinished.rename(image)
    return image
