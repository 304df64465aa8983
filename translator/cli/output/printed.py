"""JSON documents about the program itself."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

Shell = Literal["bash", "zsh", "fish"]


class HelpText(Struct, frozen=True, kw_only=True):
    """The help of a command."""

    text: str
    """The help."""


class ShellCompletion(Struct, frozen=True, kw_only=True):
    """A completion script for a shell."""

    shell: Shell
    """The shell."""
    text: str
    """The completion script."""
