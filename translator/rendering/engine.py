"""The one Jinja environment: what may reach a script, and how."""

from __future__ import annotations

from datetime import timedelta
from functools import cache
from importlib.resources import files

import jinja2

from .shell import ShellWord, comment, number, our_own, quote

RUNTIME = (
    "state",
    "messages",
    "folder",
    "nodes",
    "ports",
    "environment",
    "devices",
    "fabric",
    "code",
    "steps",
    "supervise",
    "losses",
    "completion",
    "result",
    "exit_spec",
    "secrets",
    "prerequisites",
    "calls",
    "ssh",
    "terminal",
    "ranks",
    "containers",
    "task",
    "main",
)
"""The static bash, in the order in which it stands in a script: `templates/runtime/<name>.sh`."""
_CONTAINERS = {
    "none": (),
    "charliecloud": ("registry", "images", "cache", "charliecloud"),
    "podman": ("registry", "images", "podman"),
    "apptainer": ("registry", "images", "cache", "apptainer"),
    "singularity": ("registry", "images", "cache", "apptainer"),
    "pyxis": ("registry", "images", "cache", "enroot"),
    "enroot": ("registry", "images", "cache", "enroot"),
}
"""What of it only scripts with containers have, before `main`."""
CONTAINER_RUNTIMES = tuple(_CONTAINERS)


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
    return our_own(_load(f"runtime/{name}.sh") for name in (*RUNTIME[:-1], *_CONTAINERS[containers], RUNTIME[-1]))
