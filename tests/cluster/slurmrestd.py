"""slurmrestd of a root tree's Slurm, run by a user for the tests of the backend that asks it."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

from tests.cluster import trees
from tests.cluster.boot import locked
from tests.cluster.config import has_plugin
from tests.cluster.hosts import detached, enter
from tests.cluster.instance import GROUP_ID, LOGIN, TOOL, USERS
from tests.cluster.processes import recorded_pid, wait_until

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cluster.instance import Instance

FETCH = """
version=$(dpkg-query --show --showformat='${Version}' slurm-client)
apt-get --quiet --yes --download-only --no-install-recommends install "slurmrestd=$version"
for package in /var/cache/apt/archives/*.deb; do dpkg --extract "$package" /here; done
"""
"""The tree has its plugins: the program and one library are what is missing."""


def why_not(instance: Instance) -> str:
    """Say why there is none for a cluster, "" where there is one."""
    return "" if has_plugin(instance, "data_parser_v0_0_42") else "slurmrestd of this Slurm has no v0.0.42"


def address(instance: Instance) -> str:
    """Return where alice's own slurmrestd listens, which the first process to come starts; it goes with the cluster."""
    user = USERS["alice"]
    fetched = trees.made_over("slurmrestd", instance.suite, FETCH)
    # What is outside of the cluster's folder its hosts do not see.
    program = instance.folder / fetched.name
    listens, pidfile = instance.home(user.name) / "slurmrestd.sock", instance.pidfile("slurmrestd")
    with locked(instance):
        if recorded_pid(pidfile) is None:
            pidfile.unlink(missing_ok=True)
            listens.unlink(missing_ok=True)
            shutil.copytree(fetched, program, dirs_exist_ok=True)
            script = ["bash", "-c", (TOOL / "daemon.sh").read_text(encoding="utf-8"), "daemon.sh", str(pidfile)]
            identity = ["setpriv", f"--reuid={user.uid}", f"--regid={GROUP_ID}", "--clear-groups"]
            argv = [*script, *identity, *command(program), f"unix:{listens}"]
            detached([*enter(instance, LOGIN), *argv], instance.log / "slurmrestd.out")
        wait_until(listens.exists, f"slurmrestd does not listen: see {instance.log}/slurmrestd.out")
    return f"unix:{listens}"


def command(program: Path) -> list[str]:
    """Return the command that takes nobody but who runs it."""
    libraries = f"LD_LIBRARY_PATH={program}/usr/lib/x86_64-linux-gnu"
    return ["env", libraries, f"{program}/usr/sbin/slurmrestd", "-a", "rest_auth/local", "-d", "v0.0.42"]
