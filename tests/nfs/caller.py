"""On a host of the guest: run commands of paislurm in processes that begin with its modules loaded.

In the guest a new Python takes seconds. This one reads orders from its standard input, one JSON line each with
`number`, `argv` and `output`, and forks a process for each. It answers with two lines: `number pid`, and when the
process has ended `number status`.
"""

from __future__ import annotations

import importlib
import json
import os
import pkgutil
import signal
import sys

import paislurm

PARTS = ("translator.cli.", "translator.app.", "translator.monitor.", "translator.state.", "backends.slurm.")


def load() -> None:
    """Import what commands import when they run."""
    for module in pkgutil.walk_packages(paislurm.__path__, "paislurm."):
        if module.name.removeprefix("paislurm.").startswith(PARTS):
            importlib.import_module(module.name)


def run(argv: list[str], output: str) -> None:
    """Become a command of paislurm."""
    from paislurm.translator.cli.main import run as run_command

    os.setsid()
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    files = ((os.devnull, os.O_RDONLY), (output, os.O_WRONLY | os.O_CREAT), (f"{output}.err", os.O_WRONLY | os.O_CREAT))
    for descriptor, (file, flags) in enumerate(files):
        os.dup2(os.open(file, flags, 0o644), descriptor)
    sys.argv = ["paislurm", *argv]
    run_command()


def main() -> None:
    """Take orders until the input ends."""
    load()
    print("ready", flush=True)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    for line in sys.stdin:
        order = json.loads(line)
        if os.fork():
            continue
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        child = os.fork()
        if not child:
            run(order["argv"], order["output"])
        os.write(1, f"{order['number']} {child}\n".encode())
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        os.write(1, f"{order['number']} {status}\n".encode())
        os._exit(0)


if __name__ == "__main__":
    main()
