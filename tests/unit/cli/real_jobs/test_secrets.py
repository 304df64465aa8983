"""Secrets are in the command and nowhere else: real jobs on this machine, searched while they run and after."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import pytest
import yaml

from paislurm.translator.app.session import Session
from paislurm.translator.app.submit import replace_job
from paislurm.translator.cli.progress import submitted
from paislurm.translator.errors import NotFoundError
from paislurm.translator.monitor.attempt import SETTLED_SECONDS
from paislurm.translator.monitor.poll import View
from paislurm.translator.monitor.reconcile import UNKNOWN_SECONDS
from paislurm.translator.state.job_folder import JobFolder
from tests.cluster.processes import wait_until

from ...monitor.jobs import FakeBackend, stepped
from ...protocol.jobs import JOB, changed
from ..ran import Ran, plugins, script
from ..running import Runner, job_file

VALUE = "s3cr3t-5f1e"
COMMANDS = "taskRoles/worker/commands"
USE = "true '<% $secrets.token %>'"
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


def test_a_secret_appears_only_in_the_command(
    ran: Callable[..., Ran], run: Runner, tmp_path: Path, surroundings: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While the job runs, all that is stored is searched for the secret, and so are all processes."""
    go = tmp_path / "go"
    seen: list[Seen] = []

    def look(session: Session, folders: list[JobFolder], **options: Any) -> list[View | NotFoundError]:
        [folder] = folders
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
        return wait(session, folders, **options)

    wait = submitted.wait_for_ends
    monkeypatch.setattr(submitted, "wait_for_ends", look)
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
        assert (done.work(index=index) / "got").read_text() == SECRETS["token"]
    assert not (done.folder / "secrets").exists()
    stored = (done.folder / "job.yaml").read_text()
    assert '"******"' in stored
    assert "overruled" not in stored


def _exported(process: str) -> bool:
    """Tell whether a process has the secret because the prerequisite exported it: all that the commands start."""
    return "/environ: " in process and "srun" not in process and "job.sbatch" not in process


def test_a_failed_job_keeps_no_secrets_in_files_or_environment(ran: Callable[..., Ran]) -> None:
    commands = ["true '<% $secrets.token %>'; env", "exit <% $secrets.status %>"]
    done = ran(commands, None, secrets={"status": 7, "token": VALUE})
    assert (done.code, done.result["tasks"][0]["exit_status"]) == (1, 7)
    assert "PAI_TASK_INDEX=0" in done.log("stdout")
    assert VALUE not in done.log("stdout")
    assert not (done.folder / "secrets").exists()


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


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o660])
def test_the_file_of_secrets_must_be_private(run: Runner, tmp_path: Path, mode: int) -> None:
    beside = tmp_path / "secrets.yaml"
    beside.write_text("token: x\n")
    beside.chmod(mode)
    said = run("check", job_file(tmp_path), "--secrets", str(beside))
    assert said.code == 3
    assert f"error E115: the file of secrets has mode {mode:04o}" in said.err


def test_errors_in_a_file_of_secrets_quote_no_content(run: Runner, tmp_path: Path) -> None:
    beside = tmp_path / "secrets.yaml"
    beside.write_text(f"token: *{VALUE}\nother: !!int {VALUE}\n")
    beside.chmod(0o400)
    said = run("check", job_file(tmp_path), "--secrets", str(beside))
    assert said.code == 3
    assert "E107" in said.err
    assert VALUE not in said.err


def test_a_script_run_by_hand_names_the_folder_for_secrets(run: Runner, tmp_path: Path) -> None:
    """Called without arguments, as sbatch calls a script by hand."""
    job = changed(changed(JOB, "secrets", {"token": "x"}), "taskRoles/worker/commands", ["echo <% $secrets.token %>"])
    target = tmp_path / "job.sbatch"
    said = run("script", job_file(tmp_path, yaml.safe_dump(job)), "-o", str(target))
    assert "demo.secrets in the submit folder: token" in said.err
    environment = {
        "PATH": os.environ["PATH"],
        "SLURM_SUBMIT_DIR": str(tmp_path),
        "SLURMD_NODENAME": "n",
    }

    numbers = count(7)

    def by_hand() -> str:
        environment["SLURM_JOB_ID"] = str(next(numbers))
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
from paislurm.translator.app.submit import replace_job, submit
from paislurm.translator.cli.main import main

def killed(*_, **__):
    os.kill(os.getpid(), signal.SIGKILL)

class Killing:
    name = "slurm"
    submit = observe = find = killed
    version = lambda self: ""

where = {"placing": (replace_job, "publish"), "submitting": (submit, "submit_attempt")}
setattr(*where[sys.argv[1]], killed)
Session._new_backend = lambda self, name: Killing()
main(["submit", sys.argv[2]])
"""


@pytest.mark.parametrize(("moment", "left"), [("placing", set()), ("submitting", {"token"})])
def test_a_killed_submit_leaves_no_unknown_secret_files(
    tmp_path: Path, profile: Path, demo: JobFolder, moment: str, left: set[str]
) -> None:
    """Before its folder has its name there is none; from then on there is an intent, and with it the monitor's work."""
    assert profile.exists()
    file = job_file(tmp_path, yaml.safe_dump(changed(changed(JOB, "secrets", {"token": VALUE}), COMMANDS, [USE])))
    killed = subprocess.run([sys.executable, "-c", KILLED, moment, file], check=False, timeout=60)
    assert killed.returncode == -signal.SIGKILL
    jobs = demo.path.parent
    assert {path.name for path in containing(VALUE, jobs)} == left
    known = demo.history() if left else None
    for now in (known.asked + 1, known.asked + SETTLED_SECONDS + 1, known.asked + UNKNOWN_SECONDS + 1) if known else ():
        stepped(demo, FakeBackend(), now)
    assert containing(VALUE, jobs) == []


def test_a_refused_submit_leaves_no_secrets(
    run: Runner, tmp_path: Path, profile: Path, slurm: FakeBackend, demo: JobFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The folder is out of its name, and cannot be removed any more, as if the process were killed there."""
    assert profile.exists()
    slurm.fails = "refuses"
    secrets: list[bool] = []
    discard = replace_job.remove
    monkeypatch.setattr(
        replace_job,
        "remove",
        lambda path: discard(path) if path == demo.secrets else secrets.append((path / "secrets").exists()),
    )
    file = job_file(tmp_path, yaml.safe_dump(changed(changed(JOB, "secrets", {"token": VALUE}), COMMANDS, [USE])))
    assert run("submit", file).code != 0
    assert secrets == [False]
    assert containing(VALUE, demo.path.parent) == []
