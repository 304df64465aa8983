"""Plugins, storages and the preflight of the only node, seen from the running task: real jobs on this machine."""

from __future__ import annotations

import getpass
from collections.abc import Callable
from pathlib import Path

import pytest

from ...cli.running import JOB, job_file, program
from ...protocol.jobs import ROLE
from ..ran import Ran, git_repository, plugins, run_here, script


def test_the_plugin_git_clones_before_the_commands(ran: Callable[..., Ran], tmp_path: Path) -> None:
    repository = git_repository(tmp_path / "repo", "it's a file")
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
    assert (done.code, done.log("stdout")) == (0, "code:\nit's a file\n\nmy code:\nit's a file\n"), done.view
    assert done.order == ["start git 0", "start git 0", "start git 1", "commands - 0"]
    assert "code exists and is not an empty folder" in done.log("runtime")


@pytest.mark.parametrize(
    ("version", "folders", "arguments"),
    [
        ("1.15.0", {"a": "/x"}, "--port 6006 --logdir a:/x"),
        ("2.11.2", {"a": "/x"}, "--port 6006 --logdir /x --bind_all"),
        ("2.1.1", {"a": "/x", "b": "y z"}, "--port 6006 --logdir_spec a:/x,b:y z --bind_all"),
    ],
)
def test_the_plugin_tensorboard_runs_beside_the_first_task(
    ran: Callable[..., Ran],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    version: str,
    folders: dict[str, str],
    arguments: str,
) -> None:
    text = f'[ "$1" = --version ] && echo {version} && exit\necho "$@" >up.new; mv up.new up; sleep 60'
    program(tmp_path / "programs" / "tensorboard", text)
    monkeypatch.setenv("PATH", f"{tmp_path}/programs", prepend=":")
    done = ran(
        ["if [[ $PAI_TASK_INDEX == 0 ]]; then until [[ -e up ]]; do sleep 0.02; done; cat up; else ls; fi"],
        None,
        taskRoles__other=ROLE | {"commands": ["ls"]},
        taskRoles__worker__instances=2,
        extras=plugins({"plugin": "tensorboard", "parameters": {"port": "6006", "logdir": folders}}),
    )
    assert (done.code, done.log("stdout"), done.log("stdout", index=1)) == (0, arguments + "\n", "")
    assert not (done.attempt / "tasks" / "1-other" / "0.scripts").exists()


def test_storages_are_checked_before_other_hooks(ran: Callable[..., Ran], tmp_path: Path) -> None:
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
        {"site": str(site)},
        taskRoles__worker__prerequisites=["a"],
        extras={"storages": storages},
    )
    assert done.log("stdout").split() == [f"home/{getpass.getuser()}/own", "nfs/file"]
    assert done.order == ["start storages 0", "start a 0", "commands - 0"]


def test_a_storage_at_another_path_fails_the_task_if_the_site_lists_it(ran: Callable[..., Ran], tmp_path: Path) -> None:
    plugin = {"plugin": "teamwise_storage", "parameters": {"storageConfigNames": ["no-such-storage"]}}
    done = ran(["true"], None, extras=plugins(plugin))
    assert (done.code, done.order) == (0, ["start storages 1", "commands - 0"])
    assert "the storage /mnt/no-such-storage is not on localhost" in done.log("runtime")
    (tmp_path / "here").mkdir()
    site = tmp_path / "site.yaml"
    site.write_text(f"storages: {{here: {{path: {tmp_path}/here}}}}\n")
    storages = [{"name": "here", "mountPath": "/mnt/not-here"}]
    done = ran(["echo never"], None, {"site": str(site)}, extras={"storages": storages})
    assert (done.code, done.log("stdout"), done.order) == (1, "", ["start storages 1"])
    assert f"the storage {tmp_path}/here is not at /mnt/not-here on localhost" in done.log("runtime")


EXTRAS = "extras: {slurm: {preflight: {check: [disk, clock], command: COMMAND, pairs: 'exit 1'}}}\n"


@pytest.mark.usefixtures("profile")
@pytest.mark.parametrize(
    ("command", "reason"),
    [("test -e job.yaml", ""), ("echo broken; exit 9", "the preflight fails on the only node")],
)
def test_preflight_of_one_node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str, reason: str) -> None:
    """The commands run in the submit folder; a node has no pairs with itself. Nothing is left in /dev/shm."""
    monkeypatch.chdir(tmp_path)
    file = job_file(tmp_path, JOB + EXTRAS.replace("COMMAND", f"'{command}'"))
    done = run_here(file)
    assert (done.code == 0) == (not reason), done.view
    assert reason in (done.view.reason or "")
    why = str(done.view.failure)
    assert ("node localhost: the preflight command ended with status 9: broken" in why) == bool(reason), why
