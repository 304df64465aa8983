"""The one Jinja environment: what may reach a script, and how."""

from __future__ import annotations

from datetime import timedelta
from functools import cache
from importlib.resources import files

import jinja2

from .shell import ShellWord, comment, number, our_own, quote

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
_TASK = ("task/task", "task/ports", "task/exit_spec", "task/ranks", "prologue/prologue")
_BATCH = (
    "calls/calls",
    "calls/ssh",
    "calls/terminal",
    "prologue/fabric",
    "batch/state",
    "batch/main",
    "batch/folder",
    "batch/nodes",
    "batch/environment",
    "batch/code",
    "batch/fabric",
    "batch/steps",
    "batch/supervise",
    "batch/losses",
    "batch/completion",
    "batch/result",
)
"""The static bash, in its order: what a task needs inside its container, what else it needs, and the rest."""
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


def _only_shell_words(value: object) -> object:
    """Refuse what has not been through a filter, so that a forgotten quote is an error and not a hole."""
    if isinstance(value, jinja2.Undefined):
        str(value)  # raises, and names the variable
    if isinstance(value, ShellWord) or (isinstance(value, int) and not isinstance(value, bool)):
        return value
    raise TypeError(f"a template printed {value!r}, which nothing has quoted")


def _flag(value: bool) -> ShellWord:
    return number(int(value))


def _seconds(value: timedelta) -> ShellWord:
    return number(int(value.total_seconds()))


def _load(name: str) -> str:
    text: str = files("paislurm").joinpath("templates", *name.split("/")).read_text(encoding="utf-8")
    return text


@cache
def engine() -> jinja2.Environment:
    """Return the environment: strict about names, quoting and white space."""
    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(_load),
        undefined=jinja2.StrictUndefined,
        finalize=_only_shell_words,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,  # noqa: S701 - this is bash, and `finalize` lets only quoted text through
    )
    environment.filters |= {"sh": quote, "comment": comment, "flag": _flag, "seconds": _seconds}
    return environment


def program(name: str) -> str:
    """Return the bash of a runtime plugin: `templates/plugins/<name>.sh`."""
    return _load(f"plugins/{name}.sh").rstrip("\n")


def runtime(containers: str = "none") -> ShellWord:
    """Return the static bash of a script, for a container runtime."""
    inside, task, batch = list(_INSIDE), list(_TASK), list(_BATCH)
    if containers != "none":
        name = _CONTAINERS[containers]
        cache = [] if name == "podman" else ["images/cache"]
        inside += ["containers/inside"]
        task += ["containers/containers", f"containers/{name}"]
        batch += ["images/registry", "images/images", *cache, f"images/{name}"]
    return our_own(_load(f"runtime/{part}.sh") for part in (*inside, *task, "door", *batch, "main"))
