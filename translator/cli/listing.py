"""Gather a line for every job: of ended ones from their journals, of living ones with one query for all."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from ..monitoring.look import adopt, ask, examine, recorded

if TYPE_CHECKING:
    from collections.abc import Callable

    from paislurm.backends.base import Backend

    from ..monitoring.history import History
    from ..monitoring.store import JobFolder, Store
    from ..monitoring.view import Standing


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """Hold what a list shows of a job. `completed` is None where it is not known."""

    name: str
    state: str
    code: int | None
    reason: str
    attempt: int
    backend: str
    job_id: str
    completed: int | None
    tasks: int
    created: int
    submitted: int | None
    ended: bool
    folder: str

    def as_dict(self) -> dict[str, object]:
        """Return the line for `--json`."""
        return asdict(self)


def lines(
    store: Store, backend: Callable[[str], Backend], now: int, *, everything: bool
) -> tuple[list[Line], list[str]]:
    """Return the lines, the newest job first, and why backends did not answer."""
    jobs = [
        (folder, adopt(folder, known, backend, now)[0])
        for folder, known in store.standings()
        if everything or not known.job or folder.name == known.full_name
    ]
    answers = ask((known for _, known in jobs), backend)
    found: list[Line] = []
    for folder, known in jobs:
        if known.ended is not None:
            found.append(_line(folder, known, recorded(known.ended), known.ended.completed))
            continue
        view = examine(folder, known, answers, now)
        completed = sum(task.completed for task in view.tasks) if view.tasks else None
        found.append(_line(folder, view.history, view.standing, completed))
    found.sort(key=lambda line: (line.submitted or line.created, line.name), reverse=True)
    return found, sorted(answers.problems.values())


def _line(folder: JobFolder, known: History, standing: Standing, completed: int | None) -> Line:
    return Line(
        name=folder.name,
        state=standing.state,
        code=standing.code,
        reason=standing.reason,
        attempt=known.attempt,
        backend=known.backend,
        job_id=known.job_id,
        completed=completed,
        tasks=known.tasks,
        created=known.created,
        submitted=known.submitted,
        ended=standing.ended,
        folder=str(folder.path),
    )
