"""Submit a sweep: all jobs are compiled and looked up before the first is submitted; a second call does the rest."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from ....errors import Diagnostic, PaislurmError, UsageError
from ....plural import counted, verb
from ...input.typed_options import typed_options
from ..prepare import prepare
from ..submit import described, leave_behind, say_what_follows, take
from .group import group_of
from .values import points

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ....state.records import Dependency
    from ...input.source import Source
    from ...session import Session
    from ..submit import Submitted
    from .group import Group
    from .values import Point

MANY = 100
"""Up to so many jobs are submitted without being asked for twice."""


class Sweep(Struct, frozen=True, kw_only=True):
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
    session: Session,
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
    jobs = prepare(session, sources, keep=not dry_run, after=after)
    name = jobs[0].compiled.job.name.removesuffix(sources[0].suffix.removeprefix(source.suffix))
    group = group_of(session, jobs, found, name)
    submitted = _submit(session, group, dry_run=dry_run, say=say)
    return Sweep(
        group=group.name,
        submitted=tuple(submitted),
        present=tuple(job.folder.name for job in group.present),
    )


def _source(source: Source, point: Point, ending: str) -> Source:
    typed = {**source.typed, **typed_options(point.items(), (), "", "--sweep")}
    parameters = (*source.parameters, *point.items())
    return replace(source, parameters=parameters, suffix=f"{source.suffix}{ending}", typed=typed)


def _submit(session: Session, group: Group, *, dry_run: bool, say: Callable[[Submitted], None]) -> list[Submitted]:
    done: list[Submitted] = []
    if not group.missing:
        return done
    first = group.missing[0][0]
    if dry_run:
        return [described(session, job, None) for job, _ in group.missing]
    try:
        for job, finished in group.missing:
            done.append(described(session, job, take(session, job, [finished])))
            say(done[-1])
    except (PaislurmError, KeyboardInterrupt) as error:
        count = len(done) + len(group.present)
        total = len(group.missing) + len(group.present)
        words = f"{count} of {counted(total, 'job')} of {group.name} {verb(total, 'is', 'are')} submitted"
        hint = "the same command submits the others"
        if not isinstance(error, PaislurmError):
            session.say(f"{words}; {hint}")
            raise
        rest = Diagnostic(code="E586", message=words, hint=f"{hint}; `paislurm list --group {group.name}` shows them")
        error.diagnostics = (*error.diagnostics, rest)
        raise
    finally:
        leave_behind(session, first)
    say_what_follows(session, first)
    return done


LONGEST = 60
"""Characters of an ending; a longer one is cut, and told from others by a digest."""
_DIGEST = 8


def endings(points: Sequence[Mapping[str, str]]) -> list[str]:
    """Return what is put behind a job's name for each point: `-lr0_1-seed3`, of which no two are the same.

    All is made of what names of OpenPAI's jobs may have. Where points would be called alike, or by too long a name, a
    digest of the values is in it: the same point has the same name when it is submitted again.
    """
    short = [_ending(point) for point in points]
    count = Counter(each.lower() for each in short)
    return [
        each if count[each.lower()] == 1 and len(each) <= LONGEST else _with_digest(each, point)
        for each, point in zip(short, points, strict=True)
    ]


def _ending(point: Mapping[str, str]) -> str:
    return "".join(f"-{_allowed(name)}{_allowed(value)}" for name, value in point.items())


def _allowed(text: str) -> str:
    """Return a text with `_` for each character that a name cannot have; quotes around a value are no part of it."""
    bare = text[1:-1] if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"" else text
    return re.sub(r"[^A-Za-z0-9_-]", "_", bare)


def _with_digest(ending: str, point: Mapping[str, str]) -> str:
    digest = hashlib.sha256(json.dumps(point, sort_keys=True).encode(errors="surrogatepass")).hexdigest()[:_DIGEST]
    return f"{ending[: LONGEST - _DIGEST - 1]}-{digest}"
