"""Parsing of the output of `templates/probe.sh` on one node: InfiniBand, networks, programs, shared files."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from msgspec import Struct

from ..containers import PROGRAMS
from ..devices import Infiniband
from .config import number, port_range

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

SYSFS = Infiniband.of().sysfs
_ETHERNET, _INFINIBAND = "1", "32"
"""Types of interfaces. Source: Linux, if_arp.h, ARPHRD_ETHER and ARPHRD_INFINIBAND."""
_NAME = re.compile(r"[A-Za-z0-9_.-]+")
_INTERFACE = re.compile(r"[A-Za-z0-9_.@-]{1,15}")
_UP = ("up", "unknown")


class Interface(Struct, frozen=True, kw_only=True):
    """A network interface; `kind` is Linux's number of its type."""

    name: str
    kind: str
    state: str
    address: str = ""

    @property
    def is_network(self) -> bool:
        """Whether it may connect to other nodes: InfiniBand, or Ethernet with an address."""
        return self.kind == _INFINIBAND or (self.kind == _ETHERNET and bool(self.address))


class Probe(Struct, frozen=True, kw_only=True):
    """The properties of a node. `adapters` have an active InfiniBand port; `memlock_kib` is None for no limit.

    `roce` are adapters with an active Ethernet port, pairs of name and network interface.
    `mounts` are shared file systems, pairs of kind and path; `own_tmp` is the kind of a mount at /tmp.
    """

    node: str
    adapters: tuple[str, ...] = ()
    roce: tuple[tuple[str, str], ...] = ()
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

    def interface(self, kind: str, among: Iterable[str] | None = None, besides: Iterable[str] = ()) -> str:
        """Return the first active interface of a type, preferably with an address; "" if there is none."""
        able = [each for each in self.interfaces if each.kind == kind and each.state in _UP]
        able = [each for each in able if (among is None or each.name in among) and each.name not in besides]
        named = [each.name for each in able if _INTERFACE.fullmatch(each.name)]
        addressed = [each.name for each in able if each.address and each.name in named]
        return (*addressed, *named, "")[0]

    def infiniband(self, sysfs: str) -> Infiniband | None:
        """Return the InfiniBand of the node, or else its RoCE; None without an active adapter.

        NCCL cannot merge adapters of both link layers. Source: NCCL, net_ib, ncclIbMakeVDevice.
        """
        if not self.adapters and not self.roce:
            return None
        roce = () if self.adapters else tuple(interface for _, interface in self.roce)
        interface = self.interface(_ETHERNET, among=roce) if roce else self.interface(_INFINIBAND)
        # Jobs off InfiniBand exclude its interface, and need another one.
        ethernet = self.interface(_ETHERNET, besides=roce)
        return Infiniband.of(
            adapters=self.adapters or tuple(name for name, _ in self.roce),
            interface=(interface if ethernet or not roce else "") or None,
            ethernet=ethernet or None,
            memlock_mib=None if self.memlock_kib is None else max(1, self.memlock_kib // 1024),
            sysfs=sysfs,
        )


def probe(text: str) -> Probe | None:
    """Parse the output; None without any output."""
    rows = [line.split() for line in text.splitlines() if line.strip()]
    found: dict[str, list[list[str]]] = {}
    for key, *words in rows:
        found.setdefault(key, []).append(words)
    if not found.get("node"):
        return None
    ports = [words for words in found.get("port", []) if len(words) > 3]
    active = {
        kind: dict.fromkeys(name for name, _, layer, *state in ports if layer == kind and "ACTIVE" in state)
        for kind in ("InfiniBand", "Ethernet")
    }
    able = tuple(name for name in active["InfiniBand"] if _NAME.fullmatch(name))
    interfaces = {words[0]: words[1] for words in reversed(found.get("roce", [])) if len(words) > 1}
    roce = [name for name in active["Ethernet"] if _NAME.fullmatch(name) and name not in able]
    devices = [words[0] for words in found.get("device", []) if words]
    memlock = _first(found, "memlock")
    return Probe(
        node=_first(found, "node"),
        adapters=able,
        roce=tuple((name, interfaces.get(name, "unknown")) for name in roce),
        inactive=tuple(dict.fromkeys(words[0] for words in ports if words[0] not in {*able, *roce})),
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
