"""Jobs that ended a while ago: what is done for them cannot be waited for."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

HOURS = 2


def age(folder: Path, seconds: int = HOURS * 3600) -> None:
    """Let all that is in the journal of a job have happened so long before."""
    journal = folder / "journal.jsonl"
    records = [json.loads(line) for line in journal.read_text(encoding="utf-8").splitlines()]
    earlier = [
        {key: value - seconds if key.endswith("_at") and value else value for key, value in record.items()}
        for record in records
    ]
    journal.write_text("".join(f"{json.dumps(record)}\n" for record in earlier), encoding="utf-8")


def taken(folder: Path) -> tuple[int, int]:
    """Return the inodes and the bytes of a folder, as `find` and `du --apparent-size` count them."""
    left = [folder, *folder.rglob("*")]
    return len(left), sum(path.lstat().st_size for path in left)
