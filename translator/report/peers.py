"""The file of an attempt that tells tasks about each other: addresses and ports."""

from __future__ import annotations

import re
import shlex
from collections import defaultdict
from typing import TYPE_CHECKING

from ..lazy import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

ADDRESS, PORTS = "PAI_HOST_IP_", "PAI_PORT_LIST_"


@dataclass(frozen=True, kw_only=True)
class Peers:
    """Hold the address of each task, and its lists of ports by label; tasks are (role, index)."""

    addresses: Mapping[tuple[str, int], str]
    ports: Mapping[tuple[str, int], tuple[tuple[str, str], ...]]


NO_PEERS = Peers(addresses={}, ports={})


def parse_peers(text: str, roles: Sequence[str]) -> Peers:
    """Return what a `peers.sh` says of the tasks of these roles. Source: this project's docs, run folder."""
    # Of two names that fit, the longer is meant: a role can be called `a_1`.
    names = "|".join(re.escape(name) for name in sorted(roles, key=len, reverse=True))
    address = rf"{ADDRESS}(?P<host>{names})_(?P<of>\d{{1,6}})"
    pattern = re.compile(rf"{address}|{PORTS}(?P<role>{names})_(?P<index>\d{{1,6}})_(?P<label>[^=]+)")
    addresses: dict[tuple[str, int], str] = {}
    ports: defaultdict[tuple[str, int], list[tuple[str, str]]] = defaultdict(list)
    for line in text.splitlines():
        name, _, value = line.partition("=")
        match = pattern.fullmatch(name)
        if match is None:
            continue
        if match["host"] is not None:
            addresses[match["host"], int(match["of"])] = _unquoted(value)
        else:
            ports[match["role"], int(match["index"])].append((match["label"], _unquoted(value)))
    return Peers(addresses=addresses, ports={task: tuple(found) for task, found in ports.items()})


def _unquoted(value: str) -> str:
    try:
        return "".join(shlex.split(value))
    except ValueError:
        return value
