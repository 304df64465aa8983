"""In the guest: what must hold after faults on NFS, by what the server has and what the jobs themselves left."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING

from paislurm.translator.state.journal import JournalContents, read
from paislurm.translator.state.journal_records import Created, Submitted
from tests.journals import end_of, faults_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.nfs.people import Operation, People


def journals(jobs: Path) -> dict[Path, JournalContents]:
    """Return the journals of a home, by their folders."""
    return {file.parent: read(file) for file in sorted(jobs.glob("[!.]*/journal.jsonl"))}


def number_of(contents: JournalContents) -> int:
    """Return the number of the submit that made a job, -1 if its first record is lost."""
    created = contents.records[0] if contents.records else None
    run = created.run if isinstance(created, Created) else None
    return int(Path(run.job_file.file).stem) if run is not None and run.job_file is not None else -1


def alive(jobs: Path) -> list[str]:
    """Return the folders of jobs without an end."""
    return [folder.name for folder, contents in journals(jobs).items() if end_of(contents.records) is None]


def violations(people: People, jobs: Path) -> list[str]:
    """Return what does not hold."""
    found = journals(jobs)
    by_number = {number_of(contents): contents for contents in found.values()}
    faults = [f"{folder.name}: {text}" for folder, contents in found.items() for _, text in faults_of(contents.records)]
    ran: dict[int, set[tuple[str, str]]] = defaultdict(set)
    for line in people.ran.read_text().splitlines():
        number, job_id, folder = line.split(maxsplit=2)
        ran[int(number)].add((attempt_of(folder), job_id))
    for number, runs in ran.items():
        faults += _faults_of_runs(number, runs, by_number.get(number))
    for operation in people.operations:
        if operation.what == "submit":
            faults += _faults_of_submit(people, operation, by_number.get(operation.number), ran[operation.number])
    return [*faults, *states_that_went_back(people)]


def attempt_of(folder: str) -> str:
    """Return the attempt in the path of a task's working directory."""
    return folder.partition("/attempts/")[2].partition("/")[0]


def _faults_of_runs(number: int, runs: set[tuple[str, str]], contents: JournalContents | None) -> Iterator[str]:
    attempts = [attempt for attempt, _ in runs]
    if len(set(attempts)) < len(attempts):
        yield f"the job of submit {number} ran twice: {sorted(runs)}"
    if contents is None:
        return
    ids = {record.job_id for record in contents.records if isinstance(record, Submitted)}
    if lost := {job_id for _, job_id in runs} - ids:
        yield f"the journal of submit {number} has lost the jobs {lost}, which ran"


def _faults_of_submit(
    people: People, submit: Operation, contents: JournalContents | None, runs: set[tuple[str, str]]
) -> Iterator[str]:
    others = [each for each in people.operations if each.name == submit.name and each.ended >= submit.began]
    if contents is None:
        if (submit.code == 0 or runs) and not any(each.what == "remove" for each in others):
            yield f"the job of submit {submit.number} is lost (exit code {submit.code}, runs {sorted(runs)})"
        return
    if not runs and not any(each.what == "cancel" for each in others):
        end = end_of(contents.records)
        if submit.code == 0 or end is None or not end.reason:
            yield f"the job of submit {submit.number} never ran: {end and end.reason}"


def states_that_went_back(people: People) -> Iterator[str]:
    """Yield each status that shows less than an earlier one, for the same job, on whatever host."""
    last: dict[tuple[str, object], Operation] = {}
    for operation in sorted(people.operations, key=lambda each: each.began):
        shown = operation.document
        if operation.what != "status" or operation.code != 0 or not shown.get("run"):
            continue
        key = (shown["run"]["job_file"]["file"], shown["name"])
        before = last.get(key)
        if before is not None and before.ended < operation.began and before.document["state"] != shown["state"]:
            first = f"{key[1]} was {before.document['state']} ({before.number})"
            yield f"{first}, then {shown['state']} ({operation.number})"
        if shown["ended"]:
            last[key] = operation
