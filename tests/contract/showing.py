"""What cases need that look at jobs as people do: a tunnel and who reads through it, and the words of a page."""

from __future__ import annotations

from html.parser import HTMLParser
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

SERVES = "exec python3 -m http.server $PAI_CURRENT_CONTAINER_PORT"
LISTED = "Directory listing for"
"""What that server says."""
FORWARD = """
paislurm port-forward "$1" "$2" http --run --local-port "$3" 2>said & forwarder=$!
until grep -q Ctrl-C said; do read -r -t 0.1 <> <(:); done
curl --silent --show-error --retry 60 --retry-delay 1 --retry-max-time 120 --retry-all-errors "http://localhost:$3/"
kill "$forwarder"
wait "$forwarder"
"""
"""Forwards a port of a task and reads what is there. Arguments: the job, the task, the port here."""


class _Words(HTMLParser):
    """The text of a page, but for its style and its script."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self._is_code = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:  # noqa: ARG002
        self._is_code = tag in ("style", "script")

    def handle_data(self, data: str) -> None:
        if not self._is_code:
            self.found += data.split()


def words_of(page: Path) -> str:
    """Return the text of a page with a space between its words."""
    words = _Words()
    words.feed(page.read_text(encoding="utf-8"))
    return " ".join(words.found)
