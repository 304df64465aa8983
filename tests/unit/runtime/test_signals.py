"""Signals, at any moment and with any bash: the result is there, and right."""

from __future__ import annotations

import os
import random
import re
import signal
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests import bashes

from .storm import SCRIPTS, Storm

TEMPLATES = Path(__file__).parents[3] / "templates"
SIGNALS = int(os.environ.get("PAISLURM_SIGNALS", "30"))
"""For each bash; `make chaos` has 200."""
AT_ONCE = 8
"""Scripts that run at the same time, on whatever processors there are: the load."""
TRAP = re.compile(r"""^\s*trap (?P<action>'[^']*'|"[^"]*"|\S+) (?P<signals>[A-Z0-9 ]+)$""")
STEP = re.compile(r"""\s*(?::|[a-zA-Z_]\w*=\w*|printf "[^"$`\\]*(?:\\n)?" >&"\$\w+")\s*""")
"""What a trap may do: nothing, set a variable, write a line to a descriptor."""


def is_small(action: str) -> bool:
    text = action[1:-1] if action[0] == "'" else action
    return text == "" or (action[0] == "'" and all(STEP.fullmatch(part) for part in text.split(";")))


@pytest.mark.parametrize("file", sorted(TEMPLATES.rglob("*.*")), ids=lambda file: str(file.relative_to(TEMPLATES)))
def test_traps_only_set_variables(file: Path) -> None:
    """It runs in the middle of what the shell does, as of a `read` with a time limit; at EXIT of nothing any more."""
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
        # What begins with `builtin` is text that another bash gets.
        if line.lstrip().startswith("#") or "builtin trap" in line or not re.search(r"(?:^|[\s;&|({])trap\s", line):
            continue
        # A word behind a command in the same line, and one in a text that another bash gets.
        found = TRAP.match(re.sub(r"^.*?(?=\btrap )", "", line.partition(" && ")[0].rstrip(";")))
        if "builtin trap" in line or line.rstrip().endswith(("EXIT", '$print"')):
            continue
        assert found, f"{file}:{number}: cannot read this trap"
        assert is_small(found["action"]), f"{file}:{number}: this trap does work"


@pytest.mark.parametrize("action", ["''", "':'", "'A=1'", """'A=1; printf "stop\\n" >&"$PSL_CONTROL_FD"'"""])
def test_allowed_trap_actions_are_accepted(action: str) -> None:
    assert is_small(action)


@pytest.mark.parametrize(
    "action", ["on_term", "'on_term'", '"A=1"', "'A=$(date)'", "'printf a >file'", "'A=1; kill 1'"]
)
def test_other_trap_actions_are_refused(action: str) -> None:
    assert not is_small(action)


@pytest.mark.slow("dozens of scripts for each bash, which is made first where it is missing")
@pytest.mark.parametrize("bash", bashes.BASHES)
def test_a_signal_leaves_a_result(bash: str, tmp_path: Path) -> None:
    """Scripts are signalled while they prepare, and when the time limit of a `read` of a second is nearly over."""
    try:
        storm = Storm(tmp_path, bashes.find(bash))
    except bashes.NoBashError as reason:
        pytest.skip(str(reason))
    chance = random.Random(os.getpid())

    def draw(turn: int) -> list[object]:
        begun = turn % 2 == 0
        pause = chance.uniform(0.85, 1.05) if begun else chance.uniform(0, 0.3)
        return storm.strike(chance.choice([signal.SIGTERM, signal.SIGUSR1]), chance.choice(SCRIPTS), pause, begun=begun)

    with ThreadPoolExecutor(AT_ONCE) as pool:
        wrong = [fault for fault in pool.map(draw, range(SIGNALS)) if fault]
    assert not wrong, f"{len(wrong)} of {SIGNALS}: {wrong[:3]}"
