"""The command line as a whole: help, exit codes, streams, and what must never happen."""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
from pathlib import Path
from unittest.mock import Mock

import click
import pytest

import paislurm
from paislurm.translator.app.session import Session, own_call
from paislurm.translator.cli import main as main_module
from paislurm.translator.cli.command_group import COMMANDS, HINTS
from paislurm.translator.cli.main import cli

from .running import PROGRAM, Runner, job_file

ROOT = Path(__file__).parents[3]


def test_the_version_is_that_of_the_package(run: Runner) -> None:
    assert f'version = "{paislurm.__version__}"' in (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert run("--version").out == f"paislurm {paislurm.__version__}\n"


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help_with_examples_and_json(run: Runner, name: str) -> None:
    said = run(name, "--help")
    words = (f"  paislurm {name} ", "--json", "Examples:")
    assert (said.code, [word for word in words if word not in said.out]) == (0, [])
    command = cli.get_command(click.Context(cli), name)
    assert command is not None
    assert command.get_short_help_str(200) == COMMANDS[name].removesuffix(".") or COMMANDS[name]


@pytest.mark.parametrize(
    ("argv", "says"),
    [
        (["chekc"], "unknown command 'chekc'; did you mean 'check'?"),
        (["lsit"], "did you mean 'list'?"),
        (["frobnicate"], "unknown command 'frobnicate'; commands are: check, plan"),
        (["check"], "Missing argument 'FILE...'"),
        (["check", "job.yaml", "--set", "lr"], "expected NAME=VALUE, found 'lr'"),
        (["check", "job.yaml", "--set", "=1"], "expected NAME=VALUE, found '=1'"),
        (["submit", "job.yaml", "--follow", "--json"], "use --wait --json"),
        (["logs", "x", "--tail", "-1"], "expected a whole number from 0 on, found '-1'"),
        (["logs", "x", "-f", "--batch"], "cannot be used with"),
        (["list", "--state", "asleep"], "'asleep' is not one of"),
    ],
)
def test_wrong_usage_exits_with_2(run: Runner, argv: list[str], says: str) -> None:
    run(*argv).ends(2, says)


def test_without_a_command_help_is_shown(run: Runner) -> None:
    assert "Run jobs:" in (said := run()).out + said.err


@pytest.mark.parametrize(
    "line", ["check", "list --frobnicate", "exec x -- --json", "exec nothing worker-0 program --json"]
)
def test_without_json_wrong_usage_prints_no_document(run: Runner, line: str) -> None:
    """The option of a command for a task is none of ours."""
    assert run(*line.split()).out == ""


def test_an_unreadable_job_file_exits_with_3(run: Runner, tmp_path: Path) -> None:
    run("check", str(tmp_path / "none.yaml")).ends(
        3, "none.yaml\nerror E100: cannot read the job file: No such file or directory"
    )
    assert run("check", str(tmp_path)).code == 3


def test_an_internal_error_prints_no_traceback(run: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(main_module.cli, "invoke", Mock(side_effect=KeyError("x")))
    run("list").ends(70, "internal error: KeyError: 'x'")
    monkeypatch.setenv("PAISLURM_DEBUG", "1")
    assert "Traceback" in run("list").err


@pytest.mark.parametrize("argv", [["--help"], ["script", "job.yaml"], ["script", "job.yaml", "--json"]])
@pytest.mark.usefixtures("job")
def test_a_broken_pipe_is_silent(tmp_path: Path, argv: list[str]) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [*PROGRAM, *argv], stdout=writing, stderr=subprocess.PIPE, text=True, cwd=tmp_path, check=False
    )
    os.close(writing)
    assert (done.returncode, [word for word in ("roken", "Traceback") if word in done.stderr]) == (141, [])


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full here")  # noqa: PTH110
def test_a_full_disk_at_standard_output_is_reported(tmp_path: Path) -> None:
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [*PROGRAM, "--help"], stdout=full, stderr=subprocess.PIPE, text=True, cwd=tmp_path, check=False
        )
    assert (done.returncode, done.stderr) == (4, "error: cannot write the output: No space left on device\n")


