"""Bugs that are planted, one at a time, in a copy of the program: the tests have to notice each."""

from __future__ import annotations

from .edges import EDGES
from .planning import PLANNING
from .policies import POLICIES
from .protocol import PROTOCOL
from .scripts import SCRIPTS

MUTANTS = (*PROTOCOL, *PLANNING, *POLICIES, *SCRIPTS, *EDGES)
