"""The bash that is the same in all scripts, and that of runtime plugins: which files it is made of, in which order."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .engine import load
from .shell import our_own

if TYPE_CHECKING:
    from .shell import ShellWord

_INSIDE = (
    "common/state",
    "common/messages",
    "task/reports",
    "task/commands",
    "task/scripts",
    "task/secrets",
    "task/environment",
    "task/devices",
    "task/bells",
    "task/answers",
)
_TASK = ("task/task", "task/exit_spec")
_PROLOGUE = ("task/door", "task/ports", "task/ranks", "prologue/prologue", "prologue/door")
_BATCH = (
    "calls/calls",
    "calls/ssh",
    "calls/terminal",
    "prologue/fabric",
    "batch/state",
    "batch/main",
    "batch/exports",
    "batch/signals",
    "batch/folder",
    "batch/nodes",
    "batch/environment",
    "batch/code",
    "batch/fabric",
    "batch/steps",
    "batch/supervise",
    "batch/losses",
    "batch/launches",
    "batch/completion",
    "batch/result",
)
"""The static bash, in its order: what any task needs inside its container, what else it needs, what those without gang
allocation and those with ranks need besides, as does the prologue of a node, and the rest."""
_CONTAINERS = {
    "charliecloud": "charliecloud",
    "podman": "podman",
    "apptainer": "apptainer",
    "singularity": "apptainer",
    "pyxis": "enroot",
    "enroot": "enroot",
}
"""What scripts for a container runtime have besides."""
CONTAINER_RUNTIMES = ("none", *_CONTAINERS)


def own_names() -> ShellWord:
    """Return the bash that keeps the caller's environment apart from the variables of a script."""
    return our_own([load("runtime/own.sh").rstrip("\n")])


def program(name: str) -> str:
    """Return the bash of a runtime plugin: `templates/plugins/<name>.sh`."""
    return load(f"plugins/{name}.sh").rstrip("\n")


def runtime(containers: str = "none") -> ShellWord:
    """Return the static bash of a script, for a container runtime."""
    inside, task, batch = list(_INSIDE), list(_TASK), list(_BATCH)
    if containers != "none":
        name = _CONTAINERS[containers]
        cache = [] if name == "podman" else ["images/cache"]
        inside += ["containers/inside"]
        task += ["containers/containers", f"containers/{name}"]
        batch += ["images/registry", "images/images", *cache, f"images/{name}"]
    return our_own(load(f"runtime/{part}.sh") for part in (*inside, *task, *_PROLOGUE, *batch, "main"))