def test_a_closed_standard_output_is_not_an_error(tmp_path: Path) -> None:
    done = subprocess.run(
        ["bash", "-c", 'exec "$@" >&-', "bash", *PROGRAM, "--version"],
        stderr=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("language", ["C", "POSIX", "C.UTF-8"])
def test_any_characters_can_be_printed_in_any_locale(tmp_path: Path, language: str) -> None:
    environment = {"PATH": os.environ["PATH"], "LC_ALL": language, "PYTHONIOENCODING": "ascii"}
    done = subprocess.run(
        [*PROGRAM, "status", "jöb\x1b[2J"], capture_output=True, env=environment, cwd=tmp_path, check=False
    )
    assert done.returncode == 5
    assert b"\x1b" not in done.stdout + done.stderr


def test_colours_are_used_only_on_a_terminal_without_no_color(tmp_path: Path) -> None:
    told = [on_a_terminal(tmp_path, changes) for changes in ({}, {"NO_COLOR": "1"}, {"TERM": "dumb"})]
    assert [b"\x1b[" in each for each in told] == [True, False, False]


def on_a_terminal(folder: Path, changes: dict[str, str]) -> bytes:
    """Return what a command that fails prints on a terminal."""
    master, slave = os.openpty()
    environment = {"PATH": os.environ["PATH"], "TERM": "xterm", "HOME": str(folder)} | changes
    subprocess.run(
        [*PROGRAM, "status", "nothing"], stdin=slave, stdout=slave, stderr=slave, env=environment, check=False
    )
    os.close(slave)
    said = os.read(master, 1 << 16)
    os.close(master)
    return said


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full here")  # noqa: PTH110
@pytest.mark.parametrize("what", ["site", "job", "stdin", "secrets"])
def test_endless_input_is_not_read_completely(tmp_path: Path, profile: Path, what: str) -> None:
    """With 2 GiB of memory, of which it needs a part."""
    job = job_file(tmp_path)
    huge = tmp_path / "huge"
    huge.touch(mode=0o600)
    os.truncate(huge, 1 << 40)
    own = tmp_path / "own"
    own.touch(mode=0o600)
    own.write_text("a: b\n")
    endless = {"site": "/dev/full", "job": "/dev/zero", "stdin": "-", "secrets": str(huge)}[what]
    files = {"site": str(profile), "job": job, "secrets": str(own)} | {what.replace("stdin", "job"): endless}
    with Path("/dev/zero").open("rb") as zero:
        done = subprocess.run(
            [*PROGRAM, "check", files["job"], "--site", files["site"], "--secrets", files["secrets"]],
            stdin=zero, capture_output=True, text=True, check=False, timeout=60,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30)),
        )  # fmt: skip
    assert done.returncode in (3, 4)
    assert "E103: the file is " in done.stderr


@pytest.mark.parametrize("paths", ["", ":", ":/nowhere", "/nowhere::/nowhere"])
@pytest.mark.parametrize("name", ["paislurm", "json", "sitecustomize"])
def test_code_in_the_current_folder_is_not_run(tmp_path: Path, name: str, paths: str) -> None:
    (tmp_path / name).mkdir()
    (tmp_path / name / "__init__.py").write_text("raise SystemExit('this is code of another')\n", encoding="utf-8")
    env = Session(environment={**os.environ, "PYTHONPATH": paths}).environment
    done = subprocess.run(
        [*own_call(), "--version"], cwd=tmp_path, env=env, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout[:9]) == (0, "paislurm "), done.stderr


def test_the_program_calls_itself_with_pythonsafepath(tmp_path: Path) -> None:
    environment = os.environ | {"PYTHONSAFEPATH": "1"}
    done = subprocess.run(
        [*own_call(), "--version"], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("mask", [0o022, 0o002, 0])
def test_no_bytecode_is_written_to_folders_writable_by_others(tmp_path: Path, mask: int) -> None:
    package = tmp_path / "paislurm"
    shutil.copytree(ROOT / "src" / "paislurm", package, ignore=shutil.ignore_patterns("__pycache__"))
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), *filter(None, sys.path)])}
    env.pop("PYTHONDONTWRITEBYTECODE", None)
    start = "from paislurm.translator.cli.start import run; run()"
    argv = [sys.executable, "-S", "-c", start, "script", job_file(tmp_path)]
    subprocess.run(argv, env=env, check=True, umask=mask, capture_output=True)
    compiled = list(package.glob("**/*.pyc"))
    templates = list(tmp_path.glob("cache/paislurm/*.jinja2"))
    assert not [path for file in compiled + templates for path in (file, file.parent) if path.stat().st_mode & 0o022]
    assert any(file.name.startswith("command_group.") for file in compiled) is (mask == 0o022)
    assert templates


def test_the_entry_point_is_the_safe_start_module() -> None:
    assert 'paislurm = "paislurm.translator.cli.start:run"\n' in (ROOT / "pyproject.toml").read_text(encoding="utf-8")


@pytest.mark.parametrize("argv", ["check {}", "{}", "list --{}", "list --state {}", "status {}", "logs x {} {}"])
def test_control_characters_in_arguments_are_escaped(run: Runner, argv: str) -> None:
    """A name can have been completed by the shell, or copied from somewhere."""
    done = run(*(word.format("\x1b]0;gone\x07\x9b2J") for word in argv.split()))
    assert done.code != 0
    assert not {"\x1b", "\x07", "\x9b"} & set(done.out + done.err)


@pytest.mark.parametrize(("typed", "meant"), [("ls", "list"), ("ps", "list"), ("describe", "status")])
def test_command_names_of_other_programs_get_a_hint(run: Runner, typed: str, meant: str) -> None:
    assert run(typed, "--help").out.partition("\n")[2] == run(meant, "--help").out.partition("\n")[2]


@pytest.mark.parametrize("typed", HINTS)
def test_incomplete_command_names_get_a_hint(run: Runner, typed: str) -> None:
    run(typed, "my-job").ends(2, f"unknown command '{typed}'; use {HINTS[typed]}")
    assert {word.split()[0] for word in HINTS[typed].split("paislurm ")[1:]} <= {*COMMANDS, "--help;", "--version"}
