"""Native MPI launch in containers of Podman and of Apptainer: srun starts ranks on two nodes as one world.

Podman is that of the machine; Apptainer is in sid alone, and runs on nodes with a newer C library than the machine's.
"""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.cluster.boot import locked
from tests.cluster.image import make_image, make_sid
from tests.cluster.instance import GROUP_ID, USERS
from tests.cluster.jobs import ONE_ATTEMPT
from tests.cluster.kinds import KINDS
from tests.contract.test_calls import program_of_image
from tests.contract.test_ranks import SHARED, form_one_world, skip_without
from tests.left_out import not_asked

if TYPE_CHECKING:
    from pathlib import Path

    from tests.contract.site import Site

KIND = KINDS["rootless"]
PROFILE = """\
partitions: {normal: {nodes: [{count: 2, cpus: 16, memoryMB: 1000000}]}}
defaultPartition: normal
time: {grace: 5, killWait: 5}
"""
STORAGE = "[storage]\ndriver = 'overlay'\ngraphroot = '/tmp/images'\nrunroot = '/tmp/podman'\n"
"""Podman's store on each node; by default all nodes would have one, in the user's home."""
ADD_APPTAINER = """\
mountpoint --quiet /var/lib && exit
for folder in usr etc var/lib; do mount -t overlay -o "ro,lowerdir=/$folder:SID/$folder" overlay "/$folder"; done
mount --bind INSTANCE/etc/slurm /etc/slurm
"""
"""Lay what a node has over a sid with Apptainer."""
MPIS = pytest.mark.parametrize("plugin", ["pmix", "pmi2"])
MPI_OF = {"pmix": "openmpi", "pmi2": "mpich"}


@MPIS
def test_ranks_in_podman_form_one_world(site: Site, folder: Path, plugin: str) -> None:
    """Two tasks on each node: their containers have numbers of processes of their own, and share memory."""
    if site.administrator.instance.has_own_tree:
        not_asked("Podman is on the machine alone, not in root trees")
    site.run("bash", "-c", "mkdir -p ~/.config/containers && cat >~/.config/containers/storage.conf", stdin=STORAGE)
    program = program_of_image(site, MPI_OF[plugin])
    form_one_world(site, folder, program, settings("podman", image_of_user(site), program), f"{{plugin: {plugin}}}")


@MPIS
def test_ranks_in_apptainer_form_one_world(site: Site, folder: Path, plugin: str) -> None:
    """Two ranks of a task share a container, as two tasks share a node."""
    instance = site.administrator.instance
    if not instance.has_own_tree:
        not_asked("sid's Apptainer needs a newer C library than the machine has")
    skip_without(site, plugin)
    script = ADD_APPTAINER.replace("SID", str(make_sid(instance))).replace("INSTANCE", str(instance.folder))
    with locked(instance):
        for node in instance.nodes:
            site.administrator.run(["bash", "-c", script], user="root", host=node)
    program = program_of_image(site, MPI_OF[plugin])
    mpi = f"{{plugin: {plugin}, ranksPerInstance: 2}}"
    form_one_world(site, folder, program, settings("apptainer", make_image(instance), program), mpi, SHARED)


def settings(runtime: str, image: Path, program: Path) -> str:
    """Return those of a site with an image and with the folder of the program."""
    return f"{ONE_ATTEMPT}containers: {{runtime: {runtime}, images: {{debian: {image}}}, mounts: [{program.parent}]}}\n"


def image_of_user(site: Site) -> Path:
    """Return a copy of the image that is the user's: Podman cannot make files in a folder of another user's image."""
    image = site.folder / "image"
    shared = make_image(site.administrator.instance)
    with locked(site.administrator.instance):
        if not image.exists():
            half = image.with_suffix(".half")
            subprocess.run(["cp", "-a", str(shared), str(half)], check=True)
            subprocess.run(["chown", "-R", f"{USERS['alice'].uid}:{GROUP_ID}", str(half)], check=True)
            half.rename(image)
    return image
