"""Parsing of sacctmgr's output: a user's accounts, and QOS with their limits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from msgspec import Struct, field

from ...slurm_options import is_plain
from ...validation.strict_model import MAX_INT
from ..partitions import Account, Amounts, Qos
from .node_shapes import counted, time_limit

if TYPE_CHECKING:
    from collections.abc import Iterator

    Row = dict[str, str]

_MIB = 1 << 20


class Accounts(Struct, frozen=True, kw_only=True):
    """The accounts and QOS of a user in alphabetical order, because sacctmgr has no fixed order.

    `qos` are those that the user may request.
    """

    default: str = ""
    accounts: Mapping[str, Account] = field(default_factory=dict)
    qos: Mapping[str, Qos] = field(default_factory=dict)


def accounts(users: str, qos: str, *, limited: bool) -> Accounts:
    """Parse the rows of sacctmgr by their headings; limits count only if Slurm enforces them (`limited`).

    The limits of an account that is restricted to some partitions are left out.
    """
    found: dict[str, Account] = {}
    default = ""
    for row in _rows(users):
        name = row.get("Account", "")
        if not name or not is_plain(name):
            continue
        default = row.get("Def Acct", "") or default
        account = _account(row, limited=limited)
        if not row.get("Partition"):
            found[name] = account
        else:
            found.setdefault(name, Account.of(qos=account.qos, default_qos=account.default_qos))
    usable = sorted({name for account in found.values() for name in account.qos or ()})
    known = {row.get("Name", ""): _qos(row, limited=limited) for row in _rows(qos)}
    return Accounts(
        default=default if default in found else "",
        accounts={name: found[name] for name in sorted(found)},
        qos={name: known.get(name, Qos.of()) for name in usable},
    )


def _rows(text: str) -> Iterator[Row]:
    names, *rows = [line.split("|") for line in text.splitlines() if "|" in line] or [[""]]
    for row in rows:
        yield dict(zip(names, row, strict=False))


def _account(row: Row, *, limited: bool) -> Account:
    qos = tuple(sorted(name for name in row.get("QOS", "").split(",") if name and is_plain(name)))
    default = row.get("Def QOS", "")
    bounds = _limits(row) if limited else {}
    return Account.of(**bounds, qos=qos or None, default_qos=default if default in qos else None)


def _qos(row: Row, *, limited: bool) -> Qos:
    """Return the limits of a QOS, and the partition limits that it overrides. Source: sacctmgr(1), Flags of QOS."""
    flags = row.get("Flags", "").split(",")
    bounds = {**_limits(row), "per_user": amounts(row.get("MaxTRESPU", ""))} if limited else {}
    return Qos.of(
        **bounds,
        over_partition_time="PartitionTimeLimit" in flags,
        over_partition_nodes="PartitionMaxNodes" in flags,
    )


def _limits(row: Row) -> dict[str, object]:
    """Return the limits that associations and QOS have in common, by field. Source: sacctmgr(1), Max* and Grp*."""
    jobs = (row.get(name, "") for name in ("MaxJobs", "MaxJobsPU", "GrpJobs"))
    submits = (row.get(name, "") for name in ("MaxSubmit", "MaxSubmitPU", "GrpSubmit"))
    return {
        "max_jobs": _least(jobs),
        "max_submit_jobs": _least(submits),
        "max_time": time_limit(row.get("MaxWall", "")),
        "per_job": amounts(row.get("MaxTRES", "")),
        "total": amounts(row.get("GrpTRES", "")),
    }


def _least(texts: Iterator[str]) -> int | None:
    return min((count for text in texts if (count := _limit(counted(text))) is not None), default=None)


def amounts(text: str) -> Amounts:
    """Parse `cpu=16,mem=100G,node=2,gres/gpu=4`; memory without a unit is in MiB. Source: sacctmgr(1), TRES."""
    found = dict(item.partition("=")[::2] for item in text.split(","))
    memory = found.get("mem", "")
    return Amounts.of(
        nodes=_limit(counted(found.get("node", ""))),
        cpus=_limit(counted(found.get("cpu", ""))),
        memory_mib=_limit(counted(memory) if memory.isdecimal() else _mib(counted(memory))),
        gpus=_limit(counted(found.get("gres/gpu", ""))),
    )


def _limit(count: int | None) -> int | None:
    """Return a limit, None for one that no job reaches, and that no profile may have."""
    return None if count is None or count > MAX_INT else count


def _mib(count: int | None) -> int | None:
    return None if count is None else count // _MIB
