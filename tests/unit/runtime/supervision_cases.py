"""Made-up jobs, and the bash that supervises them."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, Phase, settings

from paislurm.translator.app.what_if.completion_model import Decision, Exit, RoleModel

from .bash import sourced

HARNESS = Path(__file__).with_name("harness.sh").read_text(encoding="utf-8")
START = 1000
ENDS = [
    (0, 0, "success"),
    (1, 255, "unknown"),
    (3, 255, "unknown"),
    (137, 137, "transient"),
    (137, -1200, "permanent"),
    (143, 143, "transient"),
    (130, 130, "transient"),
    (139, 139, "unknown"),
    (1, 253, "transient"),
    (2, 251, "conflict"),
    (141, 141, "permanent"),
]
"""Exit status, code and behaviour, as the exit specification makes them."""
BATCH = 40
"""Cases that one bash runs."""
MADE = settings(
    deadline=None,
    # A batch is not shrunk: the message has the one case that failed.
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


@dataclass(repr=False)
class Case:
    """A made-up job, and what the bash made of it."""

    roles: list[RoleModel]
    lines: list[str]
    gang: bool = True
    ceiling: int = 3
    restarts: int = 3
    of_job: int = -1
    exits: list[Exit] = field(default_factory=list)
    runs: dict[tuple[int, int, int], tuple[int, int, int, str]] = field(default_factory=dict)
    term: int | None = None
    said: list[str] = field(default_factory=list)

    def __repr__(self) -> str:
        return "a case"

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:  # noqa: ARG002 - hypothesis's signature
        printer.text(repr(self))

    def text(self) -> str:
        head = [f"job {int(self.gang)} {self.ceiling} {self.restarts} {self.of_job}"]
        head += [f"role {r.instances} {r.slots} {r.min_failed} {r.min_succeeded} {r.retries}" for r in self.roles]
        term = [] if self.term is None else [f"term {self.term}"]
        return "\n".join([*head, *self.lines, *term, "go", ""])

    def outcome(self) -> Decision:
        (words,) = [line.split() for line in self.said if line.startswith("outcome ")]
        trigger = None
        if words[5] != "none":
            trigger = (words[5], int(words[6]), int(words[7]), int(words[8]))
        return Decision(words[1], int(words[2]), words[3], trigger)

    def decided_at(self) -> int:
        (words,) = [line.split() for line in self.said if line.startswith("outcome ")]
        return int(words[4])

    def states(self) -> dict[str, tuple[str, int]]:
        rows = [line.split() for line in self.said if line.startswith("task ")]
        return {row[1]: (row[2], int(row[3])) for row in rows}


def run(cases: list[Case]) -> None:
    """Let one bash run the cases."""
    script = f"set -u\nreadonly PSL_FOLDER=/nowhere\n{sourced(PSL_FOLDER='NO_FOLDER')}\n{HARNESS}\nrun_cases\n"
    done = subprocess.run(
        # A program of its own watches the time: it is there when the tests have been killed.
        ["timeout", "--signal=KILL", "240", "bash", "-c", script],
        input="".join(case.text() for case in cases),
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == ""
    parts = done.stdout.split("end\n")[:-1]
    assert len(parts) == len(cases)
    for case, part in zip(cases, parts, strict=True):
        case.said = part.splitlines()
