"""Say in the README on which Slurms the contract suite has passed, and when: `make contract` calls this when it has."""

from __future__ import annotations

import re
from datetime import datetime
from pathlib import Path

from tests.cluster.instance import default_instance
from tests.cluster.kinds import SLURMS
from tests.cluster.versions import slurm_of

README = Path(__file__).parents[2] / "README.md"
LINE = re.compile(r"^The contract suite passed on .*\.$", re.MULTILINE)


def line(day: str, versions: dict[str, str]) -> str:
    """Return the sentence about these versions of Slurm, by the Debian suite that has each."""
    *others, last = (f"{version} (Debian {suite})" for suite, version in versions.items())
    return f"The contract suite passed on {day} with Slurm {', '.join(others)} and {last}."


def main() -> None:
    versions = {default_instance(slurm).suite: slurm_of(slurm) for slurm in SLURMS}
    said = line(datetime.now().astimezone().strftime("%Y-%m-%d"), versions)
    README.write_text(LINE.sub(said, README.read_text(encoding="utf-8")), encoding="utf-8")
    print(said)


if __name__ == "__main__":
    main()
