"""Bringing a cluster up, taking it down, and telling how it is."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from tests.cluster import daemons, hosts, unpacked
from tests.cluster.config import HOST_SCRIPT, has_real_limits, render_etc, write_etc
from tests.cluster.instance import (
    ADMINISTRATOR,
    GROUP_ID,
    LOGIN,
    PRESENT,
    TOOL,
    USERS,
    ClusterError,
    Instance,
    require_privilege,
    unprivileged,
)
from tests.cluster.packages import venv_python
from tests.cluster.processes import kill_residents, read, recorded_pid, wait_until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

SERVING = ("idle", "mixed", "allocated", "completing", "planned", "reserved")
"""States of a node that is fit, in sinfo's words."""

LEFT_FROM_LAST_TIME = ("run", "log", "state", "state-far", "spool", "home", "db", "dev")


@contextlib.contextmanager
def locked(instance: Instance) -> Iterator[None]:
    """Let one process at a time boot or stop the cluster."""
    instance.folder.mkdir(parents=True, exist_ok=True)
    with (instance.folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def made_once(instance: Instance, make: Callable[[Instance], Path]) -> Path:
    """Make what clusters of one Slurm share, one process at a time."""
    instance.base.mkdir(parents=True, exist_ok=True)
    with (instance.base / "made.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        return make(instance)


def up(instance: Instance) -> bool:
    """Boot the cluster unless it is up and well; return whether it had to be booted.

    A new cluster begins empty: no jobs, no accounting records, empty home folders.
    """
    if HOST_SCRIPT in instance.kind.files:
        require_privilege(f"hosts of the kind `{instance.kind.name}`")
    with locked(instance):
        if is_well(instance):
            return False
        clear(instance)
        try:
            boot(instance)
        except BaseException:
            clear(instance)
            raise
        return True


def down(instance: Instance, purge: bool = False) -> None:
    """Stop everything; logs stay until the next boot, or until `purge` removes the folder.

    What clusters of one Slurm or of one checkout share goes with the last of them.
    """
    if instance.folder.exists():
        with locked(instance):
            clear(instance)
            if purge:
                shutil.rmtree(instance.folder)
    if purge:
        for shared in (instance.base, instance.shared):
            with contextlib.suppress(OSError):  # it is not empty, or not there
                shared.rmdir()


def clear(instance: Instance) -> None:
    kill_residents(instance)
    hosts.remove_link(instance)
    hosts.remove_cgroups(instance)
    for pidfile in instance.run.glob("*.pid"):
        pidfile.unlink()
    unmount(instance)


def boot(instance: Instance) -> None:
    prepare_folder(instance)
    hosts.create_hosts(instance)
    unmount(instance)
    with ThreadPoolExecutor() as pool:
        database = pool.submit(prepare_database, instance)
        venv = pool.submit(made_once, instance, venv_python)
        if not unprivileged():
            daemons.start(instance, "sshd")
        daemons.start(instance, "munged")
        if instance.kind.spank:
            make_plugin(instance)
        database.result()
        if instance.kind.accounts:
            daemons.start(instance, "mariadbd")
            start_slurmdbd(instance)
            register(instance)
        for name in daemons.daemons(instance):
            if name.startswith("slurmctld"):
                daemons.start(instance, name)
        for node in instance.nodes:
            daemons.start(instance, f"slurmd-{node}", wait=False)
        for node in instance.nodes:
            daemons.wait_ready(instance, f"slurmd-{node}")
        for host in filter(None, (LOGIN, instance.kind.far)):
            idle = lambda host=host: set(node_states(instance, host).values()) == {"idle"}  # noqa: E731
            wait_until(idle, "nodes do not become idle")
        venv.result()


def start_slurmdbd(instance: Instance) -> None:
    """Start slurmdbd, and once more if it ends: 26.05 once got no result of its first query, "No error"."""
    try:
        daemons.start(instance, "slurmdbd")
    except ClusterError:
        daemons.start(instance, "slurmdbd")


def prepare_folder(instance: Instance) -> None:
    # Without privileges the database asks for no password.
    instance.folder.chmod(0o700 if unprivileged() else 0o755)
    for name in LEFT_FROM_LAST_TIME:
        shutil.rmtree(instance.folder / name, ignore_errors=True)
    spools = [f"spool/{node}" for node in instance.nodes]
    for name in ["run/munge", "run/mysqld", "run/slurm", "log", "state", "state-far", *spools, "home", "dev"]:
        (instance.folder / name).mkdir(parents=True)
    for name, user in PRESENT.items():
        home = instance.home(name)
        home.mkdir(mode=0o755)
        os.chown(home, user.uid, GROUP_ID)
    if unprivileged():
        for number in range(4):
            (instance.folder / "dev" / f"nvidia{number}").symlink_to("/dev/null")
    else:
        make_devices(instance)
    (instance.run / "subnet").write_text(hosts.choose_subnet(instance) + "\n")
    write_etc(instance)


def make_devices(instance: Instance) -> None:
    """Make the small file system, devices, and keys of the login node."""
    # It is mounted before the hosts are made, which have a copy of all mounts, and leaves the machine then.
    instance.small.mkdir(exist_ok=True)
    alice = USERS["alice"].uid
    options = f"size={instance.kind.room},mode=755,uid={alice},gid={GROUP_ID}"
    hosts.call(["mount", "-t", "tmpfs", "-o", options, f"paislurm-{instance.tag}-small", str(instance.small)])
    for number in range(4):
        # Slurm takes a GPU's number from its device file and looks no further.
        os.mknod(instance.folder / "dev" / f"nvidia{number}", 0o020666, os.makedev(195, number))
    # Two, of which the users know one: a login would learn the other, if it were let.
    for kind in ("ed25519", "ecdsa"):
        key = instance.folder / f"ssh_host_{kind}_key"
        if not key.exists():
            hosts.call(["ssh-keygen", "-q", "-t", kind, "-N", "", "-C", "", "-f", str(key)])


def unmount(instance: Instance) -> None:
    while os.path.ismount(instance.small):
        hosts.call(["umount", str(instance.small)])


def prepare_database(instance: Instance) -> None:
    """Make a fresh data folder from a copy that is made once, for making it anew takes seconds."""
    if instance.kind.accounts:
        template = made_once(instance, database_template)
        hosts.call(["cp", "-a", "--reflink=auto", str(template), str(instance.folder / "db")])


def database_template(instance: Instance) -> Path:
    template = instance.base / "db-template"
    if not template.exists():
        half = instance.base / "db-template.half"
        shutil.rmtree(half, ignore_errors=True)
        options = ["--no-defaults", f"--user={ADMINISTRATOR}", "--innodb-log-file-size=8M", "--skip-test-db"]
        if unprivileged():
            basedir = unpacked.root(unpacked.FIRST) / "usr"
            options += [f"--basedir={basedir}", "--auth-root-authentication-method=normal"]
        # Several clusters may boot at once, and each bootstrap uses files of the same names.
        options.append(f"--tmpdir={instance.folder}")
        hosts.call([*hosts.enter(instance, LOGIN), "mariadb-install-db", *options, f"--datadir={half}"])
        half.rename(template)
    return template


def make_plugin(instance: Instance) -> None:
    """Compile the site's SPANK plugin for the cluster's Slurm, which takes only those of its own version."""
    reported = hosts.call([*hosts.enter(instance, LOGIN), "scontrol", "--version"]).split()[-1]
    major, minor, micro = (int(part) for part in reported.partition("-")[0].split("."))
    version = f"-DVERSION={major << 16 | minor << 8 | micro}"
    output = str(instance.folder / "site.so")
    hosts.call(["gcc", "-shared", "-fPIC", "-Wall", "-Werror", version, "-o", output, str(TOOL / "site_spank.c")])


def register(instance: Instance) -> None:
    """Tell the accounting database of the cluster, its accounts and its users."""
    users = ",".join(user.name for user in PRESENT.values())
    accounts = {account: None for user in PRESENT.values() for account in user.accounts}
    clusters = ["paislurm", *(["far"] if instance.kind.far else [])]
    commands = [f"add cluster {','.join(clusters)}", f"add account {','.join(accounts)} cluster={','.join(clusters)}"]
    commands += [
        f"add user {user.name} account={','.join(user.accounts)} defaultaccount={user.accounts[0]}"
        for user in PRESENT.values()
    ]
    commands += ["add qos high priority=100", f"modify user {users} set qos=normal,high"]
    for command in commands:
        hosts.call([*hosts.enter(instance, LOGIN), "sacctmgr", "--immediate", "--quiet", *command.split()])


def is_well(instance: Instance) -> bool:
    """Say whether every host and daemon runs, with today's configuration and all mounts, and no node is lost."""
    if not all(recorded_pid(instance.pidfile(name)) for name in (*instance.hosts, *daemons.daemons(instance))):
        return False
    if not unprivileged() and not os.path.ismount(hosts.seen(instance, instance.small)):
        return False
    wanted = {name: text for name, text in render_etc(instance).items() if name.startswith("slurm")}
    if any(read(instance.etc / name) != text for name, text in wanted.items()):
        return False
    states = node_states(instance)
    return len(states) == len(instance.near_nodes) and all(state in SERVING for state in states.values())


def node_states(instance: Instance, host: str = LOGIN) -> dict[str, str]:
    """Ask the controller of a host; without an answer there are no states."""
    argv = [*hosts.enter(instance, host), "sinfo", "--noheader", "--Node", "--format=%N %T"]
    done = subprocess.run(argv, env=hosts.CLEAN, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    return dict(line.split() for line in done.stdout.splitlines())


def describe(instance: Instance) -> str:
    """Return the cluster's condition as lines for people."""
    names = [*instance.hosts, *daemons.daemons(instance)]
    pids = {name: recorded_pid(instance.pidfile(name)) for name in names}
    limits = "cgroup v1, memory limits are real" if has_real_limits(instance) else "linuxproc, no memory limits"
    lines = [f"folder     {instance.folder}", f"tracking   {limits}"]
    lines += [f"{name:<10} {'process ' + str(pid) if pid else 'down'}" for name, pid in pids.items()]
    if pids[LOGIN]:
        lines += [f"{node:<10} {state}" for node, state in node_states(instance).items()]
    return "\n".join(lines)
