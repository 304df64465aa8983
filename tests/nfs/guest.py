"""A guest: a second kernel on this machine, which can mount NFS where the machine's own cannot.

It is Debian's User Mode Linux: a kernel that is a program, needs neither hardware nor rights, and has one processor.
Its root is the machine's, read only below a file system in memory.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from tests.cluster.instance import CHECKOUT, ClusterError

if TYPE_CHECKING:
    from collections.abc import Sequence

KERNEL = "linux.uml"
INIT = Path(__file__).with_name("init.sh")
XSTATE = Path(__file__).with_name("xstate.c")
MEMORY = "3G"
LAST = 30
"""Lines of the kernel's log that an error shows."""


def run(argv: Sequence[str], results: Path, timeout: float) -> int:
    """Run a command as root in a new guest, in the checkout; return its exit status.

    In `results`, which the guest shares, are the files `command`, `output`, `status` and the kernel's `console`.
    """
    results.mkdir(parents=True, exist_ok=True)
    status = results / "status"
    status.unlink(missing_ok=True)
    (results / "command").write_text(f"exec {shlex.join(argv)}\n", encoding="utf-8")
    parameters = {
        "root": "/dev/root", "rootfstype": "hostfs", "rootflags": "/", "mem": MEMORY, "init": str(INIT),
        "con": "null", "con0": "null,fd:1", "guest_results": str(results.resolve()), "guest_folder": str(CHECKOUT),
    }  # fmt: skip
    with tempfile.TemporaryDirectory() as own, (results / "console").open("w") as console:
        library = f"{own}/xstate.so"
        subprocess.run(["gcc", "-shared", "-fPIC", "-Wall", "-Werror", "-o", library, str(XSTATE)], check=True)
        words = [KERNEL, "rw", f"uml_dir={own}", *(f"{name}={value}" for name, value in parameters.items())]
        kernel = subprocess.Popen(
            words,
            env={**os.environ, "LD_PRELOAD": library},
            stdin=subprocess.DEVNULL,
            stdout=console,
            stderr=console,
            process_group=0,
        )
        try:
            kernel.wait(timeout)
        finally:
            kernel.kill()
            kernel.wait()
    if not status.exists():
        said = (results / "console").read_text(errors="replace").splitlines()[-LAST:]
        raise ClusterError("\n".join(["the guest did not end by itself:", *said]))
    return int(status.read_text())


if __name__ == "__main__":
    sys.exit(run(sys.argv[2:], Path(sys.argv[1]), timeout=3600))
