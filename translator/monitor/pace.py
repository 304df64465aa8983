"""The pace of a sweep: which of its jobs that wait here may be submitted, and which never will be."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct, field
from msgspec.structs import replace

from ..plural import counted
from ..state.history import apply
from ..view.reasons import reason
from .attempt import is_settled
from .transition import stopped

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from ..state.history import History
    from ..state.journal_records import Ended
    from .facts import View

    Members = Callable[[str, str], Iterable[tuple[str, History]]]
    """Yield the jobs of a user's group, with the names of their folders."""


class _Group(Struct):
    """The jobs of a group, by the names of their folders.

    `places` are those that may be at the backend: an intent keeps a place until the end of the job with all its
    attempts. The backend has never accepted those in `settled`, which keep their places, too. `failed` are ends.
    """

    places: set[str] = field(default_factory=set)
    settled: set[str] = field(default_factory=set)
    failed: dict[str, Ended] = field(default_factory=dict)

    def note(self, name: str, known: History, polled_at: int = 0) -> None:
        """Take in how a job stands."""
        has_place = known.ended is None and bool(known.tag or known.job_id or known.attempt)
        (self.places.add if has_place else self.places.discard)(name)
        is_free = has_place and not known.attempt and is_settled(known, polled_at)
        (self.settled.add if is_free else self.settled.discard)(name)
        if known.ended is not None and known.ended.state == "FAILED":
            self.failed[name] = known.ended


class Paces:
    """The groups whose jobs wait here, during one step under the monitor's lock."""

    def __init__(self, views: Iterable[View], members: Members) -> None:
        self._views = views
        self._members = members
        self._groups: dict[tuple[str, str], _Group] = {}

    def noted(self, view: View) -> View:
        """Take in how a job stands, and return it."""
        known = view.history
        group = self._groups.get((known.user, known.group))
        if group is not None:
            group.note(view.folder.name, known, view.polled_at)
        return view

    def applied(self, view: View, now: int) -> View:
        """Return whether a job that has never been at the backend has a place there, or its end if its group stops."""
        known = view.history
        if known.pace is None or known.attempt or known.job_id or known.ended is not None:
            return view
        group, name, most = self._group(known), view.folder.name, known.pace.most_at_once
        if known.pace.stop_after and (not known.tag or known.refused is not None):
            codes: dict[int | None, list[Ended]] = {}
            for end in group.failed.values():
                if end.happened_at >= known.created:
                    codes.setdefault(end.exit_code, []).append(end)
            failed = max(codes.values(), key=len, default=[])
            if len(failed) >= known.pace.stop_after:
                jobs, one = counted(len(failed), "job"), failed[0]
                why = reason("its group stops", jobs=jobs, group=known.group, code=one.exit_code, one=one.reason)
                job_status, news = stopped(known, now, why)
                return replace(view, history=apply(known, news), job_status=job_status, news=news)
        # One that the backend never accepted goes before those that wait, but not beside more than the others' places.
        taken = group.places - {name} - (group.settled if known.tag else set())
        return replace(view, has_place=not most or len(taken) < most)

    def _group(self, known: History) -> _Group:
        key = (known.user, known.group)
        if key not in self._groups:
            found = self._groups[key] = _Group()
            for name, each in self._members(*key):
                found.note(name, each)
            for view in self._views:
                self.noted(view)
        return self._groups[key]
