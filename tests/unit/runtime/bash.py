"""Run functions of the runtime by themselves."""

from __future__ import annotations

import functools
import re
import shlex
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

from paislurm.translator.rendering.engine import load
from paislurm.translator.rendering.runtime_bundle import ALL_USES, runtime
from paislurm.translator.site.containers import BASH_PARTS, CONTAINER_RUNTIMES

DISPATCHES = ("container_dispatch", "task_dispatch", "first_task_dispatch", "dispatch")
"""What runs, after the functions of a container's shell, a task, a node's first task, and the batch script."""
EVENTS = (
    rb"asked|background|behind|died|evidence|exit|failed|free|kills|launched|lost|mismatch|moved|ports|prepared|quiet|signal"
    rb"|stalled|start|step|term|unlaunched|unprepared"
)
BLANK = re.compile(rb"^ (?=(?:%b) \w)" % EVENTS, re.MULTILINE)
"""What a message to another shell begins with: see `send`. It is left out."""
FILES = tempfile.TemporaryDirectory(prefix="paislurm-runtime-")


def uses_with(containers: str, *, loss: str = "") -> tuple[str, ...]:
    """Return every use of the runtime, of container runtimes this one, and of `spare` and `requeue` that of `loss`."""
    row = CONTAINER_RUNTIMES.get(containers)
    uses = [use for use in ALL_USES if use not in BASH_PARTS or (row and use == row.bash)]
    unused = {"spare", "requeue"} - {loss} if loss else {"spare", "requeue", "restarts"}
    return tuple(use for use in uses if use not in unused)


def library(containers: str = "none", *, loss: str = "") -> str:
    """Return the functions of the runtime, without what runs them."""
    text: str = runtime(uses_with(containers, loss=loss))
    text = text.partition("# ==== dispatch ====")[0]
    for part in DISPATCHES[:-1]:
        text = text.replace(load(f"runtime/{part}.sh").rstrip("\n"), "")
    assert "start_up " not in text.partition("start_up() {")[2]
    return text


@functools.cache
def sourced(containers: str = "none", *, loss: str = "", **changes: str) -> str:
    """Return bash that sources the runtime from a file: all of it is more than one argument may have.

    `changes` are names whose first setting is that of another name.
    """
    text = library(containers, loss=loss)
    for name, other in changes.items():
        text = text.replace(f"{name}=", f"{other}=", 1)
    path = Path(FILES.name, f"{containers}-{loss}-{'-'.join(changes)}.sh")
    path.write_text(text, encoding="utf-8")
    return f"source {shlex.quote(str(path))}"


def run(
    code: str,
    *argv: str,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    stdin: str = "",
    loss: str = "",
) -> str:
    """Run bash after the runtime, and return what it prints."""
    done = subprocess.run(
        ["bash", "-p", "-c", f"set -u\n{sourced(loss=loss)}\n{code}", "bash", *argv],
        env={"PATH": "/usr/bin:/bin", **(env or {})},
        cwd=cwd,
        input=stdin.encode(),
        capture_output=True,
        check=True,
        timeout=120,
    )
    assert done.stderr == b"", done.stderr
    return BLANK.sub(b"", done.stdout).decode(errors="surrogateescape")


def lines_of(code: str, *argv: str, path: str = "/usr/bin:/bin", cwd: Path | None = None) -> list[str]:
    """Run bash on node n1 after the runtime, and return the lines that it prints."""
    return run(code, *argv, env={"PATH": path, "SLURMD_NODENAME": "n1"}, cwd=cwd).splitlines()
