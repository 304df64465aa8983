"""What a cluster of the project's own is made of, by the packages of its hosts."""

from __future__ import annotations

import subprocess

from tests.cluster.instance import BOOKWORM, SUITES
from tests.cluster.trees import tree

PACKAGES = ("slurm-client", "bash", "openmpi-bin", "charliecloud", "python3-minimal")


def versions(slurm: str) -> str:
    """Return a line with the packages' versions; sid's are others each week."""
    where = [] if slurm == BOOKWORM else [f"--admindir={tree(SUITES[slurm])}/var/lib/dpkg"]
    query = ["dpkg-query", *where, "--show", "--showformat=${Package} ${Version}, ", *PACKAGES]
    answer = subprocess.run(query, capture_output=True, text=True, check=False).stdout
    return f"{slurm}: Debian {SUITES[slurm]}, {answer.rstrip(', ')}"
