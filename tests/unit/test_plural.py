"""Numbers with what they count, in the singular where there is one."""

from __future__ import annotations

import ast
import re
from itertools import pairwise
from pathlib import Path

import pytest

from paislurm.translator.planning.slurm import over_limits
from paislurm.translator.plural import counted, verb

ROOT = Path(__file__).parents[2]
PLURAL = re.compile(r"^ (?:more |other )?(?:jobs|lines|files|pages|attempts|tasks|warnings|errors|roles|nodes)\b")
NEVER_ONE = {
    "choose_layout.py": 3, "gather.py": 1, "over_limits.py": 1,
    "plan_text.py": 1,
    "attaching.py": 1, "planner.py": 2, "journal_records.py": 2, "removal.py": 1, "room.py": 1, "scenario.py": 1,
    "shown.py": 1, "sweep.py": 1, "sweep_values.py": 1, "task_table.py": 2, "v1/build.py": 1, "waiting.py": 2,
}  # fmt: skip
"""How often a module has a plural behind a number that is always more than one."""


@pytest.mark.parametrize(
    ("number", "text"), [(0, "0 jobs are left"), (1, "1 job is left"), (2, "2 jobs are left"), (21, "21 jobs are left")]
)
def test_noun_and_verb_agree_with_the_number(number: int, text: str) -> None:
    assert f"{counted(number, 'job')} {verb(number, 'is', 'are')} left" == text


@pytest.mark.parametrize(
    ("number", "key", "text"),
    [(1, "gpus", "1 GPU"), (2, "cpus", "2 CPUs"), (1, "nodes", "1 node"), (2, "memory_mib", "2 MiB")],
)
def test_a_limit_names_its_unit(number: int, key: str, text: str) -> None:
    assert over_limits._amount(number, key) == text


def test_no_text_has_a_fixed_plural_after_a_variable_number() -> None:
    found: dict[str, int] = {}
    for path in (*(ROOT / "translator").rglob("*.py"), *(ROOT / "backends").rglob("*.py")):
        name = f"{path.parent.name}/{path.name}" if path.name == "build.py" else path.name
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            values = node.values if isinstance(node, ast.JoinedStr) else []
            for number, text in pairwise(values):
                if isinstance(number, ast.FormattedValue) and isinstance(text, ast.Constant):
                    found[name] = found.get(name, 0) + bool(PLURAL.match(str(text.value)))
    assert {name: count for name, count in found.items() if count} == NEVER_ONE
