"""Hosts: a network, mount, host name and IPC namespace each, kept by one holder process."""

from __future__ import annotations

import ipaddress
import json
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

from tests.cluster import machine
from tests.cluster.instance import LOGIN, TOOL, ClusterError, Instance, require_privilege, unprivileged
from tests.cluster.processes import read, recorded_pid, wait_until
from tests.cluster.trees import tree

if TYPE_CHECKING:
    from collections.abc import Sequence

CGROUPS = Path("/sys/fs/cgroup")
CLEAN = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LANG": "C.UTF-8"}
"""Environment of the administrator and of daemons: nothing of the caller's reaches Slurm."""


def call(argv: Sequence[str], stdin: str = "") -> str:
    """Run a tool as administrator and return its output; its complaint becomes the error's text."""
    done = subprocess.run(argv, input=stdin, capture_output=True, text=True, env=CLEAN, check=False)
    if done.returncode != 0:
        complaint = done.stderr or done.stdout
        raise ClusterError(f"{' '.join(argv)}: exit status {done.returncode}\n{complaint}".rstrip())
    return done.stdout


def enter(instance: Instance, host: str) -> list[str]:
    """Return the command prefix that runs a command on a host as root, keeping its process id."""
    pid = recorded_pid(instance.pidfile(host))
    if pid is None:
        raise ClusterError(f"host {host} of {instance.folder} is not running; try: cluster.py up")
    if unprivileged():
        return ["env", *(f"{name}={value}" for name, value in machine.environment(instance).items())]
    return ["nsenter", f"--target={pid}", "--mount", "--uts", "--net", "--ipc"]


def seen(instance: Instance, path: Path) -> Path:
    """Return where the machine finds what a path is on the hosts: they have a file system that it has not."""
    return Path(f"/proc/{recorded_pid(instance.pidfile(LOGIN))}/root{path}")


def detached(argv: Sequence[str], log: Path) -> None:
    """Start a process in a session of its own that is not our child."""
    with log.open("a") as output:
        command = ["setsid", "--fork", *argv]
        subprocess.run(command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, env=CLEAN, check=True)


def create_hosts(instance: Instance) -> None:
    for host in instance.hosts:
        if unprivileged():
            script = ["bash", "-c", (TOOL / "daemon.sh").read_text(), "daemon.sh", str(instance.pidfile(host))]
            marks = [f"{name}={value}" for name, value in machine.environment(instance, host).items()]
            detached(["env", *marks, *script, "sleep", "infinity"], instance.log / f"host-{host}.out")
            continue
        unshare = ["unshare", "--mount", "--uts", "--net", "--ipc", "--propagation=private"]
        script = [str(TOOL / "host.sh"), str(instance.folder), instance.tag, host]
        if instance.has_own_tree:
            instance.base.mkdir(exist_ok=True)
            instance.shared.mkdir(exist_ok=True)
            folders = dict.fromkeys((instance.shared, instance.base, instance.folder, instance.small))
            script += [str(tree(instance.suite)), *map(str, folders)]
        detached([*unshare, *script], instance.log / f"host-{host}.out")
    wait_until(
        lambda: all(recorded_pid(instance.pidfile(host)) for host in instance.hosts),
        f"a host does not start: see {instance.log}/host-*.out",
    )
    if not unprivileged():
        connect(instance)


def connect(instance: Instance) -> None:
    """Join the hosts by a bridge on login, which the machine reaches by one link of its own.

    All of it goes with the namespaces: a device dies with its peer.
    """
    pids = {host: recorded_pid(instance.pidfile(host)) for host in instance.hosts}
    ip_on(instance, LOGIN, [
        "link add br0 type bridge",
        f"address add {instance.address(LOGIN)}/24 dev br0",
        "link set br0 up",
        *(f"link add {host} type veth peer name eth0 netns {pids[host]}" for host in instance.hosts[1:]),
        *(f"link set {host} master br0 up" for host in instance.hosts[1:]),
    ])  # fmt: skip
    for node in instance.hosts[1:]:
        ip_on(instance, node, [
            f"address add {instance.address(node)}/24 dev eth0",
            "link set eth0 up",
            f"route add default via {instance.address(LOGIN)}",
        ])  # fmt: skip
    ip(
        [
            f"link add {instance.link} type veth peer name machine netns {pids[LOGIN]}",
            f"address add {instance.subnet}.254/24 dev {instance.link}",
            f"link set {instance.link} up",
        ]
    )
    ip_on(instance, LOGIN, ["link set machine master br0 up"])


def ip_on(instance: Instance, host: str, commands: Sequence[str]) -> None:
    ip(commands, enter(instance, host))


def ip(commands: Sequence[str], prefix: Sequence[str] = ()) -> None:
    call([*prefix, "ip", "-batch", "-"], stdin="\n".join(commands) + "\n")


def choose_subnet(instance: Instance) -> str:
    """Return a /24 that nothing on the machine uses, beginning at one that derives from the folder."""
    if unprivileged():
        return machine.choose_subnet(instance)
    taken = [
        ipaddress.ip_network(f"{address['local']}/{address['prefixlen']}", strict=False)
        for device in json.loads(call(["ip", "-4", "-json", "address"]))
        for address in device["addr_info"]
    ]
    taken += [
        ipaddress.ip_network(route["dst"])
        for route in json.loads(call(["ip", "-4", "-json", "route"]))
        if route["dst"] != "default"
    ]
    first = int(instance.tag, 16)
    for number in range(first, first + 64 * 256):
        subnet = f"10.{64 + number // 256 % 64}.{number % 256}"
        if not any(ipaddress.ip_network(f"{subnet}.0/24").overlaps(network) for network in taken):
            return subnet
    raise ClusterError("no free subnet between 10.64.0.0 and 10.127.255.0")


def remove_link(instance: Instance) -> None:
    """Wait until the machine's link is gone, as it goes with its peer on login."""
    device = Path("/sys/class/net", instance.link)
    wait_until(lambda: not device.exists(), f"network device {instance.link} stays")


def remove_cgroups(instance: Instance) -> None:
    """Remove the cluster's control groups, which are empty by now, from the leaves up."""
    for top in CGROUPS.glob(f"*/paislurm-{instance.tag}"):
        for group in sorted((path for path in top.rglob("*") if path.is_dir()), reverse=True):
            remove_cgroup(group)
        remove_cgroup(top)


def remove_cgroup(group: Path) -> None:
    def gone() -> bool:
        try:
            group.rmdir()
        except FileNotFoundError:
            return True
        except OSError:  # busy until the kernel has buried the last process
            return False
        return True

    wait_until(gone, f"control group {group} stays busy", timeout=10)


def unplug(instance: Instance, node: str) -> None:
    """Pull the node's cable at the bridge: its own addresses and routes stay."""
    require_privilege("a network of each node")
    ip_on(instance, LOGIN, [f"link set {node} down"])


def plug(instance: Instance, node: str) -> None:
    if not unprivileged():
        ip_on(instance, LOGIN, [f"link set {node} up"])


def listening(instance: Instance, host: str, port: int) -> bool:
    """Say whether something on the host listens on the TCP port, without asking it."""
    pid = recorded_pid(instance.pidfile(host))
    if pid is None:
        return False
    if unprivileged():
        port = machine.port(instance, host, port)
    lines = [line for name in ("tcp", "tcp6") for line in read(Path(f"/proc/{pid}/net/{name}")).splitlines()]
    # Fields: number, local address:port in hexadecimal, remote one, state, of which 0A is "listens".
    return any(row[1].endswith(f":{port:04X}") and row[3] == "0A" for row in map(str.split, lines))
