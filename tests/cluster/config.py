"""The files that the cluster's hosts see in /etc."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from string import Template

from tests.cluster.instance import GROUP_ID, GROUP_NAME, HOSTS, TOOL, USERS, Instance


def has_cgroups() -> bool:
    """Say whether the machine mounts what Slurm tracks processes and limits memory with: cgroup v1."""
    mounts = Path("/proc/mounts").read_text()
    return all(f" /sys/fs/cgroup/{controller} cgroup " in mounts for controller in ("freezer", "memory"))


def render_etc(instance: Instance) -> dict[str, str]:
    """Return text by path below /etc."""
    real = has_cgroups()
    values = {
        "instance": str(instance.folder),
        "proctrack": "proctrack/cgroup" if real else "proctrack/linuxproc",
        "task": "task/cgroup" if real else "task/none",
        "cpus": "16",
        "threads": "",
        "constrain_memory": "yes" if real else "no",
    }
    if instance.real_cpus:
        values |= {
            "task": f"task/affinity,{values['task']}",
            "cpus": str(os.cpu_count()),
            "threads": "CoresPerSocket=8 ThreadsPerCore=2",
        }
    templates = {path.name: Template(path.read_text()).substitute(values) for path in (TOOL / "etc").iterdir()}
    nsswitch = templates.pop("nsswitch.conf")
    return {f"slurm/{name}": text for name, text in templates.items()} | {
        "nsswitch.conf": nsswitch,
        "hosts": hosts_file(instance),
        "passwd": passwd_file(instance),
        "group": Path("/etc/group").read_text() + f"{GROUP_NAME}:x:{GROUP_ID}:\n",
        "shadow": Path("/etc/shadow").read_text() + "".join(f"{name}:*:19000:0:99999:7:::\n" for name in USERS),
    }


def hosts_file(instance: Instance) -> str:
    return "127.0.0.1 localhost\n" + "".join(f"{instance.address(host)} {host}\n" for host in HOSTS)


def passwd_file(instance: Instance) -> str:
    ours = (f"{user.name}:x:{user.uid}:{GROUP_ID}::{instance.home(user.name)}:/bin/bash\n" for user in USERS.values())
    return Path("/etc/passwd").read_text() + "".join(ours)


def write_etc(instance: Instance) -> None:
    """Write the files anew; secrets are readable by root only."""
    shutil.rmtree(instance.etc, ignore_errors=True)
    for name, text in render_etc(instance).items():
        path = instance.etc / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch(mode=0o600 if path.name in ("shadow", "slurmdbd.conf") else 0o644)
        path.write_text(text)
    key = instance.etc / "munge.key"
    key.touch(mode=0o400)
    key.write_bytes(os.urandom(128))
