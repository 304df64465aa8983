"""What the shell that submits has in its environment: commands see it as it was, and to the script it means nothing."""

from __future__ import annotations

import os
import re
import shutil
import stat
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.needs import starts_in_c

from ...app.ran import script
from ...protocol.jobs import JOB, changed
from ..running import PROGRAM, job_file

VALUE = "s3cr3t-77e2"


class Shell:
    """A user's shell, and the folder it is in."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.home = Path(os.environ["PAISLURM_HOME"])

    def submit(
        self,
        command: str,
        environment: Mapping[str, str],
        *,
        umask: int = 0o022,
        cwd: Path | None = None,
        code: int = 0,
        words: tuple[str, ...] = (),
        **values: object,
    ) -> str:
        """Run a job of one task on this machine, and return what its command printed."""
        job = changed(changed(JOB, "taskRoles/worker/commands", [command]), "taskRoles/worker/instances", 1)
        for path, value in values.items():
            job = changed(job, path.replace("__", "/"), value)
        done = subprocess.run(
            [*PROGRAM, "submit", job_file(self.folder, yaml.safe_dump(job)), "--backend", "local", "--wait", *words],
            env={**os.environ, **environment},
            umask=umask,
            cwd=cwd,
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        self.home = Path(environment.get("PAISLURM_HOME", self.home))
        assert done.returncode == code, (done.stderr, [path.read_text() for path in self.home.rglob("*.log")])
        return self.log("stdout.log")

    def log(self, name: str) -> str:
        found = self.home.glob(f"jobs/*/attempts/0/**/*{name}")
        newest = max(found, key=lambda path: path.stat().st_mtime_ns, default=None)
        return newest.read_text() if newest else ""


def starting_with(command: str) -> dict[str, Any]:
    """Return what of a job has a script run a command before the task's own."""
    prerequisites = [*JOB["prerequisites"], script("a", ("taskStarts", command))]
    return {"prerequisites": prerequisites, "taskRoles__worker__prerequisites": ["a"]}


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    return Shell(tmp_path)


@pytest.mark.slow("a whole job for each set of options")
@pytest.mark.parametrize("options", ["xtrace:verbose", "noexec", "errexit:noglob:posix:noclobber", "nounset:onecmd"])
def test_options_of_the_shell_do_not_reach_the_runtime(shell: Shell, options: str) -> None:
    """Nor does what bash starts with, which the commands have. A job with a secret, a script and a call."""
    start, started = shell.folder / "start", shell.folder / "started"
    start.write_text(f'echo "$0" >>{started}')
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
        **starting_with("export A=1"),
    )
    printed += shell.log("stderr.log")
    assert printed == f"{VALUE}\noff\nbraceexpand hashall interactive-comments [x] 1\n"
    # The script before the commands, the commands, the ssh that they call, what that runs, and a bash of their own.
    names = [Path(name).name for name in started.read_text().splitlines()]
    assert [name if not name.isdigit() else "a script with secrets" for name in names] == [
        *["a script with secrets"] * 2, "ssh", "bash", "bash",
    ]  # fmt: skip
    others = [path for path in shell.home.rglob("*.log") if not path.name.endswith(".stdout.log")]
    assert [path for path in others if VALUE in path.read_text()] == []


def test_functions_of_the_shell_reach_only_the_commands(shell: Shell) -> None:
    names = ("cd", "local", "rm", "read", "printf", "mkdir", "unset", "export", "set", "exec", "source", "quote", "say")
    functions = {f"BASH_FUNC_{name}%%": f"() {{  echo my {name}\n}}" for name in names}
    assert shell.submit("cd; rm -rf /nowhere; say; type -t emit || echo none", functions) == (
        "my cd\nmy rm\nmy say\nnone\n"
    )


@pytest.mark.slow("a whole job")
def test_uid_and_euid_in_the_environment_are_ignored(shell: Shell) -> None:
    """Bash takes UID and EUID from its environment; what a script before the commands exports comes back by name."""
    printed = shell.submit(
        "echo '<% $secrets.token %>' $UID $EUID $A",
        {"UID": "5", "EUID": "5", "PPID": "5"},
        secrets={"token": "t"},
        **starting_with("export A=1"),
    )
    assert printed == f"t {os.getuid()} {os.geteuid()} 1\n"


