"""Secrets are in the command and nowhere else: real jobs on this machine, searched while they run and after."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import yaml

from paislurm.translator.app.jobs import waiting
from paislurm.translator.app.session import Session
from paislurm.translator.app.submit import new_folder
from paislurm.translator.errors import NotFoundError
from paislurm.translator.monitor.attempt import SETTLED_SECONDS
from paislurm.translator.monitor.facts import View
from paislurm.translator.monitor.reconcile import UNKNOWN_SECONDS
from paislurm.translator.state.job_folder import JobFolder
from tests.cluster.processes import wait_until

from ...cli.running import job_file
from ...monitor.jobs import FakeBackend, stepped
from ...protocol.jobs import JOB, changed
from ..asked import Asked
from ..ran import Ran, plugins, script

VALUE = "s3cr3t-5f1e"
COMMANDS = "taskRoles/worker/commands"
USING = yaml.safe_dump(changed(changed(JOB, "secrets", {"token": VALUE}), COMMANDS, ["true '<% $secrets.token %>'"]))
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


def test_a_secret_appears_only_in_the_command(
    ran: Callable[..., Ran], asked: Asked, tmp_path: Path, surroundings: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While the job runs, all that is stored is searched for the secret, and so are all processes."""
    go = tmp_path / "go"
    files: set[str] = set()
    processes: list[str] = []
    said: list[str] = []

    def look(session: Session, folders: list[JobFolder], **options: Any) -> list[View | NotFoundError]:
        [folder] = folders
        ready = [folder.attempt(0) / "work" / "0-worker" / str(index) / "ready" for index in range(2)]
        wait_until(lambda: all(path.exists() for path in ready), "the commands to run")
        said.append(str(asked.jobs.status("demo")))
        files.update(path.name for path in containing(VALUE, surroundings.parent))
        processes.extend(processes_with(VALUE))
        assert [path.stat().st_mode & 0o777 for path in folder.secrets.iterdir()] == [0o600, 0o600]
        go.touch()
        return wait(session, folders, **options)

    wait = waiting.wait_for_ends
    monkeypatch.setattr(waiting, "wait_for_ends", look)
    beside = tmp_path / "secrets.yaml"
    beside.write_text(yaml.safe_dump(SECRETS))
    beside.chmod(0o600)
    heredoc = (
        "cat >got <<'END'\n<% $secrets.token %>END\ntouch ready; until [[ -e " + str(go) + " ]]; do sleep 0.02; done"
    )
    done = ran(
        [heredoc, "[[ $FROM == <% $secrets.db.password %> ]]"],
        [script("a", ("taskStarts", "export FROM='<% this.parameters.key %>'"), key="<% $secrets.db.password %>")],
        {"secrets": str(beside)},
        secrets={"token": "overruled"},
        taskRoles__worker__instances=2,
        taskRoles__worker__prerequisites=["a"],
    )
    assert done.code == 0, done.log("stderr")
    # `got` is the command's own doing.
    assert files == {"token", "db.password", "got"}
    assert [process for process in processes if not _exported(process)] == []
    assert len(said) == 1
    assert VALUE not in f"{said} {done.view} {done.events}"
    assert [(done.work(index=index) / "got").read_text() for index in range(2)] == [SECRETS["token"]] * 2
    stored = (done.folder / "job.yaml").read_text()
    assert ('"******"' in stored, "overruled" in stored, (done.folder / "secrets").exists()) == (True, False, False)


def _exported(process: str) -> bool:
    """Tell whether a process has the secret because the prerequisite exported it: all that the commands start."""
    return "/environ: " in process and "srun" not in process and "job.sbatch" not in process


def test_a_failed_job_keeps_no_secrets_in_files_or_environment(ran: Callable[..., Ran]) -> None:
    commands = ["true '<% $secrets.token %>'; env", "exit <% $secrets.status %>"]
    done = ran(commands, None, secrets={"status": 7, "token": VALUE})
    assert (done.code, done.result["tasks"][0]["exit_status"], (done.folder / "secrets").exists()) == (1, 7, False)
    assert ("PAI_TASK_INDEX=0" in done.log("stdout"), VALUE in done.log("stdout")) == (True, False)


def test_a_secret_in_a_parameter_or_a_uri_reaches_the_commands(ran: Callable[..., Ran]) -> None:
    done = ran(
        ["echo '<% $parameters.url %>' '<% $data.uri[0] %>' >got"],
        [{"name": "set", "type": "data", "uri": ["s3://<% $secrets.token %>"]}],
        secrets={"token": "1t0k"},
        parameters={"url": "https://user:<%$secrets.token%>@host/x"},
        taskRoles__worker__data="set",
    )
    assert done.code == 0, done.log("stderr")
    assert (done.work() / "got").read_text() == "https://user:1t0k@host/x s3://1t0k\n"
    assert "1t0k" not in (done.folder / "job.yaml").read_text()


