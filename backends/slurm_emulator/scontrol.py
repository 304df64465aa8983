"""Stand in for scontrol: `show hostnames LIST`, `show node NAME` and `show job ID`, all that scripts use.

`show job` prints nothing: a local job has no generic resources.
"""

from __future__ import annotations

import os
import sys

from .. import hostlist

FLAGS = {"-o", "--oneliner", "-d", "--details", "-Q", "--quiet"}


def main(words: list[str]) -> int:
    """Answer one request. Return 1 and print an error for any other request."""
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
            print(f"scontrol of the local backend: unknown request: {' '.join(words)}", file=sys.stderr)
    return 1


def _print_names(text: str) -> int:
    try:
        names = hostlist.expand(text)
    except ValueError as fault:
        print(fault, file=sys.stderr)
        return 1
    print("\n".join(names))
    return 0
