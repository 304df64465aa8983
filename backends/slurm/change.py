"""Change a job with all its components in few calls, and determine which changes Slurm accepted."""

from __future__ import annotations

import re
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from paislurm.translator.errors import BackendError, Diagnostic, RejectedError

from .commands import cluster_of, number_of, scontrol
from .refusals import failure, slurm_messages

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from ..base import JobId, Options
    from ..runner import CommandRunner, Completed

FIELDS = {"time": "TimeLimit", "partition": "Partition", "account": "Account", "qos": "QOS", "nice": "Nice"}
"""The scontrol names of sbatch options. Source: scontrol(1), SPECIFICATIONS FOR UPDATE COMMAND."""
SECONDS = 60.0
HELD = "held"
"""Whether a job is held. This is not an option of sbatch; scontrol has separate commands for it."""


class _Refusal(NamedTuple):
    """Map a message of scontrol about one of some options (none: any) to a hint."""

    pattern: re.Pattern[str]
    options: tuple[str, ...]
    hint: str


_ENDED = re.compile("already finished|[Ii]nvalid job id")
_REFUSALS = (
    _Refusal(_ENDED, (), "submit it once more with `paislurm submit --again JOB`: it has just ended"),
    _Refusal(
        re.compile("no longer pending"),
        ("partition", "account", "qos", "nice"),
        "change the partition, account, QOS and nice value only while the job waits",
    ),
    _Refusal(
        re.compile("denied"),
        ("time",),
        "lower the time limit of a running job, or set that of a waiting job within the partition's limit; "
        "for more, ask an administrator",
    ),
    _Refusal(re.compile("denied"), ("nice",), "use a nice value of 0 or more, which lowers the priority"),
    _Refusal(re.compile("denied"), (HELD,), "ask an administrator to release it: an administrator holds it"),
    _Refusal(re.compile("[Ii]nvalid partition"), (), "list the partitions with `sinfo`"),
    _Refusal(re.compile("[Ii]nvalid (?:account|qos)"), (), "list yours with `sacctmgr show associations user=$USER`"),
)
"""Source: observed on 22.05, 24.11 and 26.05, which use the same messages."""


def commands(job_id: JobId, values: Mapping[str, str]) -> Iterator[tuple[tuple[str, ...], list[str]]]:
    """Yield the command lines that change a job, each with its options.

    An update of a heterogeneous job's leader applies to all its components, but since some version the QOS changes
    only for the leader; see `_in_components`. Source: observed on 22.05 (all change), 24.11 and 26.05.
    """
    options = tuple(name for name in FIELDS if name in values)
    if options:
        yield options, _update(job_id, {name: values[name] for name in options})
    if HELD in values:
        word = "hold" if values[HELD] == "yes" else "release"
        yield (HELD,), [*scontrol(cluster_of(job_id)), word, number_of(job_id)]


def change(
    runner: CommandRunner,
    job_id: JobId,
    values: Mapping[str, str],
    before: Options = (),
    ask: Callable[[], Options] = tuple,
) -> None:
    """Change a job. Raises RejectedError with the refused options, or UnreachableError.

    `before` holds the previous options; `ask` returns the current ones. If Slurm refuses one of several options, it
    has accepted those before it. So query the current options, and change each missing one separately. Source:
    observed on 22.05, 24.11 and 26.05.
    """
    for options, argv in commands(job_id, values):
        error = _error(runner, options, job_id, values, argv)
        if error is None and options == (HELD,):
            continue
        errors, wanted = {}, {name: values[name] for name in options}
        if error is not None:
            is_alone = len(options) == 1 and len(before) < 2
            if is_alone or not isinstance(error, RejectedError) or _ENDED.search(error.stderr):
                raise error
            now = _current_options(ask)
            if not now:
                raise _joined(dict.fromkeys(options, error), ["it may have changed some"])
            errors = _one_by_one(runner, job_id, wanted, now)
        accepted = {name: value for name, value in wanted.items() if name not in errors}
        errors |= _in_components(runner, job_id, accepted, before, ask)
        if errors:
            changed = [_option_name(name, wanted) for name in wanted if name not in errors]
            kept = _set_back(runner, job_id, {name: wanted[name] for name in errors}, before, ask)
            raise _joined(errors, [*([f"it changed {' and '.join(changed)}"] if changed else []), *kept])


def _error(
    runner: CommandRunner, options: Sequence[str], job_id: JobId, values: Mapping[str, str], argv: Sequence[str]
) -> BackendError | None:
    """Run a change of these options. Return its error, None if it succeeded."""
    try:
        done = runner.run(argv, timeout=SECONDS)
    except BackendError as error:
        return error
    return _refused(options, job_id, values, argv, done) if done.status else None


