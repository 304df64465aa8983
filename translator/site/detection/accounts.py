"""What sacctmgr says of a user: which accounts and which qualities of service jobs may name."""

from __future__ import annotations

from ...lazy import dataclass


@dataclass(frozen=True, kw_only=True)
class Accounts:
    """Name what a user has, in alphabetical order: the answer has no order of its own."""

    accounts: tuple[str, ...] = ()
    qos: tuple[str, ...] = ()


def accounts(text: str) -> Accounts:
    """Read the rows `account|qos,qos`."""
    rows = [line.split("|") for line in text.splitlines()]
    names = {row[0] for row in rows}
    qos = {name for row in rows for name in (row[1] if len(row) > 1 else "").split(",")}
    return Accounts(accounts=tuple(sorted(names - {""})), qos=tuple(sorted(qos - {""})))
