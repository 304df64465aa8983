"""What `templates/probe.sh` says of one node: its InfiniBand, its networks, its programs, and what it shares."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from msgspec import Struct

from ..containers import PROGRAMS
from ..devices import Infiniband
from .config import number, port_range

if TYPE_CHECKING:
    from collections.abc import Iterator

SYSFS = "/sys/class"
_ETHERNET, _INFINIBAND = "1", "32"
"""Types of interfaces. Source: Linux, if_arp.h, ARPHRD_ETHER and ARPHRD_INFINIBAND."""
_NAME = re.compile(r"[A-Za-z0-9_.-]+")
_INTERFACE = re.compile(r"[A-Za-z0-9_.@-]{1,15}")
_UP = ("up", "unknown")


class Interface(Struct, frozen=True, kw_only=True):
    """Describe a network interface; `kind` is the number that Linux gives its type."""

    name: str
    kind: str
    state: str
    address: str = ""

    @property
    def is_network(self) -> bool:
        """Tell whether other nodes may be behind it: it is InfiniBand, or an Ethernet with an address."""
        return self.kind == _INFINIBAND or (self.kind == _ETHERNET and bool(self.address))


class Probe(Struct, frozen=True, kw_only=True):
    """Hold what a node said. `adapters` are those with an active InfiniBand port; `memlock_kib` is None for all.

    `mounts` are shared file systems, pairs of kind and path; `own_tmp` is the kind of a mount at /tmp.
    """

    node: str
    adapters: tuple[str, ...] = ()
    inactive: tuple[str, ...] = ()
    interfaces: tuple[Interface, ...] = ()
    mounts: tuple[tuple[str, str], ...] = ()
    own_tmp: str = ""
    runtimes: tuple[str, ...] = ()
    resolves: bool = False
    vendor: str = ""
    ephemeral: tuple[int, int] | None = None
    memlock_kib: int | None = None
    shares_home: bool = False
    shares_tmp: bool = False

    def interface(self, kind: str) -> str:
        """Return the first interface of a type that is up, rather one with an address; "" where there is none."""
        able = [each for each in self.interfaces if each.kind == kind and each.state in _UP]
        named = [each.name for each in able if _INTERFACE.fullmatch(each.name)]
        addressed = [each.name for each in able if each.address and each.name in named]
        return (*addressed, *named, "")[0]

    def infiniband(self, sysfs: str) -> Infiniband | None:
        """Return the InfiniBand of the node, None where no adapter is active."""
        if not self.adapters:
            return None
        return Infiniband.of(
            adapters=self.adapters,
            interface=self.interface(_INFINIBAND) or None,
            ethernet=self.interface(_ETHERNET) or None,
            memlock_mib=None if self.memlock_kib is None else max(1, self.memlock_kib // 1024),
            sysfs=sysfs,
        )


def probe(text: str) -> Probe | None:
    """Read the lines; None where no node said anything."""
    rows = [line.split() for line in text.splitlines() if line.strip()]
    found: dict[str, list[list[str]]] = {}
    for key, *words in rows:
        found.setdefault(key, []).append(words)
    if not found.get("node"):
        return None
    ports = [words for words in found.get("port", []) if len(words) > 3]
    active = dict.fromkeys(name for name, _, layer, *state in ports if layer == "InfiniBand" and "ACTIVE" in state)
    devices = [words[0] for words in found.get("device", []) if words]
    memlock = _first(found, "memlock")
    return Probe(
        node=_first(found, "node"),
        adapters=tuple(name for name in active if _NAME.fullmatch(name)),
        inactive=tuple(dict.fromkeys(words[0] for words in ports if words[0] not in active)),
        interfaces=tuple(_interfaces(found)),
        mounts=tuple((words[0], words[1]) for words in found.get("mount", []) if len(words) > 1),
        own_tmp=_first(found, "tmp"),
        runtimes=tuple(PROGRAMS[words[0]] for words in found.get("runtime", []) if words and words[0] in PROGRAMS),
        resolves="resolves" in found,
        vendor="amd" if "/dev/kfd" in devices else "nvidia" if devices else "",
        ephemeral=port_range(" ".join(*found.get("ports", [])[:1])) if found.get("ports") else None,
        memlock_kib=number(memlock) if memlock.isdecimal() else None,
        shares_home=["home"] in found.get("shared", []),
        shares_tmp=["tmp"] in found.get("shared", []),
    )


def _first(found: dict[str, list[list[str]]], key: str) -> str:
    words = found.get(key, [[]])[0]
    return words[0] if words else ""


def _interfaces(found: dict[str, list[list[str]]]) -> Iterator[Interface]:
    addresses = {words[0]: words[1] for words in reversed(found.get("address", [])) if len(words) > 1}
    for words in found.get("net", []):
        if len(words) > 2:
            name, kind, state = words[:3]
            yield Interface(name=name, kind=kind, state=state, address=addresses.get(name, ""))
