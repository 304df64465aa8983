"""Stand in for scontrol: `show hostnames LIST`, `show node NAME` and `show job ID`, which is all that a script asks.

Of the job there is nothing to say: it gets no generic resources here.
"""

from __future__ import annotations

import os
import sys

from .. import hostlist

FLAGS = {"-o", "--oneliner", "-d", "--details", "-Q", "--quiet"}


def main(words: list[str]) -> int:
    """Answer one request; 1 with a word on standard error for everything else."""
    words = [word for word in words if word not in FLAGS]
    match words:
        case ["show", "hostnames" | "hostname", *lists]:
            text = ",".join(lists) or os.environ.get("SLURM_JOB_NODELIST", "")
            return _print_names(text)
        case ["show", "node" | "nodes", "localhost"]:
            print("NodeName=localhost Arch=x86_64 NodeAddr=127.0.0.1 NodeHostName=localhost State=MIXED")
            return 0
        case ["show", "job" | "jobs", *_]:
            return 0
        case ["show", "node" | "nodes", name]:
            print(f"Node {name} not found", file=sys.stderr)
        case _:
            print(f"scontrol of the local backend: not understood: {' '.join(words)}", file=sys.stderr)
    return 1


def _print_names(text: str) -> int:
    try:
        names = hostlist.expand(text)
    except ValueError as fault:
        print(fault, file=sys.stderr)
        return 1
    print("\n".join(names))
    return 0
