"""The programs that are run on login nodes, where nothing of ours is installed: bash, sent with each call."""

from __future__ import annotations

from functools import cache

from paislurm.translator.shipped import shipped_text


def remote_script(name: str, *words: str) -> list[str]:
    """Return the command that runs a script of the folder `remote`, without the comments in it."""
    return ["bash", "-c", _text(name), name, *words]


@cache
def _text(name: str) -> str:
    lines = shipped_text(f"backends/ssh/remote/{name}.sh").splitlines()
    return "\n".join(line for line in lines if line.strip() and not line.lstrip().startswith("#"))
