"""Change a job with all its components by as few calls as it takes, and find out what Slurm took of what was asked."""

from __future__ import annotations

import re
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from paislurm.translator.errors import BackendError, Diagnostic, RejectedError

from .commands import cluster_of, number_of, scontrol
from .refusals import failure, slurm_words

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from ..base import JobId, Options
    from ..runner import CommandRunner, Completed

FIELDS = {"time": "TimeLimit", "partition": "Partition", "account": "Account", "qos": "QOS", "nice": "Nice"}
"""What scontrol calls options of sbatch. Source: scontrol(1), SPECIFICATIONS FOR UPDATE COMMAND."""
SECONDS = 60.0
HELD = "held"
"""Whether a job is kept from beginning: no option of sbatch, and a command of scontrol of its own."""


class _Refusal(NamedTuple):
    """Say what a message of scontrol means where one of some options was to be changed (none: any), and what helps."""

    says: re.Pattern[str]
    options: tuple[str, ...]
    hint: str


_ENDED = re.compile("already finished|[Ii]nvalid job id")
_REFUSALS = (
    _Refusal(_ENDED, (), "it ended in this moment: `paislurm submit --again JOB` submits it once more"),
    _Refusal(
        re.compile("no longer pending"),
        ("partition", "account", "qos", "nice"),
        "where a job goes, and who is charged, can be changed only while it waits",
    ),
    _Refusal(
        re.compile("denied"),
        ("time",),
        "a user may lower the time limit of a job that runs, and change that of one that waits up to what the "
        "partition allows; an administrator may do more",
    ),
    _Refusal(re.compile("denied"), ("nice",), "a user may only put a job behind others: a nice of 0 or more"),
    _Refusal(re.compile("denied"), (HELD,), "an administrator holds it: only an administrator can release it"),
    _Refusal(re.compile("[Ii]nvalid partition"), (), "`sinfo` lists the partitions"),
    _Refusal(re.compile("[Ii]nvalid (?:account|qos)"), (), "`sacctmgr show associations user=$USER` lists yours"),
)
"""Source: observed on 22.05, 24.11 and 26.05, whose words are the same."""


