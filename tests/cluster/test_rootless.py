"""Podman and Apptainer, rootless and real, by the backend `local`.

Neither can run on the usual cluster's nodes: slurmd needs another control group tree than Podman does, and Apptainer is
in no release of Debian's, so it runs in a root tree of sid. tests/contract/test_rootless_ranks.py has other nodes.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.cluster.image import make_sid
from tests.cluster.instance import GROUP_ID, LOGIN, USERS
from tests.cluster.registry import PASSWORD, USER, make_root, registry_in
from tests.left_out import not_asked

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.cluster.cluster import Cluster
    from tests.cluster.registry import Registry

JOB = """\
protocolVersion: 2
name: rootless
type: job
prerequisites:
  - {type: dockerimage, name: folder, uri: FOLDER}
  - type: dockerimage
    name: fetched
    uri: SERVER/team/rootless:1
    auth: {username: USER, password: <% $secrets.word %>, registryuri: SERVER}
taskRoles:
  master:
    dockerImage: folder
    completion: {minSucceededInstances: 1}
    resourcePerInstance: {cpu: 1, memoryMB: 100, gpu: 0}
    commands:
      - '[ "$(umask)" = 0002 ]'
      - cat /marker && touch /marker
      - until ssh worker-0 'cat /marker; echo "$IMAGE_SAYS"; df -m /dev/shm | tail -1' >far; do sleep 0.1; done
      - cat far
      - until grep -q . ../../1-worker/0/ready; do sleep 0.1; done
  worker:
    dockerImage: fetched
    extraContainerOptions: {shmMB: 77}
    completion: {minSucceededInstances: -1}
    resourcePerInstance: {cpu: 1, memoryMB: 100, gpu: 0}
    commands:
      - |
        trap 'echo told; exit 0' TERM
        [ "$(umask)" = 0002 ]
        echo yes >ready
        sleep 300 & wait
"""
SITE = """\
partitions: {all: {nodes: [{count: 1, cpus: 4, memoryMB: 4000}]}}
defaultPartition: all
containers: {CONTAINERS, certificates: CERTIFICATE}
monitor: {background: false, maxPollInterval: 2}
retry: {maxTransientRetries: 0}
"""
PODMAN = """\
mount --make-rshared / && mount -t cgroup2 none /sys/fs/cgroup && mount -t tmpfs -o mode=1777 tmpfs /tmp || exit
umask 0002
exec setpriv --reuid=UID --regid=GID --init-groups "$@"
"""
SID = """\
set -e
mount --make-rprivate /
for folder in TREE /dev /proc /sys FOLDER PACKAGE; do
  case $folder in
    TREE) at=TREE ;;
    PACKAGE) at=TREE/usr/lib/python3/dist-packages/paislurm ;;
    *) at=TREE$folder ;;
  esac
  mkdir -p $at
  mount --rbind $folder $at
done
mount -t tmpfs -o mode=1777 tmpfs TREE/tmp
for file in hosts passwd group; do mount --bind /etc/$file TREE/etc/$file; done
cd TREE
mkdir -p old
pivot_root . old
umount --lazy /old
umask 0002
exec setpriv --reuid=UID --regid=GID --clear-groups "$@"
"""
"""Become the user in a sid that sees the test's folder and the package; user namespaces need a root of one's own."""


@pytest.fixture
def registry(installed: Cluster) -> Iterator[Registry]:
    with registry_in(installed) as registry:
        yield registry


def test_tasks_run_in_podman(registry: Registry, workdir: Path) -> None:
    said = ran(registry, workdir, "runtime: podman", PODMAN, ["paislurm"])
    # The size of /dev/shm.
    assert said[3].split()[1] == "77"


def test_tasks_run_in_apptainer(registry: Registry, workdir: Path) -> None:
    try:
        tree = make_sid(registry.cluster.instance)
    except subprocess.CalledProcessError as error:
        not_asked(f"Debian sid with Apptainer cannot be had today: {error.stderr.decode().splitlines()[-1]}")
    package = next(registry.cluster.instance.venv.glob("lib/python3*/site-packages/paislurm"))
    enter = SID.replace("TREE/", f"{tree}/").replace("TREE", str(tree)).replace("FOLDER", str(workdir))
    cache = workdir / "cache"
    cache.mkdir()
    program = ["python3", "-m", "paislurm.translator.cli.main"]
    ran(registry, workdir, f"runtime: apptainer, cache: {cache}", enter.replace("PACKAGE", str(package)), program)
    (image,) = cache.glob("alice/*rootless*.sif")
    assert image.stat().st_size > 0


def ran(registry: Registry, workdir: Path, containers: str, enter: str, program: list[str]) -> list[str]:
    """Run the job to its end in a mount namespace that `enter` makes; return what its master printed."""
    make_root(workdir / "root")
    (workdir / "root" / "marker").write_text("of a folder\n")
    registry.push("team/rootless:1", "of a registry")
    job = JOB.replace("FOLDER", str(workdir / "root")).replace("SERVER", registry.server).replace("USER", USER)
    (workdir / "job.yaml").write_text(job)
    certificate = workdir / "certificate.pem"
    certificate.write_bytes(registry.certificate.read_bytes())
    (workdir / "site.yaml").write_text(SITE.replace("CONTAINERS", containers).replace("CERTIFICATE", str(certificate)))
    quoted = PASSWORD.replace("'", "''")
    (workdir / "secrets.yaml").write_text(f"word: '{quoted}'\n")
    (workdir / "secrets.yaml").chmod(0o600)
    alice = USERS["alice"]
    for path in (workdir, *workdir.rglob("*")):
        os.chown(path, alice.uid, GROUP_ID, follow_symlinks=False)
    variables = {**registry.cluster.environment("alice"), "PAISLURM_HOME": str(workdir / "jobs")}
    submit = ["submit", "--backend", "local", "--site", "site.yaml", "--secrets", "secrets.yaml", "--wait", "job.yaml"]
    enter = enter.replace("UID", str(alice.uid)).replace("GID", str(GROUP_ID))
    settings = [f"{name}={value}" for name, value in variables.items()]
    words = ["env", "-i", f"--chdir={workdir}", *settings, *program, *submit]
    argv = ["unshare", "--mount", "bash", "-c", enter, "bash", *words]
    done = registry.cluster.run(argv, user="root", host=LOGIN, cwd=workdir, timeout=120)
    attempts = list(workdir.glob("jobs/jobs/*/attempts/0"))
    logs = [log.read_text() for each in attempts for log in each.rglob("*.log")]
    assert done.returncode == 0, "\n".join([done.stderr, *logs])
    (attempt,) = attempts
    said = (attempt / "logs/0-master/0.stdout.log").read_text().splitlines()
    assert said[:3] == ["of a folder", "of a registry", "two words"]
    assert (attempt / "logs/1-worker/0.stdout.log").read_text() == "told\n"
    result = json.loads((attempt / "result.json").read_text())
    assert [(task["state"], task["exit_status"]) for task in result["tasks"]] == [("SUCCEEDED", 0), ("STOPPED", 0)]
    files = [path for path in attempt.rglob("*") if path.is_file()]
    assert [path for path in files if PASSWORD.encode() in path.read_bytes()] == []
    return said
