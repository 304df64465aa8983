"""Bugs that are planted, one at a time, in a copy of the program: the tests have to notice each."""

from __future__ import annotations

from .protocol import PROTOCOL

MUTANTS = PROTOCOL
