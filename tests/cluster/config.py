"""The files that the cluster's hosts see in /etc."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from string import Template

from tests.cluster import machine, unpacked
from tests.cluster.instance import ADMINISTRATOR, GROUP_ID, GROUP_NAME, SUITES, TOOL, USERS, Instance, unprivileged
from tests.cluster.kinds import merged
from tests.cluster.trees import tree

HOST_SCRIPT = "host.sh"
"""The file of a kind that hosts run as they start."""


def has_cgroups() -> bool:
    """Say whether the machine mounts what Slurm tracks processes and limits memory with: cgroup v1."""
    mounts = Path("/proc/mounts").read_text()
    return all(f" /sys/fs/cgroup/{controller} cgroup " in mounts for controller in ("freezer", "memory"))


def has_real_limits(instance: Instance) -> bool:
    """Say whether the cluster's Slurm can use the machine's control groups, as Slurm of later suites cannot."""
    return has_cgroups() and not unprivileged() and not instance.has_own_tree and instance.kind.cgroups


def has_plugin(instance: Instance, name: str) -> bool:
    """Say whether the hosts' Slurm has a plugin."""
    return any((etc_below(instance).parent / "usr/lib").glob(f"*/slurm-wlm/{name}.so"))


def etc_below(instance: Instance) -> Path:
    """Return the folder over which the hosts' files of /etc lie."""
    if unprivileged():
        return unpacked.root(instance.suite) / "etc"
    return tree(instance.suite) / "etc" if instance.has_own_tree else Path("/etc")


def render_etc(instance: Instance) -> dict[str, str]:
    """Return text by path below /etc."""
    real = has_real_limits(instance)
    values = {
        "instance": str(instance.folder),
        "administrator": ADMINISTRATOR,
        "proctrack": "proctrack/cgroup" if real else "proctrack/linuxproc",
        "task": "task/cgroup" if real else "task/none",
        # Without control groups Slurm reads of all processes of the machine each time.
        "gather": "1" if real else "5",
        "cpus": str(os.cpu_count()),
        "mpi": "pmix" if has_plugin(instance, "mpi_pmix") else "none",
        "constrain_memory": "yes" if real else "no",
        "namespaces": "NamespaceType=namespace/tmpfs"
        if has_plugin(instance, "namespace_tmpfs")
        else "JobContainerType=job_container/tmpfs",
    }
    templates = {path.name: Template(path.read_text()).substitute(values) for path in (TOOL / "etc").iterdir()}
    if instance.slurm in SUITES:
        templates["cgroup.conf"] = "CgroupPlugin=disabled\n"
    nsswitch = templates.pop("nsswitch.conf")
    if unprivileged():
        templates |= {name: merged(templates[name], text) for name, text in machine.settings(instance).items()}
        found = slurm_etc(instance, templates, values)
        more = {"hosts": hosts_file(instance), "bin/getent": machine.GETENT}
        return found | more | {"slurm/slurm.conf": machine.with_addresses(instance, found["slurm/slurm.conf"])}
    etc = etc_below(instance)
    return slurm_etc(instance, templates, values) | {
        "nsswitch.conf": nsswitch,
        "hosts": hosts_file(instance),
        "passwd": without_users((etc / "passwd").read_text(), numbered=True) + passwd_of_users(instance),
        "group": without_groups((etc / "group").read_text()) + f"{GROUP_NAME}:x:{GROUP_ID}:\n",
        "shadow": without_users((etc / "shadow").read_text())
        + "".join(f"{name}:*:19000:0:99999:7:::\n" for name in USERS),
    }


def slurm_etc(instance: Instance, usual: dict[str, str], values: dict[str, str]) -> dict[str, str]:
    """Return the files of Slurm, as the kind of the site has them; a host that is a cluster of its own has others."""
    own = dict(instance.kind.files)
    script = {HOST_SCRIPT: own.pop(HOST_SCRIPT)} if HOST_SCRIPT in own else {}
    own = {name: Template(text).substitute(values) for name, text in own.items()}
    far = {name.removeprefix("far/"): text for name, text in own.items() if name.startswith("far/")}
    near = {name: text for name, text in own.items() if not name.startswith("far/")}
    found = {f"slurm/{name}": text for name, text in overlaid(usual, near).items()} | script
    if instance.kind.far:
        found |= {f"slurm-{instance.kind.far}/{name}": text for name, text in overlaid(usual, far).items()}
    return found


def overlaid(usual: dict[str, str], own: dict[str, str]) -> dict[str, str]:
    """Return files with those of a kind in the place of the usual ones; what has settings of daemons is merged."""
    return usual | own | {name: merged(usual[name], own.get(name, "")) for name in ("slurm.conf", "slurmdbd.conf")}


def hosts_file(instance: Instance) -> str:
    return "127.0.0.1 localhost\n" + "".join(f"{instance.address(host)} {host}\n" for host in instance.hosts)


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
        secret, program = path.name in ("shadow", "slurmdbd.conf"), path.parent.name == "bin"
        path.touch(mode=0o600 if secret else 0o755 if program else 0o644)
        path.write_text(text)
    for name in ("munge.key", "jwt.key"):
        key = instance.etc / name
        key.touch(mode=0o600)
        key.write_bytes(os.urandom(128))
