"""PyTorch and Ray of PyPI for the hosts of any tree: the machine's Python with both, in a folder of the cluster.

`make training` downloads 270 MB for it once a machine; 1.3 GB of them stay in the cache that checkouts share.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
import zlib
from pathlib import Path
from typing import TYPE_CHECKING

from tests.cluster.instance import ClusterError
from tests.cluster.trees import CACHE

if TYPE_CHECKING:
    from tests.cluster.instance import Instance

PACKAGES = ("torch==2.13.0", "ray==2.60.0")
INDEX = "https://download.pytorch.org/whl/cpu"
"""Wheels of PyTorch without CUDA; pip takes them if its own index has only those with it."""
PYTHON = Path("/usr/bin/python3").resolve()
PROGRAMS = {"python3": "", "torchrun": "-m torch.distributed.run", "ray": "-m ray.scripts.scripts"}


def install(instance: Instance) -> Path:
    """Return the folder of the programs for the users of a cluster; the caller has the instance's lock."""
    folder = instance.folder / "training"
    if not folder.exists():
        part = folder.with_suffix(".part")
        shutil.rmtree(part, ignore_errors=True)
        shutil.copytree(made(), part, symlinks=True, copy_function=link_or_copy)
        (part / "programs").mkdir()
        for name, module in PROGRAMS.items():
            text = f"#!/bin/sh\nexport PYTHONHOME={folder} PYTHONPATH={folder}/site\n"
            (part / "programs" / name).write_text(f'{text}exec {folder}/bin/{PYTHON.name} {module} "$@"\n')
            (part / "programs" / name).chmod(0o755)
        part.rename(folder)
    return folder / "programs"


def made() -> Path:
    """Return the machine's Python with the packages, which the first process to come makes."""
    folder = CACHE / f"training-{zlib.crc32(' '.join((*PACKAGES, PYTHON.name)).encode()):08x}"
    CACHE.mkdir(mode=0o755, parents=True, exist_ok=True)
    with (CACHE / "training.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.exists():
            part = CACHE / "training.unfinished"
            shutil.rmtree(part, ignore_errors=True)
            library = Path("/usr/lib") / PYTHON.name
            shutil.copytree(
                library,
                part / "lib" / PYTHON.name,
                ignore=shutil.ignore_patterns("test", "dist-packages", "__pycache__"),
            )
            (part / "bin").mkdir()
            shutil.copy2(PYTHON, part / "bin")
            pip = [sys.executable, "-m", "pip", "install", "-q", "--disable-pip-version-check", "--only-binary=:all:"]
            where = [f"--python-version={PYTHON.name.removeprefix('python')}", f"--target={part}/site"]
            argv = [*pip, *where, f"--extra-index-url={INDEX}", *PACKAGES]
            done = subprocess.run(argv, capture_output=True, text=True, check=False)
            if done.returncode != 0:
                raise ClusterError(f"pip cannot install {' '.join(PACKAGES)}:\n{done.stderr[-2000:]}")
            subprocess.run(["chmod", "-R", "a+rX", str(part)], check=True)
            part.rename(folder)
    return folder


def link_or_copy(source: str, target: str) -> None:
    """Make a file the same as another one, or a copy of it on another file system."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)
