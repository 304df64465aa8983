"""What a cluster of the project's own is made of, by the packages of its hosts."""

from __future__ import annotations

import subprocess

from tests.cluster import unpacked
from tests.cluster.instance import default_instance, unprivileged
from tests.cluster.trees import library_of, tree

PACKAGES = ("slurm-client", "bash", "openmpi-bin", "charliecloud", "python3-minimal")


def versions(slurm: str) -> str:
    """Return a line with the packages' versions; sid's are others each week."""
    instance = default_instance(slurm)
    library = library_of(tree(instance.suite)) if instance.has_own_tree else ""
    packages = ", ".join(f"{name} {version}" for name, version in packages_of(slurm).items())
    return f"{slurm}: Debian {instance.suite}, {packages}{library}"


def slurm_of(slurm: str) -> str:
    """Return the version of Slurm, without what Debian adds."""
    return packages_of(slurm)["slurm-client"].partition("-")[0]


def packages_of(slurm: str) -> dict[str, str]:
    instance = default_instance(slurm)
    if unprivileged():
        names = (unpacked.root(instance.suite) / unpacked.DEBS).read_text().splitlines()
        return {name: version for name, version, _ in (deb.split("_") for deb in names) if name == "slurm-client"}
    where = [f"--admindir={tree(instance.suite)}/var/lib/dpkg"] if instance.has_own_tree else []
    query = ["dpkg-query", *where, "--show", "--showformat=${Package} ${Version}\n", *PACKAGES]
    answer = subprocess.run(query, capture_output=True, text=True, check=False).stdout
    return dict(line.split() for line in answer.splitlines())