@pytest.mark.slow("a whole job")
def test_values_of_the_environment_appear_on_no_command_line(shell: Shell) -> None:
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


@pytest.mark.slow("a whole job")
def test_a_large_environment_reaches_the_commands(shell: Shell) -> None:
    """Under names of the script's own, and others; a single value has at most 128 KiB."""
    big = "x" * 120_000
    names = ("OUT", "NODES", "TEXT", *(f"BIG_{number}" for number in range(6)))
    assert shell.submit("echo ${#OUT} ${#TEXT} ${#BIG_5}", dict.fromkeys(names, big)) == "120000 120000 120000\n"


NAMES = "compgen -e | grep -v -e ^PAI -e ^FC_ -e ^SLURM -e MPI -e MCA_ -e FRAMEWORK_NAME | tr '\\n' ' '"
SHELL = {
    "name": VALUE,
    "LICENSE": VALUE,
    "MY_KEY": VALUE,
    "MY_OTHER": "two\nlines=2",
    "OUT": "mine",
    "NODES": "mine",
    "not-a-name": VALUE,
    "BASH_FUNC_module%%": "() {  echo my module\n}",
    "BASH_FUNC_other%%": "() {  echo my other\n}",
    "LC_ALL": "C",
    "TZ": "UTC",
}
LOOK = f"{NAMES}; echo; env | grep -c {VALUE[:-1]}.; type -t module other || echo none; echo ${{OUT-}} ${{NODES-}} $TZ"


@pytest.mark.skipif(not starts_in_c(), reason="Python does not start from this folder with LC_ALL=C")
@pytest.mark.parametrize(
    ("wish", "has", "lacks", "rest"),
    [
        ("all", {"name", "LICENSE", "MY_KEY", "OUT", "NODES"}, set(), ["4", "function", "function", "mine mine UTC"]),
        ("none", {"LC_ALL", "HOME"}, {"name", "LICENSE", "MY_KEY", "OUT", "NODES"}, ["0", "none", "UTC"]),
        (["LICENSE", "MY_*"], {"LICENSE", "MY_KEY", "MY_OTHER"}, {"name", "OUT"}, ["2", "none", "UTC"]),
        (["OUT", "name", "module"], {"OUT", "name"}, {"LICENSE", "NODES"}, ["1", "function", "none", "mine UTC"]),
    ],
)
def test_commands_get_the_variables_selected_by_export_env(
    shell: Shell, wish: object, has: set[str], lacks: set[str], rest: list[str]
) -> None:
    """Under names of the script's own, too."""
    names, *others = shell.submit(f"set +e\n{LOOK}", SHELL, extras__slurm={"exportEnv": wish}).splitlines()
    assert has | {"PATH", "HOME"} <= set(names.split())
    assert (lacks & set(names.split()), others) == (set(), rest)
    assert not [path for path in shell.home.rglob("job.sbatch") if VALUE in path.read_text()]


@pytest.mark.slow("a whole job")
def test_calls_and_scripts_get_no_other_variables(shell: Shell) -> None:
    printed = shell.submit(
        "echo ${A-no} ${B-no} $START; ssh -n worker-0 'echo ${A-no} ${B-no}'",
        {"A": "a", "B": "b"},
        extras__slurm={"exportEnv": ["B"]},
        **starting_with("export START=${A-no}${B-no}"),
    )
    assert printed == "no b nob\nno b\n"


