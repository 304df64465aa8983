"""Change a job with all its components by as few calls as it takes, and find out what Slurm took of what was asked."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from msgspec.structs import replace

from paislurm.translator.errors import BackendError, RejectedError

from ..commands import cluster_of, number_of
from .refused import HELD, is_over, option_name, refused

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from ...base import JobId, Options
    from ...runner import CommandRunner

FIELDS = {"time": "TimeLimit", "partition": "Partition", "account": "Account", "qos": "QOS", "nice": "Nice"}
"""What scontrol calls options of sbatch. Source: scontrol(1), SPECIFICATIONS FOR UPDATE COMMAND."""
SECONDS = 60.0


def commands(job_id: JobId, values: Mapping[str, str]) -> Iterator[tuple[tuple[str, ...], list[str]]]:
    """Yield the command lines that change a job, with the options that each is about.

    The leader of a heterogeneous job stands for all its components, but since some version it alone gets the QOS; see
    `_in_components`. Source: observed on 22.05 (all get it), 24.11 and 26.05.
    """
    options = tuple(name for name in FIELDS if name in values)
    if options:
        yield options, _update(job_id, {name: values[name] for name in options})
    if HELD in values:
        yield (HELD,), [*_scontrol(job_id), "hold" if values[HELD] == "yes" else "release", number_of(job_id)]


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
            if is_alone or not isinstance(error, RejectedError) or is_over(error):
                raise error
            now = _asked(ask)
            if not now:
                raise _joined(dict.fromkeys(options, error), ["it may have taken some"])
            errors = _one_by_one(runner, job_id, wanted, now)
        taken = {name: value for name, value in wanted.items() if name not in errors}
        errors |= _in_components(runner, job_id, taken, before, ask)
        if errors:
            names = [option_name(name, wanted) for name in wanted if name not in errors]
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
    return refused(options, job_id, values, argv, done) if done.status else None


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


def _scontrol(job_id: JobId) -> list[str]:
    cluster = cluster_of(job_id)
    return ["scontrol", *([f"--clusters={cluster}"] if cluster else [])]


def _update(job_id: JobId, values: Mapping[str, str], component: str = "") -> list[str]:
    """Return the command line that changes options of a job, or of one component: `+1`."""
    settings = (f"{FIELDS[name]}={value}" for name, value in values.items())
    return [*_scontrol(job_id), "update", f"JobId={number_of(job_id)}{component}", *settings]
