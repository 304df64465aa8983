"""What a task saves by reading the script only up to the dispatch of tasks, instead of to its end."""

from __future__ import annotations

import re
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from paislurm.translator.pipeline import compile_job
from paislurm.translator.rendering.engine import load

from .compiling import before_dispatch
from .measure import Ratio, cpu_of_children, process, times_of

if TYPE_CHECKING:
    from collections.abc import Iterator

HELLO = Path(__file__).parents[2] / "examples" / "hello-world.yaml"


def run() -> Iterator[Ratio]:
    """Yield the ratio for a script without parts that only some jobs use, the shortest one."""
    script = compile_job(HELLO.read_bytes()).script
    dispatch = load("runtime/task_dispatch.sh").strip()
    assert dispatch in script
    nothing = re.sub(r"\nstart_up .*", "\nexit", dispatch, flags=re.DOTALL)
    with TemporaryDirectory() as folder:
        part, whole = Path(folder, "part.sbatch"), Path(folder, "whole.sbatch")
        part.write_text(script.replace(dispatch, nothing))
        unread = script.replace(dispatch, "").replace(load("runtime/first_task_dispatch.sh").strip(), "")
        whole.write_text(before_dispatch(unread) + "exit\n")
        times = times_of(
            *(process(["bash", "-p", str(file)]) for file in (part, whole)), turns=100, clock=cpu_of_children
        )
    yield Ratio("bash reads what a task needs of a script : all of it", *times, 0.9)
