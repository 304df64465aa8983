"""Functions of the program that return the same for the same arguments: here they remember what, to save time."""

from __future__ import annotations

import json
from functools import cache, lru_cache
from pathlib import Path, PurePath
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from paislurm.translator.app.input.secret_files import kept_text
from paislurm.translator.app.json_documents import plain
from paislurm.translator.app.session import Session
from paislurm.translator.app.submit import submitting
from paislurm.translator.monitor import poll
from paislurm.translator.state import job_folder, journal
from paislurm.translator.state.history import history

if TYPE_CHECKING:
    from collections.abc import Callable


MAX_REMEMBERED = 10_000


def by_identity(call: Callable[..., Any], count: int = MAX_REMEMBERED) -> Callable[..., Any]:
    """Return a function that remembers results by which object its last argument is."""
    known: dict[int, tuple[Any, Any]] = {}

    def remembered(*words: Any, **others: Any) -> Any:
        found = known.get(id(words[-1]))
        if found is None:
            if len(known) >= count:
                known.clear()
            # An object that is kept here shares its identity with no other.
            found = known[id(words[-1])] = (words[-1], call(*words, **others))
        return found[1]

    return remembered


_children: dict[tuple[str, str], PurePath] = {}
_child = PurePath.__truediv__


def _below(path: PurePath, name: Any) -> PurePath:
    if type(name) is not str:
        return _child(path, name)
    key = (str(path), name)
    found = _children.get(key)
    if found is None:
        if len(_children) >= MAX_REMEMBERED:
            _children.clear()
        found = _children[key] = _child(path, name)
    return found


_history = by_identity(history)
_path = cache(Path)

REMEMBERED: list[tuple[object, str, object]] = [
    (PurePath, "__truediv__", _below),
    (Session, "home", property(lambda session: _path(session.setting("PAISLURM_HOME")))),
    (journal, "_records", lru_cache(MAX_REMEMBERED)(journal._records)),
    (poll, "history", _history),
    (job_folder, "history", _history),
    (submitting, "kept_text", by_identity(kept_text)),
    (submitting, "plain", by_identity(plain)),
    (submitting, "json", SimpleNamespace(dumps=by_identity(json.dumps))),
]
"""Each function: its owner, its name, and the one that remembers."""
