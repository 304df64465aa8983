"""Run functions of the runtime by themselves."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

from paislurm.translator.rendering.bash import runtime

if TYPE_CHECKING:
    from collections.abc import Mapping


def run(code: str, *argv: str, env: Mapping[str, str] | None = None) -> str:
    """Run bash after the runtime, and return what it prints."""
    done = subprocess.run(
        ["bash", "-c", f"set -u\n{runtime()}\n{code}", "bash", *argv],
        env={"PATH": "/usr/bin:/bin", **(env or {})},
        capture_output=True,
        check=True,
        timeout=120,
    )
    assert done.stderr == b""
    return done.stdout.decode(errors="surrogateescape")
