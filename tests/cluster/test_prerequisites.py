"""Prerequisites, plugins and secrets on the real Slurm."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from tests.cluster.instance import ALICE, GROUP_ID, USERS, require_privilege
from tests.cluster.jobs import SITE, Submitted, paislurm, role, submit_file
from tests.cluster.processes import read, wait_until

if TYPE_CHECKING:
    from tests.cluster.cluster import Cluster


def write_files(folder: Path, **files: str) -> None:
    """Write a job's files; a program is one whose name has no dot."""
    (folder / "site.yaml").write_text(SITE.read_text())
    for name, text in files.items():
        path = folder / name.replace("__", "/").replace("_yaml", ".yaml")
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    for path in folder.rglob("*"):
        os.chown(path, USERS["alice"].uid, GROUP_ID)
        path.chmod(0o644 if path.suffix else 0o755)


def order(job: Submitted, task: str) -> list[str]:
    folder, index = task.split("/")
    lines = (job.attempt / "tasks" / folder / f"{index}.scripts").read_text().splitlines()
    words = [line.split(" ") for line in lines]
    assert all(0 <= int(ended) - int(began) < 60 for _, _, _, began, ended, _ in words)
    return [f"{moment} {name} {status}" for _, moment, status, _, _, name in words]


TENSORBOARD = """#!/bin/sh
[ "$1" = --version ] && echo 2.11.0 && exit
echo "$@" >board.new; mv board.new board; sleep 600
"""


def test_four_plugins_run_together_and_end_with_the_job(installed: Cluster, workdir: Path) -> None:
    require_privilege("control groups")
    command = 'until [[ -e board ]]; do sleep 0.05; done; cat board "repo/file"; ls "$WHERE"'
    job = f"""protocolVersion: 2
name: four-plugins
type: job
parameters: {{port: 10007}}
prerequisites: [{{name: plain, type: dockerimage, uri: debian}}]
taskRoles:
{role("worker", 1, command)}
extras:
  com.microsoft.pai.runtimeplugin:
    - {{plugin: teamwise_storage, parameters: {{storageConfigNames: [nfs]}}}}
    - {{plugin: git, parameters: {{repo_uri: https://host/repo, options: [--depth=1], clone_dir: repo}}}}
    - {{plugin: tensorboard, parameters: {{port: <% $parameters.port %>, logdir: {{train: /logs}}}}}}
    - plugin: cmd
      parameters:
        callbacks:
          - {{event: taskStarts, commands: [export WHERE=repo]}}
          - {{event: taskSucceeds, commands: [echo done]}}
"""
    git = '#!/bin/bash\nmkdir -- "${@: -1}" && echo "$@" >"${@: -1}/file"\n'
    write_files(workdir, job_yaml=job, bin__git=git, bin__tensorboard=TENSORBOARD)
    submitted = submit_file(installed, workdir, env={"PATH": f"{workdir}/bin:{installed.environment('alice')['PATH']}"})
    code, _ = submitted.ended()
    assert code == 0, submitted.log("0-worker/0", "stderr.log")
    assert submitted.log("0-worker/0") == (
        "--port 10007 --logdir /logs --bind_all\nclone --depth=1 -- https://host/repo repo\nfile\n"
    )
    # The site says nothing of storages, so it is told that there is none, and no more.
    starts = ["start storages 1", *(f"start {name} 0" for name in ("git", "tensorboard", "cmd"))]
    assert order(submitted, "0-worker/0") == [*starts, "commands - 0", "success cmd 0"]
    assert "the storage /mnt/nfs is not on " in submitted.log("0-worker/0", "runtime.log")
    # The board was the task's, and goes with its step.
    wait_until(
        lambda: (
            not any(
                _reads(path, f"{workdir}/bin/tensorboard".encode()) for path in Path("/proc").glob("[0-9]*/cmdline")
            )
        ),
        "tensorboard outlives its task",
    )


def _reads(path: Path, text: bytes) -> bool:
    try:
        return text in path.read_bytes()
    except OSError:
        return False


VALUE = "s3cr3t-77aa01"


