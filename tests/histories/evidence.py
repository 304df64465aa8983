"""What a history leaves: operations, journals, the accounting, the ledger and files with secrets, in one folder."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections import defaultdict
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field
from msgspec.json import decode

from paislurm.translator.state.journal import _records
from paislurm.translator.state.journal_records import Created

from .people import SECRET, USERS, Operation

if TYPE_CHECKING:
    from collections.abc import Iterator

    from paislurm.translator.state.journal_records import Record

    from .driver import Driver

FIELDS = "JobIDRaw,JobID,User,State,Submit,Start,End,SubmitLine"


class Line(Struct):
    """A line of the ledger: a task has begun."""

    number: int
    attempt: int
    job_id: str
    restarts: int
    task: str
    task_attempt: int
    at: float


class Account(Struct):
    """A Slurm job as the accounting has it; `job_id` is that of its leader."""

    job_id: str
    raw_id: str
    user: str
    state: str
    tag: str


class Told(Struct):
    """What a user was told of a job: by an operation, of a state."""

    operation: Operation
    job: str
    created_at: int
    ended: bool
    state: str
    exit_code: int | None
    job_id: str | None


class Evidence(Struct):
    """What is known of a history. `journals` are records by the number of the submit."""

    operations: list[Operation]
    journals: dict[int, list[Record]] = field(default_factory=dict)
    files: dict[int, str] = field(default_factory=dict)
    torn: list[str] = field(default_factory=list)
    ledger: list[Line] = field(default_factory=list)
    accounts: list[Account] = field(default_factory=list)
    told: list[Told] = field(default_factory=list)
    listed: set[tuple[str, str, int]] = field(default_factory=set)
    """What is there at the end: user, job and time of creation."""
    secrets: list[str] = field(default_factory=list)
    left: list[str] = field(default_factory=list)


def collect(driver: Driver, left: list[str]) -> None:
    """Put what a history has left into its folder."""
    cluster, folder = driver.cluster, driver.folder
    driver.keep_journals()
    begin = datetime.fromtimestamp(driver.began).strftime("%Y-%m-%dT%H:%M:%S")  # noqa: DTZ006 - sacct's own
    words = ["sacct", "-a", "-D", "-X", "-P", "-n", f"--starttime={begin}", f"--format={FIELDS}"]
    (folder / "sacct.txt").write_text(cluster.admin(words))
    whole = cluster.admin(["sacct", "-a", "-D", "-P", f"--starttime={begin}", "--format=all"], check=False)
    found = ["sacct"] if SECRET in whole else []
    for user in USERS:
        home = cluster.seen(driver.home(user))
        shutil.copy(cluster.home(user) / "ledger", folder / f"ledger-{user}")
        for journal in (home.parent / "kept" / user).glob("*.jsonl"):
            shutil.copy(journal, folder / "journals" / f"{user}-{journal.name}")
        words = ["grep", "-rlF", SECRET, str(home), str(cluster.home(user) / "ledger")]
        found += subprocess.run(words, capture_output=True, text=True, check=False).stdout.splitlines()
        listed = driver.ask(user, "login", "list", "--json", "--all", "--limit", "0")
        (folder / f"listed-{user}.json").write_text(listed.stdout)
    (folder / "secrets.txt").write_text("".join(f"{path}\n" for path in found))
    (folder / "left.txt").write_text("".join(f"{name}\n" for name in left))


def read(folder: Path) -> Evidence:
    """Read the folder of a history."""
    operations = [decode(line, type=Operation) for line in (folder / "operations.jsonl").read_bytes().splitlines()]
    found = Evidence(operations)
    for path in sorted((folder / "journals").iterdir()):
        contents = _records(path.read_bytes(), first=1)
        created = next((record for record in contents.records if isinstance(record, Created)), None)
        if created is None or created.run is None or created.run.job_file is None:
            found.torn.append(f"{path}: no first record")
            continue
        number = int(Path(created.run.job_file.file).stem)
        found.journals.setdefault(number, []).extend(contents.records)
        found.files[number] = str(path)
    for user in USERS:
        found.ledger += map(_line, (folder / f"ledger-{user}").read_text().splitlines())
        listed = json.loads((folder / f"listed-{user}.json").read_text())["jobs"]
        found.listed |= {(user, job["job"], _time(job["created_at"])) for job in listed}
    # sacct also has jobs that an earlier history has submitted.
    begin = datetime.fromtimestamp(min(each.began for each in operations)).isoformat()  # noqa: DTZ006 - sacct's own
    rows = (line.split("|", 7) for line in (folder / "sacct.txt").read_text().splitlines())
    found.accounts = [_account(row) for row in rows if row[2] in USERS and row[4] >= begin[:19]]
    found.told = [told for each in operations for told in _told(each)]
    found.secrets = (folder / "secrets.txt").read_text().splitlines()
    found.left = (folder / "left.txt").read_text().splitlines()
    return found


def _line(text: str) -> Line:
    number, attempt, job_id, restarts, task, task_attempt, at = text.split()
    return Line(int(number), int(attempt), job_id, int(restarts), task, int(task_attempt), float(at))


def _account(row: list[str]) -> Account:
    raw, job_id, user, state, _, _, _, submit = row
    return Account(job_id.partition("+")[0], raw, user, state, submit.split()[-1] if submit else "")


def _time(text: str | None) -> int:
    return int(datetime.fromisoformat(text).timestamp()) if text else 0


def _told(done: Operation) -> Iterator[Told]:
    """Yield what the output of an operation says of jobs."""
    if done.what not in ("status", "list", "cancel", "wait"):
        return
    try:
        said: dict[str, Any] = json.loads(done.out)
    except ValueError:
        return
    for job in said.get("jobs", [said]):
        if "created_at" in job:
            yield Told(
                done, job["job"], _time(job["created_at"]), job["ended"], job["state"], job["exit_code"], job["job_id"]
            )


def by_attempt(lines: list[Line]) -> dict[tuple[int, int], list[Line]]:
    """Return lines of the ledger by submit and attempt."""
    found: dict[tuple[int, int], list[Line]] = defaultdict(list)
    for line in lines:
        found[line.number, line.attempt].append(line)
    return found
