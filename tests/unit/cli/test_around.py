"""Prerequisites, plugins and secrets, seen from the running task: real jobs on this machine."""

from __future__ import annotations

import getpass
import json
import os
import subprocess
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from paislurm.translator.cli.commands import submit
from paislurm.translator.cli.waiting import wait_for_end
from tests.cluster.processes import wait_until

from ..protocol.jobs import JOB, changed
from .running import job_file

if TYPE_CHECKING:
    from collections.abc import Callable

    from paislurm.translator.monitoring.look import View
    from paislurm.translator.monitoring.store import JobFolder

    from .running import Runner, Said

PREFIX = "com.microsoft.pai.runtimeplugin"


class Ran:
    """What a job left behind: the exit code of `submit --wait`, and the files of its task 0."""

    def __init__(self, said: Said, folder: Path) -> None:
        self.said = said
        self.code = said.code
        self.folder = folder
        self.attempt = folder / "attempts" / "0"
        self.result: dict[str, Any] = json.loads((self.attempt / "result.json").read_text())

    def work(self, index: int = 0) -> Path:
        """Return the folder that a task of `worker` ran in."""
        return self.attempt / "work" / "0-worker" / str(index)

    def log(self, stream: str, role: str = "0-worker", index: int = 0) -> str:
        path = self.attempt / "logs" / role / str(index) / f"{stream}.log"
        return path.read_text() if path.exists() else ""

    @property
    def order(self) -> list[str]:
        """The record of task 0: `start base 0`, in order."""
        lines = (self.attempt / "tasks" / "0-worker" / "0.scripts").read_text().splitlines()
        words = [line.split(" ") for line in lines]
        assert all(int(began) <= int(ended) for _, _, _, began, ended, _ in words)
        return [f"{moment} {name} {status}" for _, moment, status, _, _, name in words]


@pytest.fixture
def ran(run: Runner, tmp_path: Path, surroundings: Path) -> Callable[..., Ran]:
    def submit(
        commands: list[str],
        prerequisites: list[dict[str, Any]] | None = None,
        *options: str,
        **values: object,
    ) -> Ran:
        job = changed(JOB, "taskRoles/worker/commands", commands)
        job["prerequisites"] += prerequisites or []
        for path, value in values.items():
            job = changed(job, path.replace("__", "/"), value)
        file = job_file(tmp_path, yaml.safe_dump(job, sort_keys=False))
        said = run("submit", file, "--backend", "local", "--wait", *options)
        folder = next(surroundings.glob("*~demo"), None)
        assert folder is not None, said.err
        return Ran(said, folder)

    return submit


def script(name: str, *callbacks: tuple[str, str], **more: object) -> dict[str, Any]:
    events = [{"event": event, "commands": [command]} for event, command in callbacks]
    return {"name": name, "type": "script", **({"callbacks": events} if events else {}), **more}


def plugins(*entries: dict[str, Any]) -> dict[str, Any]:
    return {PREFIX: list(entries)}


def test_order_exports_and_places(ran: Callable[..., Ran]) -> None:
    """One job shows the order of everything, what is carried from script to script, and what is not."""
    done = ran(
        ['echo "$C:$DATA_DIR:$LATE:$PWD:${BASH_ENV-none}:$#:$0"', "cat daemon", "exit 0"],
        [
            script(
                "a", ("taskStarts", "echo a; export LATE=$DATA_DIR"), ("taskSucceeds", "echo a2"), require=["b", "c"]
            ),
            script(
                "b",
                ("containerStart", 'echo "b $#"; cd /; export DATA_DIR="da \'ta\n" FOLDER=/x ROLE=7 STOPPED=1; NOT=1'),
                ("containerStart", "echo b again; exit 0; echo never"),
                ("containerExit", "echo b end"),
                require=["c"],
            ),
            script(
                "c",
                (
                    "taskStarts",
                    "trap 'echo c trap' EXIT; export C=kept; (sleep 0.1; echo up >daemon) & wait; sleep 60 &",
                ),
            ),
            script("d", ("taskStarts", "echo d never")),
        ],
        taskRoles__worker__prerequisites=["a", "c", "a"],
        extras=plugins(
            {
                "plugin": "cmd",
                "parameters": {"preCommands": ["echo plugin $LATE"], "postCommands": ["echo plugin end"]},
            },
            {"plugin": "cmd", "parameters": {"preCommands": ["echo other role"]}, "taskroles": ["other"]},
            {"plugin": "cmd", "parameters": {}},
        ),
    )
    assert done.code == 0, done.said
    assert done.order == [
        "start c 0",
        "start b 0",
        "start a 0",
        "start cmd 0",
        "commands - 0",
        "success cmd 0",
        "success a 0",
        "exit b 0",
    ]
    command = done.attempt / "commands" / "0-worker.sh"
    assert done.log("stdout") == f"kept:da 'ta\n:da 'ta\n:{done.work()}:none:0:{command}\nup\n"
    assert done.log("runtime").splitlines() == [
        "c trap",
        "b 0",
        "b again",
        "a",
        "plugin da 'ta",
        "plugin end",
        "a2",
        "b end",
    ]
    plan = json.loads((done.folder / "plan.json").read_text())
    (role,) = plan["roles"]
    assert [step["name"] for step in role["before"]] == ["c", "b", "a", "cmd"]
    assert [(step["moment"], step["name"]) for step in role["after"]] == [
        ("success", "cmd"),
        ("success", "a"),
        ("exit", "b"),
    ]


