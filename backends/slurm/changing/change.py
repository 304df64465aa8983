"""Change a job with all its components by one call, and find out what Slurm took where it refuses a part."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

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

    The leader of a heterogeneous job stands for all its components. Source: observed on 22.05, 24.11 and 26.05.
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
        done = runner.run(argv, timeout=SECONDS)
        if not done.status:
            continue
        error = refused(options, job_id, values, argv, done)
        is_simple = len(options) == 1 and len(before) < 2
        now = () if is_simple or not isinstance(error, RejectedError) or is_over(done) else _asked(ask)
        if not now:
            raise error
        wanted = {name: values[name] for name in options}
        lacking = [name for name in wanted if not _has(now, name, wanted[name])]
        if len(lacking) == 1:
            errors = {lacking[0]: refused(lacking, job_id, values, argv, done)}
        else:
            errors = _one_by_one(runner, job_id, {name: wanted[name] for name in lacking})
        if errors:
            kept = _set_back(runner, job_id, {name: wanted[name] for name in errors}, before, ask)
            raise _joined(errors, [option_name(name, wanted) for name in wanted if name not in errors], kept)


def _one_by_one(runner: CommandRunner, job_id: JobId, wanted: Mapping[str, str]) -> dict[str, BackendError]:
    """Change options, each by a call of its own; return why some are not changed. Who is silent is not asked again."""
    errors: dict[str, BackendError] = {}
    silence: BackendError | None = None
    for name, value in wanted.items():
        if silence is None:
            argv = _update(job_id, {name: value})
            done = runner.run(argv, timeout=SECONDS)
            if not done.status:
                continue
            errors[name] = refused([name], job_id, wanted, argv, done)
            silence = None if isinstance(errors[name], RejectedError) else errors[name]
        else:
            errors[name] = silence
    return errors


def _set_back(
    runner: CommandRunner, job_id: JobId, refusals: Mapping[str, str], before: Options, ask: Callable[[], Options]
) -> list[str]:
    """Give components what they had where not all have taken an option; say what they have to keep."""
    now = _asked(ask) if len(before) > 1 else ()
    kept: list[str] = []
    for component, (had, has) in enumerate(zip(before, now, strict=False)):
        taken = [name for name, value in refusals.items() if _has([has], name, value) and not _has([had], name, value)]
        for name in taken:
            argv = _update(job_id, {name: had.get(name, "")}, f"+{component}")
            if name not in had or runner.run(argv, timeout=SECONDS).status:
                kept.append(f"component {component} has --{name} {refusals[name]} all the same")
    return kept


def _joined(errors: Mapping[str, BackendError], taken: Sequence[str], kept: Sequence[str]) -> BackendError:
    """Return one error for all options that are not changed, which says what else there is to know."""
    first = next((each for each in errors.values() if not isinstance(each, RejectedError)), next(iter(errors.values())))
    diagnostics = list(dict.fromkeys(each for error in errors.values() for each in error.diagnostics))
    more = [*([f"it took {' and '.join(taken)}"] if taken else []), *kept]
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
