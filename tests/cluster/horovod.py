"""Horovod, built of its sources on PyPI for Debian's PyTorch and Open MPI: for tests on nodes, and in an image.

`make horovod` builds it while one waits, `make test` in the background. Its wheels are in a cache that checkouts share.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from tests.cluster.image import make_image
from tests.cluster.instance import TOOL
from tests.cluster.packages import install_debian_packages
from tests.cluster.sharing import alone_with
from tests.cluster.training import PYTHON, link_or_copy

if TYPE_CHECKING:
    from tests.cluster.instance import Instance

REQUIREMENT = "horovod==0.28.1"
WHEELS = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "paislurm", REQUIREMENT)
BUILD_PACKAGES = ("cmake", "g++", "libtorch-dev", "make", "pybind11-dev", "python3-dev")
CHOICES = {
    **dict.fromkeys(("HOROVOD_WITH_MPI", "HOROVOD_WITH_PYTORCH"), "1"),
    **dict.fromkeys(("HOROVOD_WITHOUT_GLOO", "HOROVOD_WITHOUT_MXNET", "HOROVOD_WITHOUT_TENSORFLOW"), "1"),
}
FOLDERS = (Path("/usr/lib/python3"), Path("/usr/lib") / PYTHON.name)
FILES = (PYTHON, *Path("/usr/lib").glob("*-linux-gnu/libtorch*.so*"))
"""The machine's Python and PyTorch: the folders of their modules, and the files beside these."""

PATIENCE = 1200
"""Seconds after which a build in the background is ended. It takes two minutes, and eight where others compute, too."""
IN_BACKGROUND = ("timeout", "--kill-after=10", str(PATIENCE), "nice", "-n", "19")
CODE = "from tests.cluster.horovod import make_wheels; make_wheels()"


def lock_file() -> Path:
    """Return the file that who builds has locked, for as long as that process lives."""
    return WHEELS.with_name(f"{WHEELS.name}.lock")


def log_file() -> Path:
    return WHEELS.with_name(f"{WHEELS.name}.log")


def build() -> None:
    """Build the wheels, unless they are there, or are there when somebody else has ended who builds them."""
    WHEELS.parent.mkdir(parents=True, exist_ok=True)
    with lock_file().open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not is_built():
            print(f"building {REQUIREMENT}: two minutes, and eight on a busy machine; once a machine", file=sys.stderr)
            make_wheels()


def start() -> None:
    """Begin to build the wheels in the background, unless they are there or somebody builds them."""
    if is_built():
        return
    WHEELS.parent.mkdir(parents=True, exist_ok=True)
    with lock_file().open("w") as lock, log_file().open("a") as log:
        if not alone_with(lock.fileno()):
            return
        log.truncate(0)
        # It has the lock from here on, whatever becomes of this process.
        subprocess.run(
            ["setsid", "--fork", *IN_BACKGROUND, sys.executable, "-c", CODE],
            cwd=TOOL.parents[1], stdin=subprocess.DEVNULL, stdout=log, stderr=log, pass_fds=[lock.fileno()], check=True,
        )  # fmt: skip
    print(f"building {REQUIREMENT} in the background: {log_file()}", file=sys.stderr)


def wait(seconds: int = PATIENCE + 60) -> bool:
    """Wait until nobody builds the wheels, and tell whether they are there."""
    if not is_built() and lock_file().exists():
        subprocess.run(["flock", "--shared", "--wait", str(seconds), str(lock_file()), "true"], check=False)
    return is_built()


def why_not() -> str:
    """Say why there is none."""
    said = log_file().read_text(errors="replace").splitlines()[-5:] if log_file().exists() else []
    return "\n".join([f"no Horovod in {WHEELS}: `make horovod` builds it", *said])


def make_wheels() -> None:
    """Leave wheels of Horovod and of what it needs in the cache, all at once; the caller has the lock."""
    install_debian_packages(BUILD_PACKAGES)
    with tempfile.TemporaryDirectory() as folder:
        pip = [*new_venv(Path(folder, "venv")), "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, "install", "setuptools<81", "wheel"], check=True)
        # Nobody trains for long with it: without what its own choice of options costs, the build takes half the time.
        compiler = Path(folder, "c++")
        compiler.write_text('#!/bin/sh\nexec g++ "$@" -O0 -g0\n', encoding="utf-8")
        compiler.chmod(0o755)
        # Its setup asks the PyTorch that is there, which an isolated build does not see.
        options = ["--no-build-isolation", "--no-cache-dir", f"--wheel-dir={folder}/wheels"]
        subprocess.run(
            [*pip, "wheel", *options, REQUIREMENT], env={**os.environ, **CHOICES, "CXX": str(compiler)}, check=True
        )
        part = WHEELS.with_name(f"{WHEELS.name}.part")
        for old in (part, WHEELS):
            shutil.rmtree(old, ignore_errors=True)
        shutil.copytree(Path(folder, "wheels"), part)
        part.rename(WHEELS)


def is_built() -> bool:
    return any(WHEELS.glob("horovod-*.whl"))


def install(instance: Instance) -> Path:
    """Return a virtual environment with Horovod that the users can read; the caller has the instance's lock."""
    venv = instance.folder / "horovod"
    if not (venv / "bin" / "horovodrun").exists():
        pip = [*new_venv(venv), "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, "install", "--no-index", f"--find-links={WHEELS}", REQUIREMENT], check=True)
    return venv


def install_in_image(instance: Instance) -> Path:
    """Return the image of the tests with the machine's PyTorch, and Horovod; the caller has the instance's lock.

    Installing Debian's packages would take minutes. Root must not write to its files, which are the machine's.
    """
    base = make_image(instance)
    image = instance.folder / f"horovod-{base.name}"
    if not image.exists():
        part = image.with_suffix(".part")
        shutil.rmtree(part, ignore_errors=True)
        subprocess.run(["cp", "--archive", "--link", str(base), str(part)], check=True)
        for folder in FOLDERS:
            into = Path(f"{part}{folder}")
            shutil.copytree(folder, into, symlinks=True, copy_function=link_or_copy, dirs_exist_ok=True)
        for file in (*FILES, *libraries()):
            into = Path(f"{part}{file}")
            into.parent.mkdir(parents=True, exist_ok=True)
            if not into.exists():
                link_or_copy(str(file.resolve()), str(into))
        (part / "usr/bin/python3").symlink_to(PYTHON.name)
        for wheel in WHEELS.glob("*.whl"):
            zipfile.ZipFile(wheel).extractall(part / "usr/local/lib" / PYTHON.name / "dist-packages")
        part.rename(image)
    return image


def libraries() -> set[Path]:
    """Return the libraries of the machine that its Python, PyTorch and other packages of Python need."""
    files = chain(FILES, *(folder.rglob("*.so") for folder in FOLDERS))
    said = subprocess.run(["ldd", *map(str, files)], capture_output=True, text=True, check=False).stdout
    return {Path(word) for word in said.split() if word.startswith("/") and not word.endswith(":")}


def new_venv(folder: Path) -> list[str]:
    """Make a virtual environment over Debian's Python packages, and return its pip."""
    argv = ["/usr/bin/python3", "-m", "venv", "--clear", "--system-site-packages", str(folder)]
    subprocess.run(argv, check=True)
    return [str(folder / "bin" / "python"), "-m", "pip"]