def test_a_failing_start_fails_the_task_with_its_status(ran: Callable[..., Ran], run: Runner) -> None:
    done = ran(
        ["echo never"],
        [
            script(
                "a", ("taskStarts", "false; echo never"), ("containerExit", "echo end; false"), failurePolicy="fail"
            ),
            script("b", ("taskStarts", "echo b"), ("taskSucceeds", "echo never"), ("containerExit", "echo b end")),
            script("c", ("taskStarts", "echo never")),
        ],
        taskRoles__worker__prerequisites=["b", "a", "c"],
    )
    assert (done.code, done.log("stdout")) == (1, "")
    assert done.order == ["start b 0", "start a 1", "exit a 1", "exit b 0"]
    assert run("logs", "demo", "--runtime").out.splitlines() == ["b", "end", "b end"]
    (task,) = done.result["tasks"]
    assert (task["status"], task["code"], task["state"]) == (1, 255, "FAILED")
    (shown,) = json.loads(run("status", "demo", "--json").out)["tasks"]
    assert [(each["moment"], each["name"], each["status"], each["attempt"]) for each in shown["scripts"]] == [
        ("start", "b", 0, 0),
        ("start", "a", 1, 0),
        ("exit", "a", 1, 0),
        ("exit", "b", 0, 0),
    ]
    assert all(shown["started"] <= each["began"] <= each["ended"] <= shown["ended"] for each in shown["scripts"])
    assert "error: a failed with status 1 (start)" in done.log("stderr")


def test_failures_that_are_ignored_and_exits_after_a_failure(ran: Callable[..., Ran]) -> None:
    done = ran(
        ["echo ran", "exit 9"],
        [
            script(
                "a",
                ("taskStarts", "false; export AFTER=1; exit 3"),
                ("taskSucceeds", "echo never"),
                ("containerExit", "echo end $AFTER"),
                failurePolicy="ignore",
            )
        ],
        taskRoles__worker__prerequisites=["a"],
    )
    assert (done.code, done.log("stdout"), done.log("runtime")) == (1, "ran\n", "end 1\n")
    assert done.order == ["start a 3", "commands - 9", "exit a 0"]
    assert done.result["tasks"][0]["status"] == 9


def test_a_failing_success_script_fails_the_task_and_an_exit_script_does_not(ran: Callable[..., Ran]) -> None:
    done = ran(
        ["true"],
        [
            script("a", ("taskSucceeds", "echo never"), ("containerExit", "exit 4")),
            script("b", ("taskSucceeds", "echo out of memory; exit 6"), ("containerExit", "exit 5")),
        ],
        taskRoles__worker__prerequisites=["a", "b"],
    )
    assert done.order == ["commands - 0", "success b 6", "exit b 5", "exit a 4"]
    assert (done.code, done.result["tasks"][0]["status"]) == (1, 6)
    assert "b ended with status 5 (exit), which changes nothing" in done.log("stderr")


