"""Check a history against what the program promises. Pure: it reads evidence and returns what does not hold.

The invariants are those of the simulation: nothing is lost, nothing runs twice, and no state goes back.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from typing import TYPE_CHECKING

from msgspec import Struct, field

from paislurm.translator.state.journal_records import Cancelled, Created, Intent, Submitted
from tests.journals import NO_END, end_of, faults_of

from .evidence import Evidence, Told, by_attempt

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from paislurm.translator.state.journal_records import Record

    from .people import Operation

INTERNAL_ERROR, INTERRUPTED = 70, 130
UNSURE = re.compile(r"may (or may not )?have | accepted job ")
"""What an error says if Slurm may have done what it was asked for."""
MOMENT = 2.0
"""Seconds that a record, which has whole ones, may be late."""
UNEXPLAINED = re.compile(r"unknown|no longer knows|nothing is known|forgotten|unexplained|no answer|left no result")


class Violation(Struct):
    """What does not hold: the invariant, what broke it, and where to look."""

    invariant: str
    text: str
    where: str = ""


class Findings(Struct):
    """What a history came to."""

    violations: list[Violation] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)
    ends: Counter[str] = field(default_factory=Counter)
    unexplained: list[str] = field(default_factory=list)


def check(found: Evidence) -> Findings:
    """Return what does not hold, and what was counted."""
    checks = (_lost, _twice, _backward, _journals, _after_end, _after_cancel, _outputs, _left)
    findings = Findings([violation for check in checks for violation in check(found)])
    for number, records in found.journals.items():
        if end := end_of(records):
            words = f"{end.state} {end.exit_code} {plain(end.reason)}"
            findings.ends[words] += 1
            if UNEXPLAINED.search(end.reason) or end.exit_code is None:
                findings.unexplained.append(f"{found.files[number]}: {end.state} {end.exit_code} {end.reason}")
    tags = Counter(account.tag for account in found.accounts if account.job_id == account.raw_id)
    findings.counts = {
        "operations": len(found.operations),
        "of them killed": sum((each.status or 0) < 0 for each in found.operations),
        "jobs": len(found.journals),
        "attempts": sum(isinstance(each, Intent) for records in found.journals.values() for each in records),
        "Slurm jobs": sum(tags.values()),
        "tags with several Slurm jobs": sum(count > 1 for count in tags.values()),
        "tasks that began": len(found.ledger),
        "states that users saw": len(found.told),
    }
    return findings


def plain(text: str) -> str:
    """Return a reason without names and numbers."""
    return re.sub(r"\d+", "N", re.sub(r"\b(alice|bob|dave)~?\S*", "USER", text))


def is_gone(found: Evidence, number: int) -> bool:
    """Return whether a job is not listed at the end, as it may be: it was refused, or somebody removed it."""
    done = next((each for each in found.operations if each.number == number), None)
    return done is not None and not is_listed(found, done) and (was_refused(done) or bool(removals(found, done)))


def is_listed(found: Evidence, submit: Operation) -> bool:
    """Return whether the job of a submit is listed at the end."""
    created = found.journals[submit.number][0]
    return isinstance(created, Created) and (submit.user, created.job, created.happened_at) in found.listed


def was_refused(done: Operation) -> bool:
    """Return whether a submit has said that nothing was submitted, and not that Slurm may have taken the job."""
    return (done.status or 0) > 0 and done.status != INTERRUPTED and not UNSURE.search(done.err)


def removals(found: Evidence, submit: Operation) -> list[Operation]:
    """Return the operations that may have removed a job."""
    return [
        each
        for each in found.operations
        if (each.what, each.user, each.name) == ("remove", submit.user, submit.name)
        and each.ended >= submit.began
        and ((each.status or 0) <= 0 or each.status in (INTERRUPTED, INTERNAL_ERROR))
    ]


def has_unsure_cancel(found: Evidence, number: int) -> bool:
    """Return whether a cancel that began before a job's end was killed, or has said that it may have done its work.

    A cancel is recorded once Slurm has accepted it. The scancel of such a one goes on, waits for Slurm for some
    seconds, and cancels the job without a record.
    """
    submit = next((each for each in found.operations if each.number == number), None)
    end = end_of(found.journals[number])
    return submit is not None and any(
        (each.what, each.user, each.name) == ("cancel", submit.user, submit.name)
        and ((each.status or 0) < 0 or UNSURE.search(each.err) is not None)
        and each.ended >= submit.began
        and (end is None or each.began <= (end.ended_at or end.happened_at) + MOMENT)
        for each in found.operations
    )


def _lost(found: Evidence) -> Iterator[Violation]:
    ran = {line.number for line in found.ledger}
    for done in (each for each in found.operations if each.what == "submit"):
        records = found.journals.get(done.number, [])
        where = found.files.get(done.number, f"#{done.number}")
        if was_refused(done):
            if done.number in ran:
                yield Violation("lost", f"{done.user}~{done.name} ran, though its submit was refused", where)
            continue
        if done.status == 0 and not records and not removals(found, done):
            yield Violation("lost", f"no journal of {done.user}~{done.name}, which was submitted", where)
        told = re.search(r'"job_id": "(\d+)"', done.out) if done.status == 0 else None
        ids = {record.job_id for record in records if isinstance(record, Submitted)}
        if told and records and told[1] not in ids:
            yield Violation("lost", f"no journal has job {told[1]}, which its user was told of", where)
        if records and not is_listed(found, done) and not removals(found, done):
            yield Violation("lost", f"{done.user}~{done.name} is not in the list", where)
    tags = {record.tag for records in found.journals.values() for record in records if isinstance(record, Intent)}
    for account in found.accounts:
        if account.tag not in tags:
            yield Violation("lost", f"no journal knows Slurm job {account.raw_id}", f"{account.user} {account.tag}")
    for number in ran - set(found.journals):
        yield Violation("lost", "a job ran of which there is no journal", f"#{number}")


def _twice(found: Evidence) -> Iterator[Violation]:
    leaders = {account.raw_id: account.job_id for account in found.accounts}
    for (number, attempt), lines in by_attempt(found.ledger).items():
        runs = {(leaders.get(line.job_id, line.job_id), line.restarts) for line in lines}
        if len(runs) > 1:
            text = (
                f"attempt {attempt} ran in jobs {', '.join(f'{job} (restart {count})' for job, count in sorted(runs))}"
            )
            yield Violation("twice", text, found.files.get(number, f"#{number}"))
        for task, count in Counter((line.task, line.task_attempt) for line in lines).items():
            if count > 1 and len(runs) == 1:
                text = f"task {task[0]} of attempt {attempt} began {count} times"
                yield Violation("twice", text, found.files.get(number, f"#{number}"))


def _numbers(found: Evidence) -> dict[tuple[str, str, int], int]:
    """Return the numbers of submits by user, job and time of creation."""
    return {
        (records[0].user, records[0].job, records[0].happened_at): number
        for number, records in found.journals.items()
        if isinstance(records[0], Created)
    }


def _backward(found: Evidence) -> Iterator[Violation]:
    numbers = _numbers(found)
    tolds: dict[int, list[Told]] = defaultdict(list)
    for told in found.told:
        number = numbers.get((told.operation.user, told.job, told.created_at))
        if number is not None:
            tolds[number].append(told)
    for number, seen in tolds.items():
        yield from _backward_in(sorted(seen, key=lambda told: told.operation.began), found.files[number])
        end = end_of(found.journals[number])
        for told in seen:
            if told.ended and end is not None and (told.state, told.exit_code) != (end.state, end.exit_code):
                text = f"a user saw {told.state} {told.exit_code}, recorded is {end.state} {end.exit_code}"
                yield Violation("backward", text, f"#{told.operation.number} {found.files[number]}")


def _backward_in(seen: Sequence[Told], where: str) -> Iterator[Violation]:
    for place, first in enumerate(seen):
        if not first.ended:
            continue
        for then in seen[place + 1 :]:
            later = then.operation.began > first.operation.ended
            if later and (then.ended, then.state, then.exit_code) != (True, first.state, first.exit_code):
                text = f"{first.state} {first.exit_code}, then {then.state} {then.exit_code}"
                yield Violation("backward", text, f"#{first.operation.number} #{then.operation.number} {where}")
                return


def _journals(found: Evidence) -> Iterator[Violation]:
    for text in found.torn:
        yield Violation("journal", text)
    for number, records in found.journals.items():
        for invariant, text in faults_of(records):
            if text != NO_END or not is_gone(found, number):
                yield Violation(invariant, text, found.files[number])
        end = end_of(records)
        cancelled = any(isinstance(record, Cancelled) for record in records) or has_unsure_cancel(found, number)
        if end and end.state == "STOPPED" and not cancelled:
            text = f"it was stopped, and its user had not cancelled it: {end.reason}"
            yield Violation("end", text, found.files[number])


def _full_name(records: Sequence[Record]) -> str:
    return f"{records[0].user}~{records[0].job}" if records and isinstance(records[0], Created) else ""


def _after_end(found: Evidence) -> Iterator[Violation]:
    ends = {number: end for number, records in found.journals.items() if (end := end_of(records))}
    for line in found.ledger:
        end = ends.get(line.number)
        if end is None:
            continue
        # A record has the time of the step of a monitor that writes it, which may look at files a moment later.
        late = line.at - max(end.happened_at, end.ended_at or 0)
        if late > MOMENT:
            text = f"task {line.task} of job {line.job_id} began {late:.1f} s after the end"
            yield Violation("after the end", text, found.files[line.number])
    began = {(line.number, line.attempt) for line in found.ledger}
    for number, end in ends.items():
        if end.state == "SUCCEEDED" and (number, end.attempt) not in began:
            yield Violation("end", "it succeeded, and no task of its last attempt began", found.files[number])


def _after_cancel(found: Evidence) -> Iterator[Violation]:
    attempts = by_attempt(found.ledger)
    numbers = _numbers(found)
    for told in found.told:
        done = told.operation
        number = numbers.get((done.user, told.job, told.created_at))
        if done.what != "cancel" or done.status != 0 or told.ended or number is None:
            continue
        for record in found.journals[number]:
            late = isinstance(record, Intent) and record.happened_at > done.ended + MOMENT
            if late and attempts.get((number, record.attempt)):
                text = (
                    f"attempt {record.attempt} was submitted {record.happened_at - done.ended:.1f} s after the cancel"
                )
                yield Violation("after the cancel", f"{text}, and ran", f"#{done.number} {found.files[number]}")


def _outputs(found: Evidence) -> Iterator[Violation]:
    for done in found.operations:
        if done.status == INTERNAL_ERROR or "Traceback" in done.err or "E599" in done.err:
            yield Violation("error", f"{done.what}: {done.err[-400:]}", f"#{done.number}")
    for path in found.secrets:
        yield Violation("secret", "a secret stays", path)


def _left(found: Evidence) -> Iterator[Violation]:
    for name in found.left:
        jobs = [number for number, records in found.journals.items() if _full_name(records) == name.partition(" ")[0]]
        if jobs and all(is_gone(found, number) or end_of(found.journals[number]) for number in jobs):
            # Slurm restarted a job that had ended and was removed; its log is all that the folder has.
            continue
        yield Violation("never ended", name)
