"""A small job file can stand for gigabytes: it is refused at the line that goes too far, before the memory is used."""

from __future__ import annotations

import resource
import subprocess
import sys
from pathlib import Path

import pytest

from paislurm.translator.errors import ProtocolError
from paislurm.translator.protocol.validate import validate
from paislurm.translator.reading.read import read

from .jobs import line_of

HEAD = "protocolVersion: 2\nname: big\ntype: job\n"
IMAGE = "prerequisites:\n  - {name: p, type: dockerimage, uri: debian%s}\n"
ROLE = "  w%d:\n    dockerImage: p\n    resourcePerInstance: {cpu: 1, memoryMB: 100, gpu: 0}\n"
BIG = "x" * 250_000
MEMORY = 600 << 20
"""Bytes of address space: a compile needs some 100 MB, and most of these files would make gigabytes of text."""
PARAMETER = f"parameters: {{x: '{BIG}'}}\n"
COMMANDS = "    commands:\n"
CALLBACKS = """  - name: s
    type: script
    plugin: com.microsoft.pai.runtimeplugin.cmd
    more: {more}
    callbacks: [{{event: taskStarts, commands: [{commands}]}}]
"""


def commands(each: str, count: int) -> str:
    return COMMANDS + f"      - echo {each}\n" * count


def shared(count: int) -> str:
    """Many roles of one prerequisite: each has its scripts."""
    roles = "".join(ROLE % number + f"    prerequisites: [s]\n{commands('a', 1)}" for number in range(count))
    return HEAD + IMAGE % "" + CALLBACKS.format(more="''", commands=f"'{BIG}'") + "taskRoles:\n" + roles


FILES = {
    "references": HEAD + IMAGE % "" + PARAMETER + "taskRoles:\n" + ROLE % 0 + commands("<% $parameters.x %>", 10_000),
    "one reference of a line": HEAD + IMAGE % "" + PARAMETER + "taskRoles:\n" + ROLE % 0
    + commands("<% $parameters.x %>" * 10_000, 1),
    "own parameters": HEAD + IMAGE % ""
    + CALLBACKS.format(more="<% $parameters.x %>", commands=", ".join(["'<% this.parameters.more %>'"] * 10_000))
    + PARAMETER + "taskRoles:\n" + ROLE % 0 + "    prerequisites: [s]\n" + commands("a", 1),
    "shared prerequisites": shared(400),
    "credentials": HEAD + IMAGE % f", auth: {{registryuri: r, username: u, password: '{'<% $secrets.x %>' * 10_000}'}}"
    + f"secrets: {{x: '{BIG}'}}\n" + "taskRoles:\n" + ROLE % 0 + commands("a", 1),
    "aliases": HEAD + IMAGE % "" + "taskRoles:\n" + ROLE % 0 + COMMANDS
    + f"      - &x '{BIG}'\n" + "      - *x\n" * 10_000,
}  # fmt: skip


@pytest.mark.parametrize("kind", FILES)
def test_a_small_file_that_expands_to_gigabytes_is_refused(tmp_path: Path, kind: str) -> None:
    (tmp_path / "job.yaml").write_text(FILES[kind], encoding="utf-8")
    assert (tmp_path / "job.yaml").stat().st_size < 3_000_000
    done = subprocess.run(
        [sys.executable, "-m", "paislurm.translator.cli.main", "check", "job.yaml"], cwd=tmp_path, text=True,
        capture_output=True, check=False, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY)),
    )  # fmt: skip
    code = "E109" if kind == "aliases" else "E321"
    assert (done.returncode, done.stderr.count("error E")) == (3, 1), done.stderr[-2000:]
    assert f"error {code}: " in done.stderr
    assert "16 MB" in done.stderr


def test_the_error_is_at_the_reference_that_exceeds_the_limit() -> None:
    with pytest.raises(ProtocolError) as error:
        validate(read(FILES["references"], file="job.yaml"))
    (fault,) = error.value.diagnostics
    first = FILES["references"].partition("      - ")[0].count("\n") + 1
    # Each takes itself and its value; the first 66 have room beside the text of all 10,000.
    assert line_of(fault) == first + ((16 << 20) - 10_000 * len("echo <% $parameters.x %>")) // len(BIG)


def test_text_within_the_limit_is_built() -> None:
    text = (
        FILES["references"].partition("taskRoles")[0] + "taskRoles:\n" + ROLE % 0 + commands("<% $parameters.x %>", 66)
    )
    assert len(validate(read(text, file="job.yaml")).job.roles[0].command.text) == 66 * (len(BIG) + len("echo ")) + 65