def test_a_stopped_task_runs_what_is_for_any_end(run: Runner, tmp_path: Path, surroundings: Path) -> None:
    """The command ends well after TERM, but it was stopped, so nothing has succeeded; TERM comes more than once."""
    again = "read -r _ _ _ task _ </proc/$PPID/stat; kill -TERM $task"
    job = changed(JOB, "taskRoles/worker/commands", ["trap 'exit 0' TERM; touch ready; sleep 60 & wait"])
    job["prerequisites"].append(
        script("a", ("taskSucceeds", "echo never"), ("containerExit", f"{again}; sleep 0.2; echo end"))
    )
    job = changed(job, "taskRoles/worker/prerequisites", ["a"])
    assert run("submit", job_file(tmp_path, yaml.safe_dump(job)), "--backend", "local").code == 0
    folder = next(surroundings.glob("*~demo"))
    ready = folder / "attempts" / "0" / "work" / "0-worker" / "0" / "ready"
    wait_until(ready.exists, "the command to run")
    run("cancel", "demo")
    done = Ran(run("wait", "demo"), folder)
    assert (done.code, done.log("runtime")) == (1, "end\n")
    assert done.order == ["commands - 0", "exit a 0"]


def test_own_parameters_and_those_of_the_role(ran: Callable[..., Ran]) -> None:
    done = ran(
        ["cat out"],
        [
            {"name": "set", "type": "data", "uri": ["x", "y"], "version": 1.0},
            {
                "name": "load",
                "type": "data",
                "uri": ["u", "<% $parameters.host %>/v"],
                "key1": "<% $data.name %>",
                "plugin": f"{PREFIX}.cmd",
                "callbacks": [
                    {
                        "event": "taskStarts",
                        "commands": [
                            "echo <% this.parameters.name %> <% this.parameters.key1 %> >out",
                            "echo '<% this.parameters.uri[1] %>' >>out",
                            "echo '<% $data.uri[1] %> <% $parameters.host %>' >>out",
                        ],
                    }
                ],
            },
        ],
        parameters={"host": "it&<h>"},
        taskRoles__worker__data="set",
        taskRoles__worker__prerequisites=["load", "set"],
    )
    assert done.log("stdout") == "load set\nit&<h>/v\ny it&<h>\n"


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Put a folder of stand-ins on PATH; each writes down how it was called."""
    folder = tmp_path / "programs"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    return folder


def test_the_plugin_git_clones_before_the_commands(ran: Callable[..., Ran], tmp_path: Path) -> None:
    repository = tmp_path / "repo"
    git = ["git", "-C", str(repository), "-c", "user.name=x", "-c", "user.email=x@y"]
    subprocess.run(["git", "init", "-q", "-b", "main", str(repository)], check=True)
    (repository / "it's a file").write_text("1")
    subprocess.run([*git, "add", "-A"], check=True)
    subprocess.run([*git, "commit", "-qm", "1"], check=True)
    parameters = {"repo_uri": f"file://{repository}", "options": ["--depth 1", "--branch=<% $parameters.b %>"]}
    done = ran(
        ["ls code 'my code'"],
        None,
        parameters={"b": "main"},
        extras=plugins(
            {"plugin": "git", "parameters": parameters},
            {"plugin": "git", "parameters": {**parameters, "clone_dir": "my code"}},
            {"plugin": "git", "parameters": {**parameters, "clone_dir": "code"}, "failurePolicy": "ignore"},
        ),
    )
    assert done.code == 0, done.log("stderr")
    assert done.log("stdout") == "code:\nit's a file\n\nmy code:\nit's a file\n"
    assert done.order == ["start git 0", "start git 0", "start git 1", "commands - 0"]
    assert "code exists and is not an empty folder" in done.log("stderr")


@pytest.mark.parametrize(
    ("version", "folders", "arguments"),
    [
        ("1.15.0", {"a": "/x"}, "--port 6006 --logdir a:/x"),
        ("2.11.2", {"a": "/x"}, "--port 6006 --logdir /x --bind_all"),
        ("2.1.1", {"a": "/x", "b": "y z"}, "--port 6006 --logdir_spec a:/x,b:y z --bind_all"),
    ],
)
def test_the_plugin_tensorboard_runs_beside_the_first_task(
    ran: Callable[..., Ran], programs: Path, version: str, folders: dict[str, str], arguments: str
) -> None:
    stand_in = programs / "tensorboard"
    stand_in.write_text(
        f'#!/bin/sh\n[ "$1" = --version ] && echo {version} && exit\necho "$@" >up.new; mv up.new up; sleep 60\n'
    )
    stand_in.chmod(0o755)
    done = ran(
        ["if [[ $PAI_TASK_INDEX == 0 ]]; then until [[ -e up ]]; do sleep 0.02; done; cat up; else ls; fi"],
        None,
        taskRoles__other=JOB["taskRoles"]["worker"] | {"commands": ["ls"]},
        taskRoles__worker__instances=2,
        extras=plugins({"plugin": "tensorboard", "parameters": {"port": "6006", "logdir": folders}}),
    )
    assert done.code == 0
    assert (done.log("stdout"), done.log("stdout", index=1)) == (arguments + "\n", "")
    assert not (done.attempt / "tasks" / "1-other" / "0.scripts").exists()


def test_storages_are_looked_for_before_anything_else(ran: Callable[..., Ran], tmp_path: Path) -> None:
    for name in ("nfs", "home"):
        (tmp_path / "data" / name).mkdir(parents=True)
    (tmp_path / "mnt-nfs").symlink_to(tmp_path / "data" / "nfs")
    (tmp_path / "mnt-home").symlink_to(tmp_path / "data" / "home" / getpass.getuser())
    site = tmp_path / "site.yaml"
    site.write_text(f"""
