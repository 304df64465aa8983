"""The command line of the cluster tool."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

from tests.cluster import boot, packages
from tests.cluster.cluster import Cluster
from tests.cluster.instance import HOSTS, LOGIN, NODES, USERS, ClusterError

PEOPLE = [*USERS, "root"]


def main(argv: list[str] | None = None) -> int:
    options = build_parser().parse_args(argv)
    command: Callable[[Cluster, argparse.Namespace], int] = options.command
    try:
        return command(Cluster(), options)
    except ClusterError as error:
        print(f"cluster.py: {error}", file=sys.stderr)
        return 1


def build_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="cluster.py", description="A real Slurm cluster on this machine.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    def add(name: str, function: Callable[[Cluster, argparse.Namespace], int], text: str) -> argparse.ArgumentParser:
        command = commands.add_parser(name, help=text, description=text)
        command.set_defaults(command=function)
        return command

    add("install", install, "install the Debian packages that are missing")
    package = add("install-package", install_package, "install a paislurm wheel or source folder for the users")
    package.add_argument("source", type=Path)
    add("up", up, "boot the cluster unless it is up and well")
    add("down", down, "stop the cluster").add_argument(
        "--purge", action="store_true", help="remove its folder too"
    )
    add("status", status, "show hosts, daemons and nodes")
    run_parser = add("run", run, "run a command as a user on a host")
    run_parser.add_argument("--user", choices=PEOPLE, default="alice")
    run_parser.add_argument("--node", choices=HOSTS, default=LOGIN)
    run_parser.add_argument("--cwd", type=Path, help="default: the user's home")
    run_parser.add_argument("argv", nargs="+", metavar="-- ARGV")
    add("shell", shell, "open a shell as alice on login")
    add("cut", cut, "pull a node's network cable").add_argument("node", choices=NODES)
    add("restore", restore, "plug a node in again and wait until it is idle").add_argument("node", choices=NODES)
    return parser


def install(cluster: Cluster, options: argparse.Namespace) -> int:
    packages.install_debian_packages()
    return 0


def install_package(cluster: Cluster, options: argparse.Namespace) -> int:
    packages.install_package(cluster.instance, options.source)
    return 0


def up(cluster: Cluster, options: argparse.Namespace) -> int:
    cluster.up()
    return 0


def down(cluster: Cluster, options: argparse.Namespace) -> int:
    boot.down(cluster.instance, purge=options.purge)
    return 0


def status(cluster: Cluster, options: argparse.Namespace) -> int:
    print(boot.describe(cluster.instance))
    return 0


def run(cluster: Cluster, options: argparse.Namespace) -> int:
    replace_process(cluster.command(options.argv, user=options.user, host=options.node, cwd=options.cwd))


def shell(cluster: Cluster, options: argparse.Namespace) -> int:
    terminal = {"TERM": os.environ.get("TERM", "dumb")}
    replace_process(cluster.command(["bash", "-i"], env=terminal))


def replace_process(command: list[str]) -> NoReturn:
    os.execvp(command[0], command)


def cut(cluster: Cluster, options: argparse.Namespace) -> int:
    cluster.cut(options.node)
    return 0


def restore(cluster: Cluster, options: argparse.Namespace) -> int:
    cluster.restore(options.node)
    return 0
