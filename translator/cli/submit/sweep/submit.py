"""Submit a sweep: all jobs are compiled and looked up before the first is submitted; a second call does the rest."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ....errors import Diagnostic, PaislurmError, UsageError
from ....lazy import dataclass
from ....plural import counted, verb
from ...input.typed_options import typed_options
from ...output.console import log
from ..prepare import prepare
from ..submit import described, leave_behind, say_what_follows, take
from .group import group_of
from .names import endings
from .values import points

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ....state.records import Dependency
    from ...input.job_input import Source
    from ..submit import Submitted
    from .group import Group
    from .values import Point

MANY = 100
"""Up to so many jobs are submitted without being asked for twice."""


@dataclass(frozen=True, kw_only=True)
class Sweep:
    """Say what became of a sweep: what was submitted, and which jobs, by name, were there already."""

    group: str
    submitted: tuple[Submitted, ...]
    present: tuple[str, ...]

    def as_dict(self) -> dict[str, object]:
        """Return the record for `--json`."""
        return {
            "group": self.group,
            "jobs": [each.as_dict() for each in self.submitted],
            "present": list(self.present),
        }


def submit_sweep(
    source: Source,
    words: Sequence[str],
    *,
    dry_run: bool,
    after: tuple[Dependency, ...] = (),
    yes: bool = False,
    say: Callable[[Submitted], None] = lambda _: None,
) -> Sweep:
    """Submit a job for each point of a sweep, but not those that are there; `say` is told of each as it is taken.

    Raises `UsageError` for more than MANY without `yes`. What keeps one from being submitted says which were.
    """
    found = points(words, own={name for name, _ in source.parameters})
    if len(found) > MANY and not (yes or dry_run):
        message = f"the sweep has {len(found)} jobs, which is more than {MANY}"
        raise UsageError(Diagnostic(code="E582", message=message, hint="`--yes` submits them all"))
    sources = [_source(source, point, ending) for point, ending in zip(found, endings(found), strict=True)]
    jobs = prepare(sources, keep=not dry_run, after=after)
    name = jobs[0].compiled.job.name.removesuffix(sources[0].suffix.removeprefix(source.suffix))
    group = group_of(jobs, found, name)
    submitted = _submit(group, dry_run=dry_run, say=say)
    return Sweep(
        group=group.name,
        submitted=tuple(submitted),
        present=tuple(job.folder.name for job in group.present),
    )


def _source(source: Source, point: Point, ending: str) -> Source:
    typed = {**source.typed, **typed_options(point.items(), (), "", "--sweep")}
    parameters = (*source.parameters, *point.items())
    return replace(source, parameters=parameters, suffix=f"{source.suffix}{ending}", typed=typed)


def _submit(group: Group, *, dry_run: bool, say: Callable[[Submitted], None]) -> list[Submitted]:
    done: list[Submitted] = []
    if not group.missing:
        return done
    first = group.missing[0][0]
    if dry_run:
        return [described(job, None) for job, _ in group.missing]
    try:
        for job, finished in group.missing:
            done.append(described(job, take(job, [finished])))
            say(done[-1])
    except (PaislurmError, KeyboardInterrupt) as error:
        count = len(done) + len(group.present)
        total = len(group.missing) + len(group.present)
        words = f"{count} of {counted(total, 'job')} of {group.name} {verb(total, 'is', 'are')} submitted"
        hint = "the same command submits the others"
        if not isinstance(error, PaislurmError):
            log(f"{words}; {hint}")
            raise
        rest = Diagnostic(code="E586", message=words, hint=f"{hint}; `paislurm list --group {group.name}` shows them")
        error.diagnostics = (*error.diagnostics, rest)
        raise
    finally:
        leave_behind(first)
    say_what_follows(first)
    return done