@pytest.mark.parametrize(
    ("wish", "value", "printed"),
    [
        ("all", "{}/start file", "hello one {}/start file hello two ehuB"),
        ("all", '$HERE/start\\ file"', 'no one $HERE/start\\ file" no two ehuB'),
        ("all", "$HERE/start file", "hello one $HERE/start file hello two ehuB"),
        ("all", "{}/missing", "no one {}/missing no two ehuB"),
        (["HERE", "BASH_ENV"], "{}/start file", "hello one {}/start file hello two ehuB"),
        (["HERE"], "{}/start file", "no one - no two ehuB"),
    ],
)
def test_bash_env_is_sourced_for_the_commands(shell: Shell, wish: object, value: str, printed: str) -> None:
    """As `module` of Lmod comes to scripts: by BASH_ENV. What fails in it does not end the commands."""
    here = shell.folder
    (here / "start file").write_text('say() { echo "hello $1"; }\nfalse\n: $NOBODY_HAS_SET\n')
    say = "type -t say >/dev/null && say {0} || echo no {0}"
    command = f"{say.format('one')}; echo ${{BASH_ENV--}}; bash -c '{say.format('two')}'; echo $-"
    environment = {"BASH_ENV": value.format(here), "HERE": str(here), "lower": "a"}
    found = shell.submit(command, environment, extras__slurm={"exportEnv": wish})
    assert " ".join(found.splitlines()) == printed.format(here)
    assert "PAISLURM_BASH_ENV" not in shell.submit("env", environment, name="b", extras__slurm={"exportEnv": wish})


WHERE = 'pwd; echo "$PAISLURM_SUBMIT_DIR"; [ ! "$PWD" -ef "$PAI_WORK_DIR" ] || echo own'


@pytest.mark.slow("two whole jobs each")
@pytest.mark.parametrize("name", ["here", "it's $(a) folder\n"])
def test_commands_start_in_the_configured_folder(shell: Shell, name: str) -> None:
    """It is the submitting shell's, one that the job names, or the task's own; a role's word goes before the job's."""
    here, there = shell.folder / name, shell.folder / "there"
    here.mkdir()
    there.mkdir()
    own = "set +e\n" + WHERE
    assert shell.submit(own, {}, cwd=here).endswith(f"work/0-worker/0\n{here}\nown\n")
    (here / "b c").mkdir()
    for job, command, slurm, said in (
        ("b", f"{own}; ssh -n worker-0 pwd", {"workdir": "submit"}, f"{here}\n{here}\n{here}\n"),
        ("c", own, {"workdir": "submit", "taskRoles": {"worker": {"workdir": str(there)}}}, f"{there}\n{here}\n"),
        ("d", own, {"workdir": "./b c", "taskRoles": {"worker": {}}}, f"{here}/b c\n{here}\n"),
    ):
        assert shell.submit(command, {}, cwd=here, name=job, extras__slurm=slurm) == said
    assert [path.name for path in (*here.rglob("*"), *there.iterdir())] == ["b c"]
    site = shell.folder / "site.yaml"
    site.write_text("workdir: submit\nmonitor: {background: false}\n")
    words = ("--site", str(site))
    assert shell.submit(own, {}, cwd=here, words=words, name="e") == f"{here}\n{here}\n"
    assert shell.submit(own, {}, cwd=here, words=words, name="f", extras__slurm={"workdir": "task"}).endswith("own\n")


@pytest.mark.slow("a whole job")
def test_with_any_umask_no_file_is_writable_by_others(shell: Shell) -> None:
    assert shell.submit("umask; touch made; exit 3", {}, umask=0, code=1) == "0000\n"
    below = [path for path in (shell.home, *shell.home.rglob("*")) if path.name != "made"]
    assert len(below) > 30
    assert shell.home / "monitor" / "monitor.log" in below
    assert [path for path in below if path.lstat().st_mode & 0o022 and not path.is_symlink()] == []
    target = shell.folder / "job.sbatch"
    words = [*PROGRAM, "script", job_file(shell.folder), "-o", str(target)]
    subprocess.run(words, umask=0, check=True, capture_output=True)
    assert stat.S_IMODE(target.stat().st_mode) == 0o644


def test_a_home_with_a_colon_in_its_path_works(shell: Shell) -> None:
    """In PATH it stands between folders, and the task's ssh is found all the same."""
    words = [*PROGRAM, "submit", job_file(shell.folder, yaml.safe_dump(JOB)), "--backend", "local"]
    environment = {**os.environ, "PAISLURM_HOME": str(shell.folder / "a:b")}
    done = subprocess.run(words, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, re.findall("error E504: .*a:b.* contains (a colon)", done.stderr)) == (4, ["a colon"])
