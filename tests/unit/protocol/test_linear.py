"""Long job files take work in proportion: each is compiled by a process that may use so much of a processor, no more.

Linear work uses a few hundredths of the bound, quadratic work many times of it, and is then ended by the kernel.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from importlib.resources import files
from pathlib import Path

import pytest

from .jobs import HEAD
from .jobs_v1 import JOB, ROLE

CPU_SECONDS = 20
COMPILE = """
import pathlib, sys
from paislurm.translator.errors import ProtocolError
from paislurm.translator.pipeline import compile_job
try:
    compile_job(pathlib.Path(sys.argv[1]).read_bytes())
    print("compiled")
except ProtocolError as error:
    print(*sorted({fault.code for fault in error.diagnostics}), len(error.diagnostics))
"""
INSERT = """
set -u; source common/messages.sh; source task/secrets.sh
PSL_SECRETS_FOLDER=$1; insert_secrets "$2"; printf %s ${PSL_PIECES[@]+"${PSL_PIECES[@]}"} | wc -c
"""
V2 = HEAD + (
    "parameters: {" + ", ".join(f"name{number}: 1" for number in range(500)) + "}\n"
    "secrets: {a: secret}\n"
    "taskRoles:\n"
    "  worker:\n"
    "    dockerImage: image\n"
    "    resourcePerInstance: {cpu: 1, memoryMB: 1024, gpu: 0}\n"
    "    commands:\n"
)


def bounded(argv: list[str], cwd: str | None = None) -> str:
    """Return what a process prints that may use a processor for so long."""
    done = subprocess.run(
        argv,
        cwd=cwd,
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS)),
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.strip()


def v1(command: str) -> str:
    return json.dumps({**JOB, "taskRoles": [{**ROLE, "command": command}]})


def block(line: str, count: int) -> str:
    return V2 + "      - |\n" + f"        {line}\n" * count


@pytest.mark.slow("megabytes of text")
@pytest.mark.parametrize(
    ("text", "result"),
    [
        pytest.param(
            V2 + "".join(f"      - echo <% $parameters.nane{number} %>\n" for number in range(16_000)),
            "E313 200",
            id="undefined references",
        ),
        pytest.param(
            V2 + "      - " + "<% $parameters.nane %> " * 16_000 + "\n", "E313 200", id="undefined references in a line"
        ),
        pytest.param(
            V2 + "      - <% $parameters.nane %>\n" * 16_000 + "extras: {slurm: {compat: {unresolved: keep}}}\n",
            "compiled",
            id="references that are kept",
        ),
        pytest.param(block("echo <% $parameters.name1 %> xxxxx", 40_000), "compiled", id="references"),
        pytest.param(block("echo <% $secrets.a %> xxxxxxxxxxxx", 40_000), "compiled", id="secrets"),
        pytest.param(v1("bash" + " " * 200_000 + "x"), "compiled", id="blanks after a shell"),
        pytest.param(v1("bash -i" + " " * 200_000 + "; x"), "compiled", id="blanks after an option"),
        pytest.param(v1(" " * 200_000 + "x"), "compiled", id="blanks before a command"),
        pytest.param("// a comment\n" * 1_150_000 + v1("x"), "compiled", id="comments of JSON"),
        pytest.param("/**/ " * 1_000_000 + v1("x"), "compiled", id="short comments of JSON"),
        pytest.param('{"' + '\\"' * 1_000_000, "E104 1", id="a text of JSON without an end"),
        pytest.param("/*" * 7_500_000, "E112 1", id="a comment without an end"),
        pytest.param("# a comment\n" * 1_250_000 + V2 + "      - x\n", "compiled", id="comments of YAML"),
    ],
)
def test_compiling_takes_linear_time(text: str, result: str, tmp_path: Path) -> None:
    (tmp_path / "job").write_text(text, encoding="utf-8")
    assert bounded([sys.executable, "-c", COMPILE, str(tmp_path / "job")]) == result


@pytest.mark.parametrize(
    ("text", "count", "length"),
    [
        pytest.param("echo <% $secrets.a %> x\n", 20_000, 20_000 * 14, id="lines"),
        pytest.param("<% $secrets.a %>", 20_000, 20_000 * 6, id="a line"),
        pytest.param("x" * 400_000 + "<% $secrets.a %>", 1, 400_006, id="at the end"),
        pytest.param("echo a >b\n", 40_000, 400_000, id="without secrets"),
    ],
)
def test_inserting_secrets_takes_linear_time(text: str, count: int, length: int, tmp_path: Path) -> None:
    (tmp_path / "a").write_text("secret", encoding="utf-8")
    (tmp_path / "commands").write_text(text * count, encoding="utf-8")
    runtime = str(files("paislurm").joinpath("templates", "runtime"))
    assert bounded(["bash", "-c", INSERT, "bash", str(tmp_path), str(tmp_path / "commands")], runtime) == str(length)
