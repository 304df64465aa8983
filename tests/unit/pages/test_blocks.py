"""Every command that a page shows is run from top to bottom, in a fresh home and checkout with the backend `local`."""

from __future__ import annotations

import itertools
import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from paislurm.translator.app.session import user_name
from paislurm.translator.cli.command_group import COMMANDS
from tests.standins import with_standins

from .blocks import PROGRAMS, Block, blocks, prints, texts

ROOT = Path(__file__).parents[3]
PAGES = {
    str(path.relative_to(ROOT)): path.read_text(encoding="utf-8")
    for path in [*(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md")), *ROOT.glob("docs/**/*.md")]
}
BLOCKS = {name: found for name, page in sorted(PAGES.items()) if (found := blocks(page))}
NOT_RUN = {
    "CONTRIBUTING.md": 1,
    "README.md": 1,
    "docs/how-to/cluster/install.md": 3,
    "docs/how-to/cluster/operations.md": 3,
    "docs/how-to/cluster/site-profile.md": 1,
    "docs/how-to/jobs/deepspeed.md": 1,
    "docs/how-to/jobs/failures.md": 1,
    "docs/how-to/jobs/preflight.md": 1,
    "docs/how-to/jobs/ray.md": 2,
    "docs/how-to/jobs/rehearse.md": 1,
    "docs/how-to/jobs/tensorboard.md": 2,
    "docs/how-to/run/login-node.md": 3,
    "docs/how-to/run/start-time.md": 1,
    "docs/how-to/run/update.md": 1,
    "docs/how-to/run/watch.md": 2,
    "docs/tutorial/first-job.md": 2,
    "docs/tutorial/openpai-job.md": 2,
}
"""How many blocks of a page cannot be run here."""
LONGEST = 120
"""Seconds for a command."""
PROGRAM = f"""\
#!/bin/bash
# Submits to this machine, where no other backend is named.
if [[ $1 == submit && " $* " != *" --backend "* && " $* " != *" --again "* ]]; then
  set -- "$@" --backend local
fi
exec {shlex.quote(str(ROOT / ".venv/bin/paislurm"))} "$@"
"""


@pytest.fixture
def here(tmp_path: Path) -> Path:
    """A folder with the examples, as in a checkout, and nothing else."""
    home = tmp_path / "home"
    (home / ".config/paislurm").mkdir(parents=True)
    profile = (ROOT / "examples/site.yaml").read_text() + "monitor: {background: false}\n"
    (home / ".config/paislurm/site.yaml").write_text(profile)
    (home / "bin").mkdir()
    (home / "bin/paislurm").write_text(PROGRAM)
    (home / "bin/paislurm").chmod(0o755)
    folder = tmp_path / "here"
    shutil.copytree(ROOT / "examples", folder / "examples")
    return folder


def environment(home: Path) -> dict[str, str]:
    kept = {name: os.environ[name] for name in ("PATH", "LANG", "PYTHONPATH") if name in os.environ}
    found = with_standins(kept)
    return {**kept, **found, "PATH": f"{home}/bin:{found['PATH']}", "HOME": str(home), "COLUMNS": "120"}


@pytest.mark.slow("real jobs on this machine")
@pytest.mark.parametrize("page", BLOCKS)
def test_commands_of_a_page_print_the_documented_output(page: str, here: Path) -> None:
    for block in BLOCKS[page]:
        if not block.not_run:
            run(block, here, page)


def run(block: Block, here: Path, page: str) -> None:
    for command in block.commands:
        where = f"{page}:{block.line}: {command.text}"
        status, said = call(command.text, here)
        assert status in {0, block.status}, f"{where}\n{said}"
        missing = [line for line in command.printed if line.strip() and not prints(said, line, user_name())]
        assert missing == [], f"{where}\n{said}"


def call(text: str, here: Path) -> tuple[int, str]:
    done = subprocess.run(
        ["bash", "-c", text], cwd=here, env=environment(here.parent / "home"),
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True, timeout=LONGEST, check=False,
    )  # fmt: skip
    return done.returncode, done.stdout


def test_every_skipped_block_is_listed() -> None:
    found = {page: sum(bool(block.not_run) for block in each) for page, each in BLOCKS.items()}
    assert {page: number for page, number in found.items() if number} == NOT_RUN


@pytest.mark.parametrize("page", PAGES)
def test_commands_start_with_a_dollar_sign(page: str) -> None:
    """A block of commands without `$ ` would not be run."""
    shown = [line for text in texts(PAGES[page]) if not text.is_of_commands for line in text.lines]
    assert [line for line in shown if PROGRAMS.match(line)] == []


@pytest.mark.parametrize("page", [page for page in BLOCKS if page in NOT_RUN])
def test_commands_that_are_not_run_exist(page: str) -> None:
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    for block in BLOCKS[page]:
        for command in block.commands if block.not_run else ():
            for words in calls(command.text):
                if words[0] == "make":
                    assert {word for word in words[1:] if "=" not in word} <= targets, command.text
                elif words[0] == "paislurm":
                    assert words[1] in COMMANDS, command.text
                    assert unknown_options(words[1:]) == [], command.text


def calls(text: str) -> list[list[str]]:
    """Return the words of each command of a line, without its comment."""
    words = shlex.split(text, comments=True)
    ends = [-1, *(index for index, word in enumerate(words) if word in ("&&", "||", "|", ";")), len(words)]
    return [words[one + 1 : two] for one, two in itertools.pairwise(ends)]


def unknown_options(words: list[str]) -> list[str]:
    """Return the options of a call of paislurm that its command does not have."""
    done = subprocess.run(
        [str(ROOT / ".venv/bin/paislurm"), *words[: 2 if words[0] == "site" else 1], "--help"],
        capture_output=True, text=True, timeout=LONGEST, check=True,
    )  # fmt: skip
    named = [word.partition("=")[0] for word in words if word.startswith("-")]
    return [word for word in named if not re.search(rf"(?<![\w-]){re.escape(word)}(?![\w-])", done.stdout)]
