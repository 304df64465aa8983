"""A container image for the tests: Debian with Open MPI, and with no ssh, no sshd and no Slurm."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

from tests.cluster.instance import ClusterError

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cluster.instance import Instance

OPTIONS = (
    "--quiet",
    "--variant=essential",
    "--include=openmpi-bin",
    *(f"--dpkgopt=path-exclude=/usr/share/{folder}/*" for folder in ("doc", "info", "locale", "man")),
    '--customize-hook=rm -f "$1"/usr/bin/ssh* "$1"/usr/bin/scp "$1"/usr/bin/sftp',
)


def image_path(instance: Instance) -> Path:
    return instance.folder / "image"


def start_image(instance: Instance) -> subprocess.Popen[str] | None:
    """Begin to make the image, which takes half a minute; None if it is there."""
    if image_path(instance).exists():
        return None
    unfinished = instance.folder / "image.unfinished"
    subprocess.run(["rm", "-rf", str(unfinished)], check=True)
    argv = ["mmdebstrap", *OPTIONS, "bookworm", str(unfinished)]
    return subprocess.Popen(argv, stderr=subprocess.PIPE, text=True)


def await_image(instance: Instance, making: subprocess.Popen[str] | None) -> Path:
    """Return the image's folder as soon as it is made."""
    if making is not None and making.returncode is None:
        _, errors = making.communicate()
        if making.returncode:
            raise ClusterError(f"mmdebstrap made no image: {errors}")
        (instance.folder / "image.unfinished").rename(image_path(instance))
    return image_path(instance)
