"""The forms that values of settings have: the runtime calculates with them, and makes names, paths and options of them.

`of_job` and `of_role` have the form of each setting; `paislurm verify` refuses a script of which one has another.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Literal

from ...lazy import dataclass

Value = str | int | tuple[str, ...]
"""A word, a number, or the words of an array."""


@dataclass(frozen=True)
class Form:
    """Describe the values of a setting: `what` they are called, and the pattern of the whole text.

    The words of an array stand in that text with a NUL behind each. `to_read` says that no form can tell whether the
    value is harmless, so that a person has to read it.
    """

    what: str
    pattern: str = ""
    kind: Literal["number", "text", "array"] = "text"
    to_read: bool = False

    def fits(self, value: Value) -> bool:
        """Tell whether the value has this form."""
        if isinstance(value, int):
            return self.kind == "number"
        if isinstance(value, tuple):
            return self.kind == "array" and self._matches("".join(f"{word}\0" for word in value))
        return self.kind == "text" and self._matches(value)

    def _matches(self, text: str) -> bool:
        return re.fullmatch(self.pattern, text, re.ASCII) is not None


def _one_of(*words: str) -> Form:
    return Form(f"one of: {', '.join(words)}", "|".join(words))


def _list(what: str, word: str) -> Form:
    """Return the form of words with a blank between each two, or none."""
    return Form(what, rf"(?:(?:{word})(?: (?:{word}))*)?")


_LABEL = r"[A-Za-z0-9._~]+"
_REGISTRY = r"(?:[A-Za-z0-9][A-Za-z0-9.-]*|\[[0-9A-Fa-f:]+\])(?::[0-9]+)?"
_COUNT = r"(?:0|[1-9][0-9]{0,8})"
_VARIABLE = r"[A-Za-z_][A-Za-z0-9_]*\*?"
_CHECK = r"hca:[A-Za-z0-9_.-]+(?::[0-9]+)?|net:[A-Za-z0-9_.@-]+|memlock:(?:[0-9]+|unlimited)"
_STEP = r"[0-9]+\.(?:prerequisite|plugin)\.[A-Za-z0-9_-]+\.(?:ignore|fail)"

NUMBER = Form("a number", kind="number")
FLAG = _one_of("1", "")
SECONDS = Form("a number of seconds", r"[0-9]{1,18}")
NAME = Form("a name", r"[A-Za-z0-9._~-]{1,255}")
FOLDER_NAME = Form("the name of a folder", r"[0-9]+-[A-Za-z0-9._-]+")
VARIABLE_PARTS = _list("parts of names of variables", r"[A-Za-z0-9_]+")
FILE_NAMES = _list("names of files", r"[A-Za-z0-9._@-]+")
NUMBERS = _list("numbers", r"[0-9]{1,9}")
HOST_SUFFIX = Form("an ending of host names", r"(?u:[\w.-])*")
GRES = Form("the name of a generic resource", r"[A-Za-z0-9_.-]*")
CLUSTER = Form("the name of a cluster", r"[A-Za-z0-9_-]*")
PLACEMENT = _list("nodes, each with a number of slots", rf"{_COUNT}(?:-{_COUNT})?:{_COUNT}")
PORTS = _list("labels, each with a number", rf"{_LABEL}:[0-9]{{1,9}}")
INFINIBAND_CHECKS = _list("checks of InfiniBand", _CHECK)
STEPS_BEFORE = _list("steps before the commands", rf"start\.{_STEP}")
STEPS_AFTER = _list("steps after the commands", rf"(?:success|failure|exit)\.{_STEP}")
SHELL_OPTIONS = _list("options of bash", "-e|-u|-o pipefail")
EXPORTS = Form("names of variables", rf"(?:{_VARIABLE}(?:\|{_VARIABLE})*)?")
LAYOUT = _one_of("plain", "het", "shared")
ADDRESS_METHOD = _one_of("getent", "suffix", "node-address")
CONTAINER_RUNTIME = _one_of("none", "charliecloud", "podman", "apptainer", "singularity", "pyxis", "enroot")
MONITOR_AFTER = _one_of("failure", "end")
GPU_VENDOR = _one_of("nvidia", "amd")
PATH = Form("an absolute path", r"/[^\x00-\x1f\x7f]*", to_read=True)
CACHE = replace(PATH, pattern=r"~?/[^\x00-\x1f\x7f]+")
WORKDIR = replace(PATH, pattern=rf"task|submit|\.?{PATH.pattern}")
MOUNTS = Form("mounts", r"(?:(?:all|own)\0/[^\0]*\0/[^\0]*\0)*", kind="array", to_read=True)
PATH_IN_PARTS = Form("a path in parts", r"(?:[^\0]*\0)*", kind="array", to_read=True)
IMAGE = Form(
    "registry, repository, and tag or digest",
    rf"{_REGISTRY} [a-z0-9][a-z0-9._/-]* (?:[A-Za-z0-9_][A-Za-z0-9_.-]*|sha256:[0-9a-f]{{64}})",
    to_read=True,
)
