"""Manual pages: one for each command, which groff reads without a warning and which say what `--help` says."""

from __future__ import annotations

import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

from paislurm.translator.cli.command_group import COMMANDS
from paislurm.translator.cli.main import cli
from paislurm.translator.cli.shell.manual import page, pages

if TYPE_CHECKING:
    from pathlib import Path

    from ..running import Runner


def test_every_command_has_a_page() -> None:
    files = {file for file, _ in pages(cli)}
    assert {f"paislurm-{name}.1" for name in COMMANDS} | {"paislurm.1", "paislurm-site-detect.1"} <= files


@pytest.mark.parametrize("name", ["", "submit", "explain-exit", "site detect", "completion"])
def test_groff_reads_a_page(name: str) -> None:
    groff = shutil.which("groff")
    if groff is None:
        pytest.skip("groff is not installed")
    done = subprocess.run(
        [groff, "-ww", "-man", "-Tutf8", "-P-cbou"], input=page(cli, name), capture_output=True, text=True, check=True
    )
    assert done.stderr == ""
    assert "NAME\n" in done.stdout
    assert "SEE ALSO\n" in done.stdout


def test_a_page_says_what_help_says(run: Runner) -> None:
    helped = run("submit", "--help").out
    text = page(cli, "submit").replace("\\-", "-").replace("\\e", "\\")
    options = {word for word in helped.split() if word.startswith("--") and word[2:].isalpha()}
    assert len(options) > 5
    assert [option for option in options if option not in text] == []
    assert ".SH EXAMPLES\n.PP\n.nf\n  paislurm submit job.yaml\n" in text


def test_pages_are_written_into_a_folder(run: Runner, tmp_path: Path) -> None:
    said = run("man", "--into", str(tmp_path / "man1"))
    assert said.code == 0
    assert {path.name for path in (tmp_path / "man1").iterdir()} == {file for file, _ in pages(cli)}


def test_a_page_of_no_command_is_an_error(run: Runner) -> None:
    said = run("man", "sumbit")
    assert (said.code, said.err.splitlines()[0]) == (5, "error E520: there is no command `sumbit`")
