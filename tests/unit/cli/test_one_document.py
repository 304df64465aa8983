"""With `--json` every command prints one document of its schema, whatever is wrong."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import click
import pytest

from paislurm.translator.cli.command_group import COMMANDS
from paislurm.translator.cli.main import cli
from tests.documents import faults

from .running import Runner, Said, job_file

NAMES = (*(name for name in COMMANDS if name != "site"), "site detect", "site show", "site check")
NEEDED = {
    "cancel": ["demo"],
    "check": ["FILE"],
    "completion": ["bash"],
    "convert": ["FILE"],
    "diff": ["demo", "FILE"],
    "exec": ["demo", "worker-0"],
    "explain": ["FILE"],
    "logs": ["demo"],
    "monitor": ["--once"],
    "plan": ["FILE"],
    "port-forward": ["demo", "worker-0", "http"],
    "rehearse": ["FILE"],
    "remove": ["demo"],
    "report": ["demo"],
    "script": ["FILE"],
    "status": ["demo"],
    "submit": ["FILE", "--dry-run"],
    "verify": ["FILE"],
    "wait": ["demo"],
    "watch": ["demo"],
}
"""What a command cannot do without."""
NO_OPTIONS_BEHIND = ("exec",)
"""What stands behind their arguments is a command's."""
MISSING = (
    "check", "plan", "script", "explain", "convert", "diff", "verify", "exec", "cancel", "remove", "completion",
    "port-forward", "rehearse",
)  # fmt: skip
"""Commands that do nothing without an argument."""


def words(name: str, folder: Path) -> list[str]:
    """Return a command line that would do something."""
    return [*name.split(), "--json", *(word.replace("FILE", job_file(folder)) for word in NEEDED.get(name, ()))]


def is_error(said: Said, name: str, code: int | None = None) -> dict[str, object]:
    """Return the one document of an error, which has the exit code."""
    document: dict[str, object] = json.loads(said.out)
    assert [faults(each, document) for each in ("error", name.partition(" ")[0])] == [[], []]
    assert document["exit_status"] == said.code != 0
    said.ends(said.code if code is None else code, str(document["error"]).splitlines()[0])
    return document


def is_one_document(said: Said, name: str) -> None:
    """Hold what was printed to be the result, or an error that has the exit code."""
    document = json.loads(said.out)
    assert (faults(name.partition(" ")[0], document), "Traceback" in said.err) == ([], False)
    if "error" in document:
        assert is_error(said, name)


def test_the_tested_commands_are_complete() -> None:
    site = cli.get_command(click.Context(cli), "site")
    assert isinstance(site, click.Group)
    assert {f"site {name}" for name in site.commands} == {name for name in NAMES if name.startswith("site ")}


@pytest.mark.parametrize("name", NAMES)
def test_an_unknown_option_prints_one_document(run: Runner, name: str, tmp_path: Path) -> None:
    if name not in NO_OPTIONS_BEHIND:
        found = is_error(run(*words(name, tmp_path), "--frobnicate"), name, 2)
        assert "--frobnicate" in str(found["error"])
    assert is_error(run(*name.split(), "--frobnicate", "--json"), name)


@pytest.mark.parametrize("name", MISSING)
def test_a_missing_argument_prints_one_document(run: Runner, name: str) -> None:
    assert is_error(run(name, "--json"), name, 2)


@pytest.mark.parametrize("words", [["site", "--json"], ["site", "x", "--json"], ["schema", "--json", "x"], ["--json"]])
def test_an_unknown_argument_prints_one_document(run: Runner, words: list[str]) -> None:
    assert is_error(run(*words), "error", 2)


@pytest.mark.parametrize("name", NAMES)
def test_any_exception_of_a_command_prints_one_document(
    run: Runner, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    command: Any = cli
    for word in name.split():
        command = command.get_command(click.Context(cli), word)
    raised: BaseException
    for raised, code in ((KeyboardInterrupt(), 130), (OSError(5, "no", "/file"), 4), (MemoryError(), 70)):
        monkeypatch.setattr(command, "callback", Mock(side_effect=raised))
        assert is_error(run(*words(name, tmp_path)), name, code)


@pytest.mark.parametrize("name", NAMES)
def test_a_broken_profile_prints_one_document(
    run: Runner, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PAISLURM_SITE", job_file(tmp_path, "partitions: [\n", "broken.yaml"))
    is_one_document(run(*words(name, tmp_path)), name)


@pytest.mark.parametrize("name", NAMES)
def test_a_home_that_is_not_a_folder_prints_one_document(
    run: Runner, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "loop").symlink_to("loop")
    for home in ("file", "loop", "/proc/none"):
        monkeypatch.setenv("PAISLURM_HOME", str(tmp_path / home))
        is_one_document(run(*words(name, tmp_path)), name)


@pytest.mark.parametrize("name", NAMES)
def test_a_missing_home_variable_prints_one_document(
    run: Runner, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable in ("HOME", "PAISLURM_HOME", "USER", "LOGNAME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setattr("os.path.expanduser", lambda path: path)
    monkeypatch.chdir(tmp_path)
    is_one_document(run(*words(name, tmp_path)), name)


@pytest.mark.parametrize("closed", [">&-", ">/dev/full", "2>&-"])
def test_an_unwritable_output_keeps_the_exit_code(closed: str, tmp_path: Path) -> None:
    """Of a document that cannot be printed nothing is left but the exit code; standard error does not matter to it."""
    program = f"{sys.executable} -m paislurm.translator.cli.main"
    environment = {"PAISLURM_HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}
    for line, expected in (("list --json", 0), ("status --json none", 5)):
        argv = ["bash", "-c", f"{program} {line} {closed}"]
        done = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=60, env=environment)
        assert "Traceback" not in done.stderr
        assert done.returncode == (4 if "full" in closed else expected), done.stderr
        if closed.startswith("2"):
            assert faults(line.split()[0], json.loads(done.stdout)) == []


@pytest.mark.parametrize("words", [["list", "-o", "json"], ["status", "-ojson", "x"], ["check", "--output=json", "x"]])
def test_an_option_of_other_programs_gets_a_hint(run: Runner, words: list[str]) -> None:
    said = run(*words)
    said.ends(2, "use --json for a JSON document")
    assert said.out == ""
    document = is_error(run(*words, "--json"), words[0], 2)
    assert "use --json for a JSON document" in str(document["error"])
