"""Values of a profile as YAML: names, lists, limits, and comments beside them."""

from __future__ import annotations

import json
import re
import textwrap
from typing import TYPE_CHECKING

from ..partitions import Qos

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from datetime import timedelta

    from ..devices import Infiniband
    from ..partitions import Amounts, Limits
    from ..profile import Site

WIDTH = 110
_SYSFS = "/sys/class"
_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9_.-]*|\d\d\.\d\d\.\d+(?:rc)?|\d+-\d\d:\d\d:\d\d", re.ASCII)
_WORDS = frozenset({"y", "n", "yes", "no", "on", "off", "true", "false", "null"})
"""What some reader of YAML takes for something else than text. Source: YAML 1.1, types."""


def comment(text: str) -> list[str]:
    """Return a text as comments of at most `WIDTH` characters a line."""
    return textwrap.wrap(
        shown(text), WIDTH, initial_indent="# ", subsequent_indent="# ", break_on_hyphens=False, break_long_words=False
    )


def shown(text: str) -> str:
    """Return text that keeps to its line, whoever wrote it."""
    return text if text.isprintable() else ascii(text)[1:-1]


def scalar(text: str) -> str:
    """Return a printable text as YAML, quoted where it could be read as anything else."""
    if _PLAIN.fullmatch(text) and text.lower() not in _WORDS:
        return text
    return json.dumps(text, ensure_ascii=False)


def limit(span: timedelta) -> str:
    """Return a time limit as sbatch writes it."""
    minutes, seconds = divmod(span.seconds, 60)
    clock = f"{minutes // 60:02}:{minutes % 60:02}:{seconds:02}"
    return f"{span.days}-{clock}" if span.days else clock


def flow(texts: Iterable[str]) -> str:
    """Return a list on one line."""
    return f"[{', '.join(map(scalar, texts))}]"


def account_lines(site: Site) -> list[str]:
    """Return the accounts and the qualities of service of a site, each on one line."""
    lines = ["accounts:"]
    for name, account in (site.accounts or {}).items():
        fields = list(_limits(account))
        fields += [f"qos: {flow(account.qos)}"] if account.qos is not None else []
        fields += [f"defaultQos: {scalar(account.default_qos)}"] if account.default_qos else []
        lines.append(f"  {scalar(name)}: {{{', '.join(fields)}}}")
    lines += [f"defaultAccount: {scalar(site.default_account)}"] if site.default_account else []
    if site.qos is not None:
        lines.append("qos:" if site.qos else "qos: {}")
        lines += [f"  {scalar(name)}: {{{', '.join(_limits(limits))}}}" for name, limits in site.qos.items()]
    return lines


def _limits(limits: Limits) -> Iterator[str]:
    if limits.max_jobs is not None:
        yield f"maxJobs: {limits.max_jobs}"
    if limits.max_submit_jobs is not None:
        yield f"maxSubmitJobs: {limits.max_submit_jobs}"
    if limits.max_time is not None:
        yield f"maxTime: {scalar(limit(limits.max_time))}"
    for key, amounts in _sums(limits):
        if fields := list(_amounts(amounts)):
            yield f"{key}: {{{', '.join(fields)}}}"
    if isinstance(limits, Qos) and limits.over_partition_time:
        yield "overPartitionTime: true"
    if isinstance(limits, Qos) and limits.over_partition_nodes:
        yield "overPartitionNodes: true"


def _sums(limits: Limits) -> Iterator[tuple[str, Amounts]]:
    yield "perJob", limits.per_job
    if isinstance(limits, Qos):
        yield "perUser", limits.per_user
    yield "total", limits.total


def _amounts(amounts: Amounts) -> Iterator[str]:
    pairs = (
        ("nodes", amounts.nodes),
        ("cpus", amounts.cpus),
        ("memoryMB", amounts.memory_mib),
        ("gpus", amounts.gpus),
    )
    return (f"{key}: {number}" for key, number in pairs if number is not None)


def infiniband_lines(found: Infiniband) -> list[str]:
    """Return the InfiniBand of a site, as far as a node tells of it."""
    lines = ["infiniband:", f"  adapters: {flow(found.adapters)}"]
    lines += [f"  interface: {scalar(found.interface)}"] if found.interface else []
    lines += [f"  ethernet: {scalar(found.ethernet)}"] if found.ethernet else []
    lines += [f"  memlockMB: {found.memlock_mib}"] if found.memlock_mib is not None else []
    return lines + ([f"  sysfs: {scalar(found.sysfs)}"] if found.sysfs != _SYSFS else [])