def commands(job_id: JobId, values: Mapping[str, str]) -> Iterator[tuple[tuple[str, ...], list[str]]]:
    """Yield the command lines that change a job, with the options that each is about.

    The leader of a heterogeneous job stands for all its components, but since some version it alone gets the QOS; see
    `_in_components`. Source: observed on 22.05 (all get it), 24.11 and 26.05.
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
    """Change a job; RejectedError with the options that Slurm refuses, UnreachableError where it does not answer.

    `before` is what the job has had, and `ask` tells what it has now. Where Slurm refuses one of several options it has
    taken those before it. So what the job has is asked then, and what it lacks is changed option by option.
    Source: observed on 22.05, 24.11 and 26.05.
    """
    for options, argv in commands(job_id, values):
        error = _error(runner, options, job_id, values, argv)
        if error is None and options == (HELD,):
            continue
        errors, wanted = {}, {name: values[name] for name in options}
        if error is not None:
            is_alone = len(options) == 1 and len(before) < 2
            if is_alone or not isinstance(error, RejectedError) or _is_over(error):
                raise error
            now = _asked(ask)
            if not now:
                raise _joined(dict.fromkeys(options, error), ["it may have taken some"])
            errors = _one_by_one(runner, job_id, wanted, now)
        taken = {name: value for name, value in wanted.items() if name not in errors}
        errors |= _in_components(runner, job_id, taken, before, ask)
        if errors:
            names = [_option_name(name, wanted) for name in wanted if name not in errors]
            kept = _set_back(runner, job_id, {name: wanted[name] for name in errors}, before, ask)
            raise _joined(errors, [*([f"it took {' and '.join(names)}"] if names else []), *kept])


def _error(
    runner: CommandRunner, options: Sequence[str], job_id: JobId, values: Mapping[str, str], argv: Sequence[str]
) -> BackendError | None:
    """Run a change of these options; return why it failed, None where it did not."""
    try:
        done = runner.run(argv, timeout=SECONDS)
    except BackendError as error:
        return error
    return _refused(options, job_id, values, argv, done) if done.status else None


def _one_by_one(
    runner: CommandRunner, job_id: JobId, wanted: Mapping[str, str], now: Options, component: str = ""
) -> dict[str, BackendError]:
    """Change what a job, or a component `+1`, lacks of some options, each by a call; return why some are not, by name.

    Who is silent is not asked again.
    """
    errors: dict[str, BackendError] = {}
    silence: BackendError | None = None
    for name, value in wanted.items():
        if _has(now, name, value):
            continue
        error = silence or _error(runner, [name], job_id, wanted, _update(job_id, {name: value}, component))
        if error is not None:
            errors[name] = error
            silence = None if isinstance(error, RejectedError) else error
    return errors


def _in_components(
    runner: CommandRunner, job_id: JobId, taken: Mapping[str, str], before: Options, ask: Callable[[], Options]
) -> dict[str, BackendError]:
    """Change those components of a heterogeneous job that lack what their leader took; return why some still do.

    Where it cannot be asked what they have now, all that had something else `before` are changed, which does no harm.
    """
    if not taken or len(before) == 1:
        return {}
    errors: dict[str, BackendError] = {}
    for component, has in enumerate(_asked(ask) or before):
        if component:
            left = {name: value for name, value in taken.items() if name not in errors}
            errors |= _one_by_one(runner, job_id, left, [has], f"+{component}")
    return errors


def _set_back(
    runner: CommandRunner, job_id: JobId, refusals: Mapping[str, str], before: Options, ask: Callable[[], Options]
) -> list[str]:
    """Give components what they had where not all have taken an option; say what they have to keep."""
    now = _asked(ask) if len(before) > 1 else ()
    kept: list[str] = []
    for component, (had, has) in enumerate(zip(before, now, strict=False)):
        for name, value in refusals.items():
            if _has([has], name, value) and not _has([had], name, value):
                argv = _update(job_id, {name: had.get(name, "")}, f"+{component}")
                if name not in had or _error(runner, [name], job_id, refusals, argv):
                    kept.append(f"component {component} has --{name} {value} all the same")
    return kept


def _joined(errors: Mapping[str, BackendError], more: Sequence[str]) -> BackendError:
    """Return one error for all options that are not changed, which says what `more` there is to know."""
    first = next((each for each in errors.values() if not isinstance(each, RejectedError)), next(iter(errors.values())))
    diagnostics = list(dict.fromkeys(each for error in errors.values() for each in error.diagnostics))
    said = "; ".join([diagnostics[-1].message, *more])
    diagnostics[-1] = replace(diagnostics[-1], message=said)
    return type(first)(diagnostics, argv=first.argv, status=first.status, stderr=first.stderr, options=tuple(errors))


def _asked(ask: Callable[[], Options]) -> Options:
    """Return what a job has, nothing where that cannot be asked."""
    with suppress(BackendError):
        return ask()
    return ()


def _has(components: Options, name: str, value: str) -> bool:
    """Tell whether all components have a value. Slurm has names of accounts in small letters, and sorts lists."""
    return all(_names(has.get(name, "")) == _names(value) for has in components)


def _names(value: str) -> set[str]:
    return {*value.casefold().split(",")}


def _update(job_id: JobId, values: Mapping[str, str], component: str = "") -> list[str]:
    """Return the command line that changes options of a job, or of one component: `+1`."""
    settings = (f"{FIELDS[name]}={value}" for name, value in values.items())
    return [*scontrol(cluster_of(job_id)), "update", f"JobId={number_of(job_id)}{component}", *settings]


def _refused(
    options: Sequence[str], job_id: JobId, values: Mapping[str, str], argv: Sequence[str], done: Completed
) -> BackendError:
    """Return the error for a change of these options that has failed; no answer is never called a refusal."""
    error = failure(argv, done)
    if not isinstance(error, RejectedError):
        return error
    words = slurm_words(done)
    fits = (
        each for each in _REFUSALS if each.says.search(words) and (not each.options or {*each.options} & {*options})
    )
    found = next(fits, None)
    named = " and ".join(_option_name(name, values) for name in options)
    message = f"Slurm refuses {named} of job {job_id}: {words}"
    diagnostic = Diagnostic(code="E621", message=message, hint=found.hint if found else "see scontrol(1), update")
    return RejectedError(diagnostic, argv=tuple(argv), status=done.status, stderr=done.stderr, options=tuple(options))


def _option_name(name: str, values: Mapping[str, str]) -> str:
    """Return what `paislurm update` calls an option: `--time`, `--release`."""
    return f"--{name}" if name != HELD else "--hold" if values[name] == "yes" else "--release"


def _is_over(error: BackendError) -> bool:
    """Tell whether Slurm refuses because the job has ended: nothing of it can be changed."""
    return _ENDED.search(error.stderr) is not None
