"""Slurm without privileges: packages of Debian, unpacked and linked anew, run in place on any machine with apt."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import zlib
from pathlib import Path

from tests.cluster.instance import ClusterError

CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "paislurm-tests"
FIRST = "bookworm"
"""The suite whose database, munge and patchelf all Slurms share.

Its libmariadb, too: that of later suites gives slurmdbd no result of its first query (`trees.choose_library`).
"""
SLURM = ("slurmctld", "slurmd", "slurmdbd", "slurm-client")
SHARED = ("mariadb-server", "munge", "patchelf")
PROGRAMS = (
    "mariadbd", "mariadb-install-db", "my_print_defaults", "munged", "resolveip", "sacct", "sacctmgr", "salloc",
    "sattach", "sbatch", "sbcast", "scancel", "scontrol", "scrontab", "sdiag", "sinfo", "slurmctld", "slurmd",
    "slurmdbd", "slurmstepd", "sprio", "squeue", "sreport", "srun", "sshare", "sstat", "strigger",
)  # fmt: skip
"""What is linked anew, and is in `bin`, as far as a suite has it."""
KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
UNPACK = 'for deb in "$1"/*.deb; do dpkg-deb --fsys-tarfile "$deb" | tar -x --no-same-owner --no-same-permissions; done'
DEBS = "debs"
"""The file of a root that names the packages in it."""


def root(suite: str) -> Path:
    """Return the folder of a suite's Slurm; the first process to come makes it, or ClusterError says why it cannot."""
    shared = SHARED if suite == FIRST else ()
    first = () if suite == FIRST else (root(FIRST),)
    key = zlib.crc32("\0".join([*SLURM, *shared, *PROGRAMS]).encode())
    path = CACHE / f"unpacked-{suite}-{key:08x}"
    CACHE.mkdir(parents=True, exist_ok=True)
    with (CACHE / f"unpacked-{suite}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (path / DEBS).exists():
            # Its path is in what is linked anew, so that it is made where it stays.
            shutil.rmtree(path, ignore_errors=True)
            download(suite, path / "apt", (*SLURM, *shared))
            call(["bash", "-euo", "pipefail", "-c", UNPACK, "bash", str(path / "apt")], cwd=path)
            for library in (library for each in first for library in each.glob("usr/lib/*/libmariadb.so.3")):
                shutil.copy(library, path / library.relative_to(*first))
            link_anew(path, *first)
            names = "\n".join(deb.name for deb in (path / "apt").glob("*.deb"))
            shutil.rmtree(path / "apt")
            (path / DEBS).write_text(names)
    return path


def download(suite: str, folder: Path, packages: tuple[str, ...]) -> None:
    """Have apt, with nothing of the machine's state, bring packages and all that they need into a folder."""
    for name in ("lists/partial", "partial"):
        (folder / name).mkdir(parents=True)
    (folder / "status").touch()
    source = f"deb [signed-by={KEYRING} check-valid-until=no] http://deb.debian.org/debian {suite} main\n"
    (folder / "sources.list").write_text(source)
    options = {
        "Dir::Etc::SourceList": folder / "sources.list",
        "Dir::Etc::SourceParts": "-",
        "Dir::State::Lists": folder / "lists",
        "Dir::State::Status": folder / "status",
        "Dir::Cache": folder,
        "Dir::Cache::Archives": folder,
        "Debug::NoLocking": "1",
        "APT::Install-Recommends": "0",
        "APT::Sandbox::User": "root",
        "APT::Update::Error-Mode": "any",
        "Acquire::Retries": "0",
        "Acquire::http::Timeout": "20",
    }
    argv = ["apt-get", "--quiet", "--yes", *(f"-o{name}={value}" for name, value in options.items())]
    call([*argv, "update"])
    call([*argv, "--download-only", "install", *packages])


def link_anew(path: Path, first: Path | None = None) -> None:
    """Have a root's programs use its own loader and libraries, and collect them in its `bin`."""
    first = first or path
    (path / "bin").mkdir(exist_ok=True)
    found = {file.name.removesuffix("-wlm"): file for file in path.glob("usr/*bin/*")}
    for name in PROGRAMS:
        if name in found:
            (path / "bin" / name).symlink_to(found[name])
    loader, libraries = linked_with(path)
    elf = [file for name, file in found.items() if name in PROGRAMS and file.read_bytes()[:4] == b"\x7fELF"]
    of_first, known = linked_with(first)
    patch = [
        of_first,
        "--library-path",
        known,
        str(first / "usr/bin/patchelf"),
        "--force-rpath",
        "--set-rpath",
        libraries,
    ]
    call([*patch, "--set-interpreter", loader, *map(str, elf)])
    call([*patch, *map(str, path.glob("usr/lib/*/slurm-wlm/*.so*"))])


def linked_with(path: Path) -> tuple[str, str]:
    """Return a root's loader, and where its libraries are, as a loader takes that."""
    loader = next(file for place in ("lib", "usr/lib") for file in path.glob(f"{place}/*/ld-linux*.so.*"))
    architecture = loader.parent.name
    folders = [path / "lib" / architecture, path / "usr/lib" / architecture, path / f"usr/lib/{architecture}/slurm-wlm"]
    return str(loader), ":".join(map(str, folders))


def call(argv: list[str], cwd: Path | None = None) -> None:
    try:
        done = subprocess.run(argv, cwd=cwd, capture_output=True, text=True, check=False)
    except OSError as error:
        raise ClusterError(f"needs Debian's packages of Slurm: {error}") from None
    if done.returncode != 0:
        said = [line for line in done.stderr.splitlines() if line.startswith(("E:", "W:"))] or [done.stderr[-300:]]
        raise ClusterError(f"needs Debian's packages of Slurm: {' '.join(argv[-1:])}: {said[0]}")
