"""Tell who follows a job which pages its tasks serve, once for each attempt, as soon as their ports are known."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...state.task_reports import read_peers
from ..where.task_places import TaskPlace
from ..where.web_pages import FEW, may_have_pages, page_line, web_pages

if TYPE_CHECKING:
    from ...state.job_folder import JobFolder
    from ..session import Session


class PageLines:
    """Look at the files of an attempt until they name addresses; of a job without pages at nothing."""

    def __init__(self, session: Session, folder: JobFolder) -> None:
        self._session, self._folder = session, folder
        known = folder.history()
        self._roles = known.roles
        self._attempt = known.attempt
        self._is_due = known.ended is None and may_have_pages(folder)

    def print_new(self) -> None:
        """Tell what is new."""
        while self._folder.attempt(self._attempt + 1).is_dir():
            self._attempt += 1
            self._is_due = may_have_pages(self._folder)
        peers = read_peers(self._folder.reports(self._attempt)) if self._is_due else {}
        if not peers:
            return
        self._is_due = False
        places = [
            TaskPlace(
                role=self._roles[role].name, index=index, node="", address=peer.address, ports=peer.ports,
                is_running=True,
            )
            for (role, index), peer in sorted(peers.items())
            if role < len(self._roles)
        ]  # fmt: skip
        for page in web_pages(self._folder, places)[:FEW]:
            self._session.say(page_line(page))
