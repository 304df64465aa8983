"""The command line of the cluster tool."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import NoReturn

from tests.cluster import boot, held, horovod, packages
from tests.cluster.cluster import Cluster
from tests.cluster.instance import HOSTS, LOGIN, USERS, ClusterError, default_instance
from tests.cluster.kinds import KINDS, NODES, OWN, SLURMS


def main() -> int:
    options = build_parser().parse_args()
    # Users read what is made here, whatever the caller's shell has.
    os.umask(0o022)
    try:
        return execute(Cluster(default_instance(options.slurm, KINDS[options.kind])), options)
    except ClusterError as error:
        print(f"cluster.py: {error}", file=sys.stderr)
        return 1


def build_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="cluster.py", description="A real Slurm cluster on this machine.")
    parser.add_argument("--slurm", choices=SLURMS, default=OWN, help="which Slurm; default: the machine's")
    parser.add_argument("--kind", choices=list(KINDS), default="", help="which kind of site; default: the usual one")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    def add(name: str, text: str) -> argparse.ArgumentParser:
        return commands.add_parser(name, help=text, description=text)

    add("install", "install the Debian packages that are missing")
    for_tests = add("held", "boot all clusters that the tests need, and run a command beside them")
    for_tests.add_argument("argv", nargs="+", metavar="-- ARGV")
    add("horovod", "build Horovod, without which some tests are skipped: 2 to 8 minutes, once a machine")
    add("up", "boot the cluster unless it is up and well")
    add("down", "stop the cluster").add_argument("--purge", action="store_true", help="remove its folder too")
    add("status", "show hosts, daemons and nodes")
    run = add("run", "run a command as a user on a host")
    run.add_argument("--user", choices=[*USERS, "root"], default="alice")
    run.add_argument("--node", choices=HOSTS, default=LOGIN)
    run.add_argument("--cwd", type=Path, help="default: the user's home")
    run.add_argument("argv", nargs="+", metavar="-- ARGV")
    add("shell", "open a shell as alice on login")
    add("cut", "pull a node's network cable").add_argument("node", choices=NODES)
    add("restore", "bring a node back into service").add_argument("node", choices=NODES)
    return parser


def execute(cluster: Cluster, options: argparse.Namespace) -> int:
    match options.command:
        case "install":
            packages.install_debian_packages()
        case "held":
            return held.run(options.argv)
        case "horovod":
            horovod.build()
        case "up":
            cluster.up()
        case "down":
            boot.down(cluster.instance, purge=options.purge)
        case "status":
            print(boot.describe(cluster.instance))
        case "run":
            become(cluster.command(options.argv, user=options.user, host=options.node, cwd=options.cwd))
        case "shell":
            become(cluster.command(["bash", "-i"], env={"TERM": os.environ.get("TERM", "dumb")}))
        case "cut":
            cluster.cut(options.node)
        case "restore":
            cluster.restore(options.node)
    return 0


def become(command: list[str]) -> NoReturn:
    """Replace this process, so that exit status, signals and terminal are the command's."""
    os.execvp(command[0], command)
