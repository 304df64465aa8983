"""Rewrite diagnostics about values from the command line to name the option instead of a key of the job file."""

from __future__ import annotations

import re
from contextlib import contextmanager
from typing import TYPE_CHECKING

from msgspec.structs import replace

from ...errors import PlanError, ProtocolError
from ...protocol.overrides import TABLE
from ...reading.document import path_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from ...errors import Diagnostic

_IN_THE_FILE = re.compile(r"write `(\w+): ([^`]*)` under extras\.slurm")
_OTHER_KEYS = re.compile(r"another `(\w+)` or `(\w+)` under extras\.slurm")


def typed_options(
    parameters: Iterable[tuple[str, str]], slurm: Iterable[tuple[str, str]], suffix: str, parameter: str = "--set"
) -> dict[str, str]:
    """Return the given options, by the paths of the values that they replace."""
    typed = {path_text(("parameters", name)): f"{parameter} {name}" for name, _ in parameters}
    typed |= {path_text((*TABLE, name)): f"--{name}" for name, _ in slurm}
    return typed | (dict.fromkeys(("$.name", "$.jobName"), "--suffix") if suffix else {})


@contextmanager
def options_named(typed: Mapping[str, str]) -> Iterator[None]:
    """Rewrite errors in the context to name options; `typed` contains them by the paths of the replaced values."""
    try:
        yield
    except (ProtocolError, PlanError) as error:
        error.diagnostics = with_options(error.diagnostics, typed)
        raise


def with_options(diagnostics: Iterable[Diagnostic], typed: Mapping[str, str]) -> tuple[Diagnostic, ...]:
    """Rewrite diagnostics about values of options; others are unchanged."""
    return tuple(_named(each, typed.get(each.path, "")) for each in diagnostics)


def _named(diagnostic: Diagnostic, option: str) -> Diagnostic:
    if not option or diagnostic.location is not None:
        return diagnostic
    hint = _OTHER_KEYS.sub(r"another `--\1` or `--\2`", _IN_THE_FILE.sub(r"write `--\1 \2`", diagnostic.hint))
    return replace(diagnostic, message=f"{option}: {diagnostic.message}", path="", hint=hint)