def test_secret_is_not_exposed_while_its_job_runs(installed: Cluster, workdir: Path) -> None:
    """Two roles on two nodes; the value is looked for in all that Slurm and this program keep, and in all processes."""
    command = (
        '[[ $KEPT == "<% $secrets.db.key %>" ]]; echo ready; until [[ -e ' + str(workdir) + "/go ]]; do sleep 0.1; done"
    )
    job = f"""protocolVersion: 2
name: secret-{workdir.name[-6:]}
type: job
prerequisites:
  - {{name: plain, type: dockerimage, uri: debian}}
  - {{name: login, type: script, callbacks: [{{event: taskStarts, commands: ['export KEPT="<% $secrets.db.key %>"']}}]}}
taskRoles:
{role("a", 1, command, more="    prerequisites: [login]" + chr(10))}
{role("b", 2, command, more="    prerequisites: [login]" + chr(10))}
"""
    write_files(workdir, job_yaml=job, secrets_yaml=f"db: {{key: {VALUE}}}\n")
    (workdir / "secrets.yaml").chmod(0o600)
    submitted = submit_file(installed, workdir, "job.yaml", "--secrets", "secrets.yaml")
    logs = [submitted.attempt / "logs" / f"{task}.stdout.log" for task in ("0-a/0", "1-b/0", "1-b/1")]
    wait_until(lambda: [read(log) for log in logs] == ["ready\n"] * 3, "all tasks to be ready")
    status = paislurm(
        installed, workdir, "status", "--json", "--", submitted.name, env={"PAISLURM_HOME": str(submitted.home)}
    )
    job_id = json.loads(status.stdout)["job_id"]
    # What Slurm has: as its administrator sees it.
    script = workdir / "of-slurm"
    shown = [
        status.stdout,
        installed.admin(["scontrol", "show", "job", "-dd"]),
        installed.admin(["scontrol", "show", "step"]),
        installed.admin(["scontrol", "write", "batch_script", job_id, str(script)]),
        script.read_text(),
        installed.admin(["sacct", "-a", "-P", "-o", "ALL"]),
        installed.admin(["sacct", "-j", job_id, "--batch-script"]),
        installed.admin(["sacct", "-j", job_id, "--env-vars"]),
    ]
    assert "<% $secrets.db.key %>" in shown[4]
    assert [text for text in shown if VALUE in text] == []
    # What we keep.
    folder = submitted.home / "jobs" / f"{ALICE}~{submitted.name}"
    kept = [path for path in folder.rglob("*") if path.is_file() and VALUE.encode() in path.read_bytes()]
    assert kept == [folder / "secrets" / "db.key"]
    assert kept[0].stat().st_mode & 0o777 == 0o600
    # Command lines of all processes of all nodes; environments as another user can read them.
    assert [path for path in Path("/proc").glob("[0-9]*/cmdline") if _reads(path, VALUE.encode())] == []
    search = f"cat /proc/[0-9]*/cmdline /proc/[0-9]*/environ 2>/dev/null | grep -c {VALUE[:4]}[{VALUE[4]}]{VALUE[5:]}"
    for node in installed.node_states():
        assert installed.run(["bash", "-c", search], user="bob", host=node).stdout == "0\n"
    (workdir / "go").touch()
    assert submitted.ended()[0] == 0
    assert not (folder / "secrets").exists()


def test_script_run_by_hand_reads_secrets_from_its_folder(installed: Cluster, workdir: Path) -> None:
    job = f"""protocolVersion: 2
name: by-hand
type: job
secrets: {{token: x}}
prerequisites: [{{name: plain, type: dockerimage, uri: debian}}]
taskRoles:
{role("a", 1, "echo '<% $secrets.token %>'")}
"""
    write_files(workdir, job_yaml=job)
    script = paislurm(installed, workdir, "script", "--site", "site.yaml", "job.yaml").stdout
    require_privilege("another user")
    home = installed.home("bob") / workdir.name
    home.mkdir()
    (home / "job.sbatch").write_text(script)
    secret = home / "by-hand.secrets" / "token"
    secret.parent.mkdir()
    secret.write_text(VALUE)
    for path in (home, *home.rglob("*")):
        os.chown(path, USERS["bob"].uid, GROUP_ID)
    secret.chmod(0o600)
    done = installed.run(["sbatch", "--wait", "--parsable", "job.sbatch"], user="bob", cwd=home)
    assert done.returncode == 0, done.stderr
    log = home / f"by-hand-{done.stdout.strip()}" / "attempts" / "0" / "logs" / "0-a" / "0.stdout.log"
    assert log.read_text() == VALUE + "\n"
    assert secret.exists()
    shutil.rmtree(secret.parent)
    done = installed.run(["sbatch", "--wait", "--parsable", "job.sbatch"], user="bob", cwd=home)
    assert done.returncode == 4
    assert f"not there: {secret}" in (home / f"slurm-{done.stdout.strip()}.out").read_text()
