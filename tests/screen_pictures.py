"""Make the pictures of the live screen that the documentation has: `python -m tests.screen_pictures`."""

from __future__ import annotations

import io
from pathlib import Path

from msgspec.structs import replace
from rich.console import Console
from rich.text import Text

from paislurm.translator.app.session import Session
from paislurm.translator.cli.screen.frame import frame
from paislurm.translator.cli.screen.state import State
from tests.unit.cli.screen.sights import NOW, training

FOLDER = Path(__file__).parents[1] / "docs" / "images"
PICTURES = {80: (24, 64), 160: (40, 500)}
"""For each width the height, and how many workers the job has."""


def picture(width: int) -> str:
    """Return a picture of the screen of a job."""
    height, workers = PICTURES[width]
    world = training(workers)
    assert world.view is not None
    world = replace(world, view=replace(world.view, job_status=replace(world.view.job_status, reason="")))
    lines = frame(Session(), world, State(page="job", job=world.view.folder.name), width, height, NOW)
    console = Console(
        record=True, width=width, height=height, file=io.StringIO(), force_terminal=True, color_system="truecolor",
        legacy_windows=False, _environ={},
    )  # fmt: skip
    console.print(Text("\n").join(lines), end="")
    return console.export_svg(title="paislurm watch train", unique_id=f"watch-{width}")


def main() -> None:
    """Write the pictures."""
    FOLDER.mkdir(exist_ok=True)
    for width in PICTURES:
        (FOLDER / f"watch-{width}.svg").write_text(picture(width), encoding="utf-8")


if __name__ == "__main__":
    main()
