"""Play faulted operations of paislurm with its home on NFS: `python -m tests.nfs --operations 500 --caches off`.

The machine's kernel need not know NFS: all of it happens in a guest, a real Slurm included.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from tests.cluster.checkout import install_checkout
from tests.cluster.instance import default_instance
from tests.cluster.kinds import KINDS
from tests.nfs.guest import run

HOURS = 3


def play(results: Path, *words: str) -> int:
    """Run a module of this folder in a guest; return its exit status."""
    install_checkout(default_instance(kind=KINDS["nfs"]))
    return run([sys.executable, "-m", *words], results, HOURS * 3600)


if __name__ == "__main__":
    folder = Path(tempfile.mkdtemp(prefix="paislurm-nfs-"))
    status = play(folder, "tests.nfs.operations", "--record", str(folder / "record.json"), *sys.argv[1:])
    print((folder / "output").read_text(), f"all of it: {folder}", sep="")
    sys.exit(status)
