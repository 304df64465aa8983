"""What must hold in the journal of a job that has ended, whatever happened: in simulated and real histories, on NFS."""

from __future__ import annotations

from typing import TYPE_CHECKING

from paislurm.translator.state.journal_records import Changed, Created, Ended, Intent, Retry, Submitted

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from paislurm.translator.state.journal_records import Record

NO_END = "it has no end"


def end_of(records: Sequence[Record]) -> Ended | None:
    """Return the end of a job, which is the first that was recorded."""
    return next((record for record in records if isinstance(record, Ended)), None)


def faults_of(records: Sequence[Record]) -> Iterator[tuple[str, str]]:
    """Yield what does not hold: the invariant, and what breaks it."""
    if not records or not isinstance(records[0], Created):
        yield "journal", "it has lost its first record"
        return
    end = end_of(records)
    if end is None:
        yield "end", NO_END
        return
    for record in records[records.index(end) + 1 :]:
        if isinstance(record, (Intent, Retry)):
            yield "end", f"it went on after its end: {type(record).__name__}"
    if not end.reason:
        yield "end", "its end has no reason"
    intents = {record.attempt: record.tag.partition(".")[0] for record in records if isinstance(record, Intent)}
    if len({*intents.values()}) > 1:
        yield "journal", "its attempts have tags of several jobs"
    if lost := {record.attempt for record in records if isinstance(record, Submitted)} - {*intents}:
        yield "journal", f"it has lost the intent of attempts {lost}"
    changes = [record.values for record in records if isinstance(record, Changed)]
    limit = max([records[0].retry_policy.retry_limit, *(int(each["retries"]) for each in changes if "retries" in each)])
    # Of an attempt only the first decision counts, and others may stand behind it.
    retries = list({record.attempt: record for record in reversed(records) if isinstance(record, Retry)}.values())
    counted = sum(record.behaviour == "unknown" for record in retries)
    if counted > limit:
        yield "budget", f"it was retried {counted} times, its budget is {limit}"
    free, most = len(retries) - counted, records[0].retry_policy.max_transient_retries
    if free > most:
        yield "budget", f"it was retried {free} times without use of its budget, the site's limit is {most}"