@pytest.mark.parametrize(
    ("mode", "text", "says"),
    [
        *(
            (mode, "token: x\n", f"error E115: the file of secrets has mode {mode:04o}")
            for mode in (0o644, 0o640, 0o660)
        ),
        (0o400, f"token: *{VALUE}\nother: !!int {VALUE}\n", "E107"),
    ],
)
def test_a_bad_file_of_secrets_is_refused_and_not_quoted(
    asked: Asked, tmp_path: Path, mode: int, text: str, says: str
) -> None:
    """It must be private."""
    beside = tmp_path / "secrets.yaml"
    beside.write_text(text)
    beside.chmod(mode)
    said = asked.compiler.check_job(job_file(tmp_path), secrets=str(beside))
    assert (said.code, says in said.err, VALUE in said.err) == (3, True, False)


def test_a_script_run_by_hand_names_the_folder_for_secrets(asked: Asked, tmp_path: Path) -> None:
    """Called without arguments, as sbatch calls a script by hand."""
    job = changed(changed(JOB, "secrets", {"token": "x"}), "taskRoles/worker/commands", ["echo <% $secrets.token %>"])
    target = tmp_path / "job.sbatch"
    said = asked.compiler.script(job_file(tmp_path, yaml.safe_dump(job)), output=str(target))
    assert "demo.secrets in the submit folder: token" in said.err

    def by_hand(number: int) -> str:
        own = {"SLURM_JOB_ID": str(number), "SLURM_SUBMIT_DIR": str(tmp_path), "SLURMD_NODENAME": "n"}
        env = {"PATH": os.environ["PATH"], **own}
        done = subprocess.run(["bash", str(target)], env=env, capture_output=True, text=True, check=False)
        assert done.returncode == 4
        return done.stderr

    secret = tmp_path / "demo.secrets" / "token"
    assert f"not there: {secret}" in by_hand(7)
    secret.parent.mkdir()
    secret.write_text("x")
    secret.chmod(0o640)
    assert f"chmod 600): {secret}" in by_hand(8)
    secret.chmod(0o600)
    assert ("secret" in by_hand(9), secret.exists()) == (False, True)


def test_a_secret_in_a_plugin_parameter_is_not_executed(ran: Callable[..., Ran]) -> None:
    """What the plugin says of a folder that is not empty comes before it looks at the address."""
    git = {"repo_uri": "<% $secrets.address %>", "clone_dir": "full"}
    done = ran(
        ["ls"],
        extras=plugins(
            {"plugin": "cmd", "parameters": {"preCommands": ["mkdir full; touch full/x"]}},
            {"plugin": "git", "parameters": git, "failurePolicy": "ignore"},
        ),
        secrets={"address": "https://host/\nEND_OF_VALUE\ntouch hacked\n"},
    )
    assert (done.log("stdout"), done.log("runtime")) == ("full\n", "full exists and is not an empty folder\n")


KILLED = """
import os, signal, sys
from pathlib import Path
from paislurm.translator.app.session import Session
from paislurm.translator.app.submit import submitting
from paislurm.translator.app.submit import new_folder
from paislurm.translator.cli.main import main

def killed(*_, **__):
    os.kill(os.getpid(), signal.SIGKILL)

class Killing:
    name = "slurm"
    submit = observe = find = killed
    version = lambda self: ""

where = {"placing": (new_folder, "publish"), "submitting": (submitting, "submit_attempt")}
setattr(*where[sys.argv[1]], killed)
Session._new_backend = lambda self, name: Killing()
main(["submit", sys.argv[2]])
"""


@pytest.mark.usefixtures("profile")
@pytest.mark.parametrize(("moment", "left"), [("placing", set()), ("submitting", {"token"})])
def test_a_killed_submit_leaves_no_unknown_secret_files(
    tmp_path: Path, demo: JobFolder, moment: str, left: set[str]
) -> None:
    """Before its folder has its name there is none; from then on there is an intent, and with it the monitor's work."""
    killed = subprocess.run([sys.executable, "-c", KILLED, moment, job_file(tmp_path, USING)], check=False, timeout=60)
    assert killed.returncode == -signal.SIGKILL
    jobs = demo.path.parent
    assert {path.name for path in containing(VALUE, jobs)} == left
    for seconds in (0, SETTLED_SECONDS, UNKNOWN_SECONDS) if left else ():
        stepped(demo, FakeBackend(), demo.history().asked + seconds + 1)
    assert containing(VALUE, jobs) == []


@pytest.mark.usefixtures("profile")
def test_a_refused_submit_leaves_no_secrets(
    asked: Asked, tmp_path: Path, slurm: FakeBackend, demo: JobFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The folder is out of its name, and cannot be removed any more, as if the process were killed there."""
    slurm.fails = "refuses"
    secrets: list[bool] = []
    discard = new_folder.remove_tree

    def remove(path: Path) -> None:
        if path == demo.secrets:
            discard(path)
        else:
            secrets.append((path / "secrets").exists())

    monkeypatch.setattr(new_folder, "remove_tree", remove)
    assert asked.jobs.submit(job_file(tmp_path, USING)).code != 0
    assert (secrets, containing(VALUE, demo.path.parent)) == ([False], [])
