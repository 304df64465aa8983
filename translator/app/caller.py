"""Who calls: the program, with the environment and a terminal, or a client of the API, with a home of its own."""

from __future__ import annotations

import os
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping


class Caller(NamedTuple):
    """A client of the Python API: what goes before variables of the environment, and who is told what is no result."""

    variables: Mapping[str, str]
    tell: Callable[[str], object]


_CALLER: ContextVar[Caller | None] = ContextVar("caller", default=None)


@contextmanager
def calling(caller: Caller) -> Iterator[None]:
    """Let all that is done meanwhile be done for a client."""
    token = _CALLER.set(caller)
    try:
        yield
    finally:
        _CALLER.reset(token)


def caller() -> Caller | None:
    """Return the client that calls, None in the program."""
    return _CALLER.get()


def setting(name: str) -> str | None:
    """Return a variable of the environment, or what the client that calls has in its place; None where neither has."""
    client = caller()
    found = client.variables.get(name) if client else None
    return os.environ.get(name) if found is None else found


def environment() -> dict[str, str]:
    """Return the environment as the client that calls has it: for a process that goes on for it."""
    client = caller()
    return {**os.environ, **(client.variables if client else {})}
