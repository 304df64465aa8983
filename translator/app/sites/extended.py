"""Read a site profile and those below it: the file that it `extends`, and the system's."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from ...errors import Diagnostic, SiteError
from ...site.layers import EXTENDS, layered, locks_of, only_locked
from ...site.load import read_layer
from ..paths import hint_at_files
from .find import read_at_most

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ...reading.document import Document
    from ..session import Session

    Refuses = Callable[[Path, bytes], str]

MAX_LAYERS = 8
_ONE_CLUSTER = ("host", "cluster")
"""Keys that identify the cluster of a profile."""


def layers_of(
    session: Session,
    path: Path,
    below: Path | None,
    why_named: str = "",
    *,
    locks_alone: bool = False,
    refuses: Refuses | None = None,
) -> tuple[Document, ...]:
    """Return a profile and all below it, the lowest first; `below` is the lowest if it is for the same cluster.

    With `locks_alone`, only the locks of `below` count. `refuses` returns why a profile with these bytes is not
    allowed, or ""; it does not apply to `below`.

    Raises SiteError for a profile that cannot be read, is not allowed, or extends itself.
    """
    upper = _chain(session, path, why_named, refuses)
    if below is None or _identity(below) in {_identity(Path(each.file)) for each in upper}:
        return upper
    lower = _chain(session, below)
    if _is_of_one_cluster(lower, upper):
        return (*(only_locked(lower) if locks_alone else lower), *upper)
    locked = {lock for each in lower for lock in locks_of(each)}
    return (*only_locked(lower), *upper) if locked & {*_ONE_CLUSTER} else upper


def _chain(session: Session, path: Path, hint: str = "", refuses: Refuses | None = None) -> tuple[Document, ...]:
    """Return a profile and those that it extends, the lowest first."""
    found = [_read(path, "E460", hint, refuses)]
    seen = {_identity(path)}
    while isinstance(name := found[0].mapping(()).get(EXTENDS), str) and name:
        above = found[0]
        path = Path(above.file).parent / session.expanded(name)
        if _identity(path) in seen or len(found) == MAX_LAYERS:
            what = "extends itself" if _identity(path) in seen else f"is one of more than {MAX_LAYERS} profiles"
            raise SiteError(_refusal("E468", f"the site profile {path} {what}", above))
        seen.add(_identity(path))
        found.insert(0, _read(path, "E468", "", refuses, above))
    return tuple(found)


def _read(path: Path, code: str, hint: str, refuses: Refuses | None, above: Document | None = None) -> Document:
    try:
        text = read_at_most(path)
    except OSError as error:
        message = f"cannot read the site profile {path}: {error.strerror or error}"
        hints = (hint, hint_at_files(str(path), error))
        raise SiteError(_refusal(code, message, above, "; ".join(filter(None, hints)))) from None
    if refuses is not None and (refusal := refuses(path, text)):
        raise SiteError(_refusal(code, f"the site profile {path} {refusal}", above))
    return read_layer(text, file=str(path))


def _refusal(code: str, message: str, above: Document | None, hint: str = "") -> Diagnostic:
    location = above.location((EXTENDS,)) if above is not None else None
    return Diagnostic(code=code, message=message, location=location, path="$.extends" if above else "", hint=hint)


def _is_of_one_cluster(lower: Sequence[Document], upper: Sequence[Document]) -> bool:
    """Return whether profiles are for the same cluster: the upper ones do not name another."""
    named, known = layered(upper)[0].mapping(()), layered(lower)[0].mapping(())
    return all(not named.get(key) or named[key] == known.get(key) for key in _ONE_CLUSTER)


def _identity(path: Path) -> str:
    return os.path.realpath(path)