partitions: {{batch: {{nodes: [{{count: 1, cpus: 16, memoryMB: 100000}}]}}}}
defaultPartition: batch
storages:
  nfs: {{path: {tmp_path}/data/nfs}}
  home: {{path: {tmp_path}/data/home, shared: false}}
""")
    storages = [{"name": name, "mountPath": str(tmp_path / f"mnt-{name}")} for name in ("nfs", "home")]
    done = ran(
        [f"cd {tmp_path}/data; ls nfs/* home/*/*"],
        [script("a", ("taskStarts", f"touch {tmp_path}/mnt-nfs/file {tmp_path}/mnt-home/own"))],
        "--site",
        str(site),
        taskRoles__worker__prerequisites=["a"],
        extras={"storages": storages},
    )
    assert done.log("stdout").split() == [f"home/{getpass.getuser()}/own", "nfs/file"]
    assert done.order == ["start storages 0", "start a 0", "commands - 0"]


def test_a_storage_that_is_elsewhere_fails_the_task_where_the_site_knows_it(
    ran: Callable[..., Ran], tmp_path: Path
) -> None:
    plugin = {"plugin": "teamwise_storage", "parameters": {"storageConfigNames": ["no-such-storage"]}}
    done = ran(["true"], None, extras=plugins(plugin))
    assert (done.code, done.order) == (0, ["start storages 1", "commands - 0"])
    assert "the storage /mnt/no-such-storage is not on localhost" in done.log("stderr")
    (tmp_path / "here").mkdir()
    site = tmp_path / "site.yaml"
    site.write_text(f"storages: {{here: {{path: {tmp_path}/here}}}}\n")
    storages = [{"name": "here", "mountPath": "/mnt/not-here"}]
    done = ran(["echo never"], None, "--site", str(site), extras={"storages": storages})
    assert (done.code, done.log("stdout"), done.order) == (1, "", ["start storages 1"])
    assert f"the storage {tmp_path}/here is not at /mnt/not-here on localhost" in done.log("stderr")


VALUE = "s3cr3t-5f1e"
SECRETS = {"token": f"{VALUE}'\"$HOME`&\\\n{VALUE}\n\n", "db": {"password": VALUE}}


def containing(value: str, *folders: Path) -> list[Path]:
    files = [path for folder in folders for path in folder.rglob("*") if path.is_file()]
    return [path for path in files if value.encode() in path.read_bytes()]


def processes_with(value: str) -> list[str]:
    """Return the command lines and environments of processes that hold a text."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        for name in ("cmdline", "environ"):
            with suppress(OSError):
                if value.encode() in (process / name).read_bytes():
                    found.append(f"{process.name}/{name}: {(process / 'cmdline').read_bytes()!r}")
    return found


@dataclass(frozen=True)
class Seen:
    """What was found while a job ran: files and processes with the secret, the modes of its own files, the status."""

    files: set[str]
    modes: list[str]
    processes: list[str]
    said: str


