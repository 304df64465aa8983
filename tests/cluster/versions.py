"""What a cluster of the project's own is made of, by the packages of its hosts."""

from __future__ import annotations

import subprocess

from tests.cluster.instance import default_instance
from tests.cluster.trees import library_of, tree

PACKAGES = ("slurm-client", "bash", "openmpi-bin", "charliecloud", "python3-minimal")


def versions(slurm: str) -> str:
    """Return a line with the packages' versions; sid's are others each week."""
    instance = default_instance(slurm)
    root = tree(instance.suite) if instance.has_own_tree else None
    where = [f"--admindir={root}/var/lib/dpkg"] if root else []
    query = ["dpkg-query", *where, "--show", "--showformat=${Package} ${Version}, ", *PACKAGES]
    answer = subprocess.run(query, capture_output=True, text=True, check=False).stdout
    return f"{slurm}: Debian {instance.suite}, {answer.rstrip(', ')}{library_of(root) if root else ''}"
