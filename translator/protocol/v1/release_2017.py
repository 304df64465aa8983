"""What the commands of OpenPAI's release of November 2017 relied on, for jobs that use its variables.

Its variables began with `AII_`, its commands in the copy of `codeDir`, and roles had numbers in the names of variables.
The numbers stayed until 2018. Source: PAI rest-server, dockerContainerScript, before and after the rename to PAI.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ..v2.semantic_checks import controller_name

if TYPE_CHECKING:
    from collections.abc import Sequence

_RENAMED = (
    *("JOB_NAME", "DATA_DIR", "OUTPUT_DIR", "CODE_DIR", "TASK_ROLE_NAME", "TASK_ROLE_NUM", "TASK_CPU_NUM"),
    *("TASK_MEM_MB", "TASK_GPU_NUM", "TASK_ROLE_INDEX", "TASK_INDEX", "TASKS_NUM", "TASK_ROLES_NUM"),
    *("KILL_ALL_ON_COMPLETED_TASK_NUM", "CURRENT_CONTAINER_IP", "CURRENT_CONTAINER_PORT"),
)
"""The variables that only changed their prefix."""
_BY_NUMBER = r"TASK_ROLE_(?:NO|[0-9]+_HOST_LIST)"
_USED = re.compile(rf"\b(?:(AII)_(?:{'|'.join(_RENAMED)}|{_BY_NUMBER})|(PAI)_{_BY_NUMBER})\b", re.ASCII)


def prelude(names: Sequence[str], commands: Sequence[str], position: int, *, has_code: bool) -> str:
    """Return lines of bash to run before the command of a role, "" if no command of the job uses these variables.

    `names` and `commands` are those of all roles.
    """
    lines = []
    for prefix in sorted({found[1] or found[2] for text in commands for found in _USED.finditer(text)}):
        words = [f"{prefix}_TASK_ROLE_NO={position}"]
        for number, name in enumerate(names):
            if str(number) not in names:
                part = name if re.fullmatch(r"\w+", name, re.ASCII) else controller_name(name)
                words.append(f'{prefix}_TASK_ROLE_{number}_HOST_LIST="${{PAI_TASK_ROLE_{part}_HOST_LIST-}}"')
        if prefix == "AII":
            words += [f'AII_{name}="${{PAI_{name}-}}"' for name in _RENAMED]
        lines.append(f"export {' '.join(words)}\n")
        if prefix == "AII" and has_code:
            lines.append('cd -- "$(basename -- "$PAI_CODE_DIR")" || exit\n')
    return "".join(lines)
