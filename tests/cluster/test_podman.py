"""Podman, rootless and real, by the backend `local`: slurmd needs another control group tree than Podman does."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.cluster.instance import GROUP_ID, LOGIN, USERS
from tests.cluster.registry import PASSWORD, USER, make_root, registry_in

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.cluster.cluster import Cluster
    from tests.cluster.registry import Registry

JOB = """\
protocolVersion: 2
name: podman
type: job
prerequisites:
  - {type: dockerimage, name: folder, uri: FOLDER}
  - type: dockerimage
    name: fetched
    uri: SERVER/team/podman:1
    auth: {username: USER, password: <% $secrets.word %>, registryuri: SERVER}
taskRoles:
  master:
    dockerImage: folder
    completion: {minSucceededInstances: 1}
    resourcePerInstance: {cpu: 1, memoryMB: 100, gpu: 0}
    commands:
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
        echo yes >ready
        sleep 300 & wait
"""
SITE = """\
partitions: {all: {nodes: [{count: 1, cpus: 4, memoryMB: 4000}]}}
defaultPartition: all
containers: {runtime: podman, certificates: CERTIFICATE}
monitor: {background: false}
retry: {transientCeiling: 0}
"""
ALONE = """\
mount --make-rshared / && mount -t cgroup2 none /sys/fs/cgroup && mount -t tmpfs -o mode=1777 tmpfs /tmp || exit
exec setpriv --reuid=UID --regid=GID --init-groups "$@"
"""


@pytest.fixture
def registry(installed: Cluster) -> Iterator[Registry]:
    with registry_in(installed, "registry-podman") as registry:
        yield registry


def test_tasks_run_in_podman(registry: Registry, workdir: Path) -> None:
    make_root(workdir / "root")
    (workdir / "root" / "marker").write_text("of a folder\n")
    registry.push("team/podman:1", "of a registry")
    job = JOB.replace("FOLDER", str(workdir / "root")).replace("SERVER", registry.server).replace("USER", USER)
    (workdir / "job.yaml").write_text(job)
    (workdir / "site.yaml").write_text(SITE.replace("CERTIFICATE", str(registry.certificate)))
    quoted = PASSWORD.replace("'", "''")
    (workdir / "secrets.yaml").write_text(f"word: '{quoted}'\n")
    (workdir / "secrets.yaml").chmod(0o600)
    alice = USERS["alice"]
    for path in (workdir, *workdir.rglob("*")):
        os.chown(path, alice.uid, GROUP_ID, follow_symlinks=False)
    variables = {**registry.cluster.environment("alice"), "PAISLURM_HOME": str(workdir / "jobs")}
    submit = ["submit", "--backend", "local", "--site", "site.yaml", "--secrets", "secrets.yaml", "--wait", "job.yaml"]
    alone = ALONE.replace("UID", str(alice.uid)).replace("GID", str(GROUP_ID))
    settings = [f"{name}={value}" for name, value in variables.items()]
    argv = ["unshare", "--mount", "bash", "-c", alone, "bash", "env", "-i", *settings, "paislurm", *submit]
    done = registry.cluster.run(argv, user="root", host=LOGIN, cwd=workdir, timeout=120)
    (attempt,) = workdir.glob("jobs/jobs/*/attempts/0")
    assert done.returncode == 0, done.stderr + "".join(log.read_text() for log in attempt.rglob("*.log"))
    said = (attempt / "logs/0-master/0/stdout.log").read_text().splitlines()
    assert said[:3] == ["of a folder", "of a registry", "two words"]
    assert said[3].split()[1] == "77"
    assert (attempt / "logs/1-worker/0/stdout.log").read_text() == "told\n"
    result = json.loads((attempt / "result.json").read_text())
    assert [(task["state"], task["status"]) for task in result["tasks"]] == [("SUCCEEDED", 0), ("STOPPED", 0)]
    files = [path for path in attempt.rglob("*") if path.is_file()]
    assert [path for path in files if PASSWORD.encode() in path.read_bytes()] == []