def test_a_secret_is_in_the_command_and_nowhere_else(
    ran: Callable[..., Ran], run: Runner, tmp_path: Path, surroundings: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While the job runs, all that is stored is searched for the secret, and so are all processes."""
    go = tmp_path / "go"
    seen: list[Seen] = []

    def look(folder: JobFolder) -> View:
        ready = [folder.attempt(0) / "work" / "0-worker" / str(index) / "ready" for index in range(2)]
        wait_until(lambda: all(path.exists() for path in ready), "the commands to run")
        status = run("status", "demo", "--json")
        seen.append(
            Seen(
                files={path.name for path in containing(VALUE, surroundings.parent)},
                modes=[oct((folder.secrets / name).stat().st_mode & 0o777) for name in ("token", "db.password")],
                processes=processes_with(VALUE),
                said=status.out + status.err,
            )
        )
        go.touch()
        return wait_for_end(folder)

    monkeypatch.setattr(submit, "wait_for_end", look)
    beside = tmp_path / "secrets.yaml"
    beside.write_text(yaml.safe_dump(SECRETS))
    beside.chmod(0o600)
    heredoc = (
        "cat >got <<'END'\n<% $secrets.token %>END\ntouch ready; until [[ -e " + str(go) + " ]]; do sleep 0.02; done"
    )
    done = ran(
        [heredoc, "[[ $FROM == <% $secrets.db.password %> ]]"],
        [script("a", ("taskStarts", "export FROM='<% this.parameters.key %>'"), key="<% $secrets.db.password %>")],
        "--secrets",
        str(beside),
        secrets={"token": "overruled"},
        taskRoles__worker__instances=2,
        taskRoles__worker__prerequisites=["a"],
    )
    assert done.code == 0, done.log("stderr")
    (meanwhile,) = seen
    # `got` is the command's own doing.
    assert meanwhile.files == {"token", "db.password", "got"}
    assert meanwhile.modes == ["0o600", "0o600"]
    assert [process for process in meanwhile.processes if not _exported(process)] == []
    assert VALUE not in meanwhile.said
    assert VALUE not in done.said.out + done.said.err
    for index in range(2):
        assert (done.work(index) / "got").read_text() == SECRETS["token"]
    assert not (done.folder / "secrets").exists()
    stored = (done.folder / "job.yaml").read_text()
    assert '"******"' in stored
    assert "overruled" not in stored


def _exported(process: str) -> bool:
    """Tell whether a process has the secret because the prerequisite exported it: all that the commands start."""
    return "/environ: " in process and "srun" not in process and "job.sbatch" not in process


def test_a_failed_job_keeps_no_secrets_and_its_environment_had_none(ran: Callable[..., Ran]) -> None:
    commands = ["true '<% $secrets.token %>'; env", "exit <% $secrets.status %>"]
    done = ran(commands, None, secrets={"status": 7, "token": VALUE})
    assert (done.code, done.result["tasks"][0]["status"]) == (1, 7)
    assert "PAI_TASK_INDEX=0" in done.log("stdout")
    assert VALUE not in done.log("stdout")
    assert not (done.folder / "secrets").exists()


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o660])
def test_a_file_of_secrets_is_for_nobody_else(run: Runner, tmp_path: Path, mode: int) -> None:
    beside = tmp_path / "secrets.yaml"
    beside.write_text("token: x\n")
    beside.chmod(mode)
    said = run("check", job_file(tmp_path), "--secrets", str(beside))
    assert said.code == 3
    assert f"error E115: the file of secrets has the mode {mode:04o}" in said.err


def test_what_is_wrong_with_a_file_of_secrets_quotes_nothing(run: Runner, tmp_path: Path) -> None:
    beside = tmp_path / "secrets.yaml"
    beside.write_text(f"token: *{VALUE}\nother: !!int {VALUE}\n")
    beside.chmod(0o400)
    said = run("check", job_file(tmp_path), "--secrets", str(beside))
    assert said.code == 3
    assert "E107" in said.err
    assert VALUE not in said.err


def test_by_hand_the_script_says_where_secrets_go(run: Runner, tmp_path: Path) -> None:
    """Called without arguments, as sbatch calls a script by hand."""
    job = changed(changed(JOB, "secrets", {"token": "x"}), "taskRoles/worker/commands", ["echo <% $secrets.token %>"])
    target = tmp_path / "job.sbatch"
    said = run("script", job_file(tmp_path, yaml.safe_dump(job)), "-o", str(target))
    assert "demo.secrets, in the folder it is submitted from: token" in said.err
    environment = {
        "PATH": os.environ["PATH"],
        "SLURM_JOB_ID": "7",
        "SLURM_SUBMIT_DIR": str(tmp_path),
        "SLURMD_NODENAME": "n",
    }

    def by_hand() -> str:
        done = subprocess.run(["bash", str(target)], env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 4
        return done.stderr

    secret = tmp_path / "demo.secrets" / "token"
    assert f"not there: {secret}" in by_hand()
    secret.parent.mkdir()
    secret.write_text("x")
    secret.chmod(0o640)
    assert f"chmod 600): {secret}" in by_hand()
    secret.chmod(0o600)
    assert "secret" not in by_hand()
    assert secret.exists()
