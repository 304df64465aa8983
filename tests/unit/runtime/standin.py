"""Stand-ins for container tools: they take what the manuals have, write down how they were called, and nothing else."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Sequence
from pathlib import Path

import yaml

from ..written_files import write_programs

MANUALS = yaml.safe_load(Path(__file__).with_name("container_options.yaml").read_text(encoding="utf-8"))
GLOBAL = ("--silent",)
"""Options before the tool's command. Source: apptainer(1), OPTIONS."""

SCRIPT = r"""#!/usr/bin/bash
{ printf '%s\0' "${0##*/}" "$@"; printf '\0\n'; } >>FOLDER/calls
env -0 >FOLDER/environment
[[ $1 != image ]] || exit 1
for word; do
  case $word in
    --authfile=*) cat "${word#*=}" >FOLDER/login ;;
  esac
done
[[ ! ${ENROOT_CONFIG_PATH-} ]] || cat "$ENROOT_CONFIG_PATH/.credentials" >FOLDER/login 2>/dev/null
if [[ -e FOLDER/says ]]; then cat FOLDER/says >&2; exit 1; fi
case ${0##*/}:$1 in
  apptainer:pull) : >"$3" ;;
  enroot:import) : >"$3" ;;
esac
"""


def install(folder: Path, names: Sequence[str]) -> Path:
    """Put stand-ins into a folder for PATH, and return it."""
    programs = folder / "bin"
    write_programs(programs, dict.fromkeys(names, SCRIPT.replace("FOLDER", shlex.quote(str(folder)))))
    return programs


def calls(folder: Path) -> list[list[str]]:
    """Return the command lines of all calls, checked against the manuals."""
    found = [call.split("\0") for call in (folder / "calls").read_text().split("\0\0\n") if call]
    for call in found:
        check(call)
    return found


def check(call: Sequence[str]) -> None:
    """Refuse a command line that the tool's manual does not have."""
    words = [call[0], *(word for position, word in enumerate(call[1:]) if position or word not in GLOBAL)]
    command = next((name for name in MANUALS if words[: len(name.split())] == name.split()), None)
    assert command, f"no such command: {json.dumps(words[:3])}"
    manual = MANUALS[command]
    rest = words[len(command.split()) :]
    while rest and rest[0].startswith("-"):
        name, equals, value = rest.pop(0).partition("=")
        assert name in manual["options"], f"{command} has no option {name}: {manual['manual']}"
        form = manual["options"][name]
        if form == "switch":
            assert not equals, f"{command} {name} takes no value"
            continue
        value = value if equals else rest.pop(0)
        assert re.fullmatch(form, value), f"{command} {name} takes {form}, and not {value}"
    assert len(rest) >= manual["image"], f"{command} without an image"


def environment(folder: Path) -> dict[str, str]:
    """Return the environment of the last call."""
    pairs = (line.partition("=") for line in (folder / "environment").read_text().split("\0") if line)
    return {name: value for name, _, value in pairs}