def _one_by_one(
    runner: CommandRunner, job_id: JobId, wanted: Mapping[str, str], now: Options, component: str = ""
) -> dict[str, BackendError]:
    """Change the options that a job, or a component `+1`, lacks, one per call. Return the errors by option.

    After a call without an answer, make no further calls.
    """
    errors: dict[str, BackendError] = {}
    silence: BackendError | None = None
    for name, value in wanted.items():
        if _all_have(now, name, value):
            continue
        error = silence or _error(runner, [name], job_id, wanted, _update(job_id, {name: value}, component))
        if error is not None:
            errors[name] = error
            silence = None if isinstance(error, RejectedError) else error
    return errors


def _in_components(
    runner: CommandRunner, job_id: JobId, accepted: Mapping[str, str], before: Options, ask: Callable[[], Options]
) -> dict[str, BackendError]:
    """Change the components that lack an option which their leader accepted. Return the errors by option.

    If the current options cannot be queried, change all components that differed `before`; this does no harm.
    """
    if not accepted or len(before) == 1:
        return {}
    errors: dict[str, BackendError] = {}
    for component, has in enumerate(_current_options(ask) or before):
        if component:
            left = {name: value for name, value in accepted.items() if name not in errors}
            errors |= _one_by_one(runner, job_id, left, [has], f"+{component}")
    return errors


def _set_back(
    runner: CommandRunner, job_id: JobId, refusals: Mapping[str, str], before: Options, ask: Callable[[], Options]
) -> list[str]:
    """Restore the options of components if not all accepted a change. Report what cannot be restored."""
    now = _current_options(ask) if len(before) > 1 else ()
    kept: list[str] = []
    for component, (had, has) in enumerate(zip(before, now, strict=False)):
        for name, value in refusals.items():
            if _all_have([has], name, value) and not _all_have([had], name, value):
                argv = _update(job_id, {name: had.get(name, "")}, f"+{component}")
                if name not in had or _error(runner, [name], job_id, refusals, argv):
                    kept.append(f"component {component} keeps --{name} {value}")
    return kept


def _joined(errors: Mapping[str, BackendError], more: Sequence[str]) -> BackendError:
    """Return one error for all unchanged options, with the facts in `more` added to its message."""
    first = next((each for each in errors.values() if not isinstance(each, RejectedError)), next(iter(errors.values())))
    diagnostics = list(dict.fromkeys(each for error in errors.values() for each in error.diagnostics))
    message = "; ".join([diagnostics[-1].message, *more])
    diagnostics[-1] = replace(diagnostics[-1], message=message)
    return type(first)(diagnostics, argv=first.argv, status=first.status, stderr=first.stderr, options=tuple(errors))


def _current_options(ask: Callable[[], Options]) -> Options:
    """Return the current options of a job, () if the query fails."""
    with suppress(BackendError):
        return ask()
    return ()


def _all_have(components: Options, name: str, value: str) -> bool:
    """Return whether all components have a value. Slurm writes account names in lower case, and sorts lists."""
    return all(_name_set(has.get(name, "")) == _name_set(value) for has in components)


def _name_set(value: str) -> set[str]:
    return {*value.casefold().split(",")}


def _update(job_id: JobId, values: Mapping[str, str], component: str = "") -> list[str]:
    """Return the command line that changes options of a job, or of one component: `+1`."""
    settings = (f"{FIELDS[name]}={value}" for name, value in values.items())
    return [*scontrol(cluster_of(job_id)), "update", f"JobId={number_of(job_id)}{component}", *settings]


def _refused(
    options: Sequence[str], job_id: JobId, values: Mapping[str, str], argv: Sequence[str], done: Completed
) -> BackendError:
    """Return the error of a failed change of these options; no answer is not a refusal."""
    error = failure(argv, done)
    if not isinstance(error, RejectedError):
        return error
    words = slurm_messages(done)
    fits = (
        each for each in _REFUSALS if each.pattern.search(words) and (not each.options or {*each.options} & {*options})
    )
    found = next(fits, None)
    named = " and ".join(_option_name(name, values) for name in options)
    message = f"Slurm refuses {named} of job {job_id}: {words}"
    diagnostic = Diagnostic(code="E621", message=message, hint=found.hint if found else "read scontrol(1), update")
    return RejectedError(diagnostic, argv=tuple(argv), status=done.status, stderr=done.stderr, options=tuple(options))


def _option_name(name: str, values: Mapping[str, str]) -> str:
    """Return the option of `paislurm update`: `--time`, `--release`."""
    return f"--{name}" if name != HELD else "--hold" if values[name] == "yes" else "--release"
