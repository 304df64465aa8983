"""What the shell that submits has in its environment: commands see it as it was, and to the script it means nothing."""

from __future__ import annotations

import os
import re
import shutil
import stat
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import yaml

from ..protocol.jobs import JOB, changed
from .ran import script
from .running import job_file

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

PROGRAM = (sys.executable, "-m", "paislurm.translator.cli.main")
VALUE = "s3cr3t-77e2"


class Shell:
    """A user's shell, and the folder it is in."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.home = Path(os.environ["PAISLURM_HOME"])

    def submit(self, command: str, environment: Mapping[str, str], *, umask: int = 0o022, **values: object) -> str:
        """Run a job of one task on this machine, and return what its command printed."""
        job = changed(changed(JOB, "taskRoles/worker/commands", [command]), "taskRoles/worker/instances", 1)
        for path, value in values.items():
            job = changed(job, path.replace("__", "/"), value)
        done = subprocess.run(
            [*PROGRAM, "submit", job_file(self.folder, yaml.safe_dump(job)), "--backend", "local", "--wait"],
            env={**os.environ, **environment},
            umask=umask,
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        self.home = Path(environment.get("PAISLURM_HOME", self.home))
        assert done.returncode == 0, (done.stderr, [path.read_text() for path in self.home.rglob("*.log")])
        return self.log("stdout.log")

    def log(self, name: str) -> str:
        (path,) = self.home.glob(f"jobs/*~demo/attempts/0/**/{name}")
        return path.read_text()


@pytest.fixture
def shell(tmp_path: Path) -> Iterator[Shell]:
    return Shell(tmp_path)


@pytest.mark.slow("a whole job for each set of options")
@pytest.mark.parametrize("options", ["xtrace:verbose", "noexec", "errexit:noglob:posix:noclobber", "nounset:onecmd"])
def test_its_options_reach_no_bash_of_ours(shell: Shell, options: str) -> None:
    """Nor does what bash starts with. A job with a secret, a script before the commands, and a call."""
    start = shell.folder / "start"
    start.write_text("echo started >&2")
    environment = {
        "SHELLOPTS": options,
        "BASHOPTS": "nullglob:failglob:nocasematch",
        "BASH_ENV": str(start),
        "ENV": str(start),
        "POSIXLY_CORRECT": "1",
        "PS4": "$(echo traced >&2)",
        "TMOUT": "1",
    }
    inner = "echo \"${SHELLOPTS//:/ }\" [x] $(env | grep -c -e ^SHELLOPTS -e ^BASHOPTS -e '^BASH_ENV')"
    printed = shell.submit(
        f"set +eu; echo '<% $secrets.token %>'; ssh -n worker-0 'shopt -q nullglob || echo off'; bash -c '{inner}'",
        environment,
        secrets={"token": VALUE},
        prerequisites=[*JOB["prerequisites"], script("a", ("taskStarts", "export A=1"))],
        taskRoles__worker__prerequisites=["a"],
    )
    assert printed == f"{VALUE}\noff\nbraceexpand hashall interactive-comments [x] 0\n"
    assert shell.log("stderr.log") == ""
    assert VALUE not in "".join(path.read_text() for path in shell.home.rglob("*.log") if path.name != "stdout.log")


def test_its_functions_are_the_commands_alone(shell: Shell) -> None:
    names = ("cd", "local", "rm", "read", "printf", "mkdir", "unset", "export", "set", "exec", "source", "quote", "say")
    functions = {f"BASH_FUNC_{name}%%": f"() {{  echo my {name}\n}}" for name in names}
    assert shell.submit("cd; rm -rf /nowhere; say; type -t emit || echo none", functions) == (
        "my cd\nmy rm\nmy say\nnone\n"
    )


def test_its_idea_of_who_the_user_is(shell: Shell) -> None:
    """Bash takes UID and EUID from its environment; what a script before the commands exports comes back by name."""
    printed = shell.submit(
        "echo '<% $secrets.token %>' $UID $EUID $A",
        {"UID": "5", "EUID": "5", "PPID": "5"},
        secrets={"token": "t"},
        prerequisites=[*JOB["prerequisites"], script("a", ("taskStarts", "export A=1"))],
        taskRoles__worker__prerequisites=["a"],
    )
    assert printed == f"t {os.getuid()} {os.geteuid()} 1\n"


def test_its_values_stand_on_no_command_line(shell: Shell) -> None:
    """The program that would be given them writes down how it is called."""
    programs = shell.folder / "bin"
    programs.mkdir()
    (programs / "env").write_text(f'#!/bin/sh\necho "$*" >>{programs}/called\nexec {shutil.which("env")} "$@"\n')
    (programs / "env").chmod(0o755)
    environment = {"PATH": f"{programs}:{os.environ['PATH']}", "LOGIN_PASSWORD": VALUE, "OUT": "it's\n$(x)"}
    command = 'echo "$LOGIN_PASSWORD $OUT"; ssh -n worker-0 \'echo "$LOGIN_PASSWORD"\'; env true'
    assert shell.submit(command, environment) == f"{VALUE} it's\n$(x)\n{VALUE}\n"
    called = (programs / "called").read_text().splitlines()
    assert "true" in called
    assert [line for line in called if VALUE in line] == []


def test_an_environment_of_a_megabyte(shell: Shell) -> None:
    """Under names of the script's own, and others; a single value has at most 128 KiB."""
    big = "x" * 120_000
    names = ("OUT", "NODES", "TEXT", *(f"BIG_{number}" for number in range(6)))
    assert shell.submit("echo ${#OUT} ${#TEXT} ${#BIG_5}", dict.fromkeys(names, big)) == "120000 120000 120000\n"


def test_whatever_its_umask_nothing_is_for_others_to_write(shell: Shell) -> None:
    site = shell.folder / "site.yaml"
    site.write_text("{}")
    shell.submit("umask; touch made", {}, umask=0)
    below = [shell.home, *shell.home.rglob("*")]
    assert len(below) > 30
    assert [path for path in below if path.lstat().st_mode & 0o022 and not path.is_symlink()] == []
    target = shell.folder / "job.sbatch"
    words = [*PROGRAM, "script", job_file(shell.folder), "-o", str(target)]
    subprocess.run(words, umask=0, check=True, capture_output=True)
    assert stat.S_IMODE(target.stat().st_mode) == 0o644


def test_a_colon_in_the_home(shell: Shell) -> None:
    """In PATH it stands between folders, and the task's ssh is found all the same."""
    home = shell.folder / "a:b"
    job = yaml.safe_dump(JOB)
    done = subprocess.run(
        [*PROGRAM, "submit", job_file(shell.folder, job), "--backend", "local"],
        env={**os.environ, "PAISLURM_HOME": str(home)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 4
    assert re.search(r"error E504: .*a:b.* has a colon", done.stderr)
