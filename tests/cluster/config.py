"""The files that the cluster's hosts see in /etc."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from string import Template

from tests.cluster.instance import GROUP_ID, GROUP_NAME, HOSTS, TOOL, USERS, Instance
from tests.cluster.trees import tree


def has_cgroups() -> bool:
    """Say whether the machine mounts what Slurm tracks processes and limits memory with: cgroup v1."""
    mounts = Path("/proc/mounts").read_text()
    return all(f" /sys/fs/cgroup/{controller} cgroup " in mounts for controller in ("freezer", "memory"))


def has_real_limits(instance: Instance) -> bool:
    """Say whether the cluster's Slurm can use the machine's control groups, as Slurm of later suites cannot."""
    return has_cgroups() and not instance.has_own_tree


def etc_below(instance: Instance) -> Path:
    """Return the folder over which the hosts' files of /etc lie."""
    return tree(instance.suite) / "etc" if instance.has_own_tree else Path("/etc")


def render_etc(instance: Instance) -> dict[str, str]:
    """Return text by path below /etc."""
    real = has_real_limits(instance)
    values = {
        "instance": str(instance.folder),
        "proctrack": "proctrack/cgroup" if real else "proctrack/linuxproc",
        "task": "task/cgroup" if real else "task/none",
        "cpus": "16",
        "threads": "",
        "mpi": "none" if instance.suite == "sid" else "pmix",
        "constrain_memory": "yes" if real else "no",
    }
    if instance.real_cpus:
        values |= {
            "task": f"task/affinity,{values['task']}",
            "cpus": str(os.cpu_count()),
            "threads": "CoresPerSocket=8 ThreadsPerCore=2",
        }
    templates = {path.name: Template(path.read_text()).substitute(values) for path in (TOOL / "etc").iterdir()}
    if instance.has_own_tree:
        templates["cgroup.conf"] = "CgroupPlugin=disabled\n"
    nsswitch = templates.pop("nsswitch.conf")
    etc = etc_below(instance)
    return {f"slurm/{name}": text for name, text in templates.items()} | {
        "nsswitch.conf": nsswitch,
        "hosts": hosts_file(instance),
        "passwd": without_users((etc / "passwd").read_text(), numbered=True) + passwd_of_users(instance),
        "group": without_groups((etc / "group").read_text()) + f"{GROUP_NAME}:x:{GROUP_ID}:\n",
        "shadow": without_users((etc / "shadow").read_text())
        + "".join(f"{name}:*:19000:0:99999:7:::\n" for name in USERS),
    }


def hosts_file(instance: Instance) -> str:
    return "127.0.0.1 localhost\n" + "".join(f"{instance.address(host)} {host}\n" for host in HOSTS)


def without_users(text: str, *, numbered: bool = False) -> str:
    """Return a machine's users, or their passwords, without those that have a name or a number of ours."""
    numbers = {str(user.uid) for user in USERS.values()} if numbered else set()
    rows = (line.split(":") for line in text.splitlines())
    return "".join(f"{':'.join(row)}\n" for row in rows if row[0] not in USERS and not numbers & set(row[2:3]))


def without_groups(text: str) -> str:
    """Return a machine's groups without ours, and without members of our names: they would be in them here, too."""
    rows = (line.split(":") for line in text.splitlines())
    others = (row for row in rows if row[0] != GROUP_NAME and str(GROUP_ID) not in row[2:3])
    return "".join(f"{':'.join([*row[:3], *map(without_members, row[3:])])}\n" for row in others)


def without_members(members: str) -> str:
    return ",".join(member for member in members.split(",") if member not in USERS)


def passwd_of_users(instance: Instance) -> str:
    users = USERS.values()
    return "".join(f"{user.name}:x:{user.uid}:{GROUP_ID}::{instance.home(user.name)}:/bin/bash\n" for user in users)


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
