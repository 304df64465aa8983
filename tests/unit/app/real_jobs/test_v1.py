"""Job files of protocol v1, seen from the running task: real jobs on this machine."""

from __future__ import annotations

import getpass
import json
import os
import re
import socket
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ...cli.running import job_file, program
from ...protocol.jobs_v1 import JOB, ROLE
from ..ran import Ran, run_here

SHOW = "cd code 2>/dev/null; false; echo $NOTHING; ls missing 2>/dev/null | true; env -0 >env; echo end"


@pytest.fixture
def ran(tmp_path: Path) -> Callable[..., Ran]:
    def submit(roles: list[dict[str, Any]], site: str = "", **more: object) -> Ran:
        text = json.dumps({**JOB, "taskRoles": [{**ROLE, "memoryMB": 100, **role} for role in roles], **more})
        file = job_file(tmp_path, f"// a job\n{text}", "job.json")
        return run_here(file, site=job_file(tmp_path, site, "site.yaml") if site else None)

    return submit


PAGE = Path(__file__).parents[4] / "docs/reference/variables.md"
"""The page of the variables, whose tables have a name and its value in each row."""
PLACEHOLDERS = {"<role>": r"\w+", "<label>": r"\w+", "<index>": r"\d+", "<n>": r"\d+"}


def assert_page_lists(seen: dict[str, str]) -> None:
    """Every variable that a task has is on the page, and it has every variable of the page."""
    cells = re.findall(r"^\| (`.+?) \| ", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    names = [name for cell in cells for name in re.findall(r"`([^`]+)`", cell)]
    listed = {name: re.compile(re.sub("<[a-z]+>", lambda part: PLACEHOLDERS[part[0]], name)) for name in names}
    ours = [name for name in seen if name.startswith(("PAI_", "FC_"))]
    assert [name for name in ours if not any(each.fullmatch(name) for each in listed.values())] == []
    assert [name for name, each in listed.items() if not any(map(each.fullmatch, seen))] == []


def test_a_job_of_2017_finds_its_variables(ran: Callable[..., Ran], tmp_path: Path) -> None:
    """Lists of hosts have the number of a role, and commands run in the copy of the code."""
    (tmp_path / "bench").mkdir()
    show = 'echo "$AII_TASK_ROLE_INDEX $AII_TASKS_NUM $AII_TASK_ROLE_NO $AII_DATA_DIR"\n'
    (tmp_path / "bench" / "train.sh").write_text(show)
    same = '[ "$AII_TASK_ROLE_1_HOST_LIST" = "$PAI_TASK_ROLE_worker_HOST_LIST" ] && [ "$AII_TASK_ROLE_0_HOST_LIST" ]'
    roles = [{"name": name, "taskNumber": 1, "command": f"{same} && bash train.sh"} for name in ("ps", "worker")]
    done = ran(roles, dataDir="/data", codeDir=f"{tmp_path}/bench/")
    assert [done.log("stdout", "0-ps"), done.log("stdout", "1-worker")] == ["0 2 0 /data\n", "0 2 1 /data\n"]


@pytest.fixture
def code(tmp_path: Path) -> Path:
    """A folder of code, with blanks and a quote in its path."""
    folder = tmp_path / "it's mine" / "code"
    (folder / "deep").mkdir(parents=True)
    (folder / "deep" / "train.sh").write_text("echo trained\n")
    return folder


@pytest.mark.slow("a whole job")
@pytest.mark.parametrize("form", ["{}", "file://{}", "{}/", "link"])
def test_each_task_gets_a_copy_of_the_code(ran: Callable[..., Ran], tmp_path: Path, code: Path, form: str) -> None:
    (tmp_path / "link").symlink_to(code)
    name, where = ("link", f"{tmp_path}/link") if form == "link" else ("code", form.format(code))
    command = f'bash {name}/deep/train.sh && echo "$PAI_TASK_INDEX" >>{name}/mine && cat {name}/mine'
    done = ran([{"command": command}], codeDir=where)
    assert [done.log("stdout", index=index) for index in (0, 1)] == ["trained\n0\n", "trained\n1\n"], done.view
    assert not (code / "mine").exists()


@pytest.mark.slow("a whole job, which waits")
@pytest.mark.parametrize(
    ("where", "words"),
    [("/nowhere", "is not there"), ("/", "names no folder"), ("hdfs://host:9000/code", "no hdfs command")],
)
def test_missing_code_fails_the_job(ran: Callable[..., Ran], where: str, words: str) -> None:
    done = ran([{"command": "true"}], codeDir=where)
    assert (done.code, words in (done.view.reason or ""), words in done.result["reason"]) == (1, True, True), done.view


def test_code_is_fetched_from_hdfs(
    ran: Callable[..., Ran], tmp_path: Path, code: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Stood in for: a program `hdfs` that copies."""
    program(tmp_path / "bin" / "hdfs", '[[ "$1 $2" == "dfs -get" ]] && cp -R "${3#hdfs://host:9000}" "$4"')
    monkeypatch.setenv("PATH", f"{tmp_path}/bin", prepend=":")
    done = ran([{"command": "bash code/deep/train.sh"}], codeDir=f"hdfs://host:9000{code}")
    assert (done.code, done.log("stdout")) == (0, "trained\n"), done.view


@pytest.mark.slow("whole jobs, which wait")
@pytest.mark.parametrize("form", ["{}", "file://{}"])
def test_the_default_output_folder_is_made(ran: Callable[..., Ran], tmp_path: Path, form: str) -> None:
    """One that the job names is not, and neither is what all users share."""
    (tmp_path / "fs" / "Output").mkdir(parents=True)
    site = f"defaultFileSystem: {form.format(tmp_path / 'fs')}\n"
    done = ran([{"command": 'cd "${PAI_OUTPUT_DIR#file://}" && touch "model-$PAI_TASK_INDEX"'}], site)
    assert done.code == 0, done.view
    (output,) = (tmp_path / "fs" / "Output").glob("*/demo")
    assert sorted(path.name for path in output.iterdir()) == ["model-0", "model-1"]
    assert output.stat().st_mode & 0o777 == 0o755
    assert ran([{"command": '[[ ! -e "$PAI_OUTPUT_DIR" ]]'}], site, outputDir=f"{tmp_path}/named").code == 0
    (tmp_path / "fs").rename(tmp_path / "moved")
    done = ran([{"command": "true"}], site)
    assert (done.code, (tmp_path / "fs").exists()) == (0, False), done.view
    assert f"the default outputDir {tmp_path / 'fs'}/Output/" in (done.attempt / "slurm.log").read_text()


def test_a_task_gets_the_variables_of_protocol_v1(ran: Callable[..., Ran]) -> None:
    """Every variable of protocol v1, under the names of the role and of the controller; a command without errexit."""
    with socket.socket() as free:
        free.bind(("", 0))
        fixed = free.getsockname()[1]
    ports = [{"label": "web", "beginAt": fixed, "portNumber": 1}, {"label": "a.b", "beginAt": 0, "portNumber": 2}]
    done = ran(
        [
            {"name": "ps_server", "taskNumber": 2, "command": SHOW, "minFailedTaskCount": None},
            {"name": "x.y", "taskNumber": 1, "command": SHOW, "shmMB": 70, "portList": ports},
            {"name": "..", "taskNumber": 1, "command": SHOW},
        ],
        dataDir="/data/$PAI_USERNAME/it's $HOME",
        virtualCluster="default",
        killAllOnCompletedTaskNumber=0,
        jobEnvs={"RATE": 0.1, "WORDS": "a  'b' $HOME `id`\n\"", "PAI_TASK_INDEX": 7, "COMMAND": "", "ROLE": "mine"},
    )
    assert (done.code, done.log("stdout", "0-ps_server", 1), done.log("stderr", "2-..")) == (0, "\nend\n", "")
    user = getpass.getuser()
    seen = done.environment("0-ps_server", 1)
    hosts = seen["PAI_TASK_ROLE_ps_server_HOST_LIST"]
    [address, first], [_, second] = (host.split(":") for host in hosts.split(","))
    expected = {
        "PAI_JOB_NAME": "demo",
        "PAI_KILL_ALL_ON_COMPLETED_TASK_NUM": "0",
        "PAI_USER_NAME": user,
        "PAI_USERNAME": user,
        "PAI_FRAMEWORK_NAME": f"{user}~demo",
        "PAI_DEFAULT_FS_URI": "",
        "PAI_JOB_VC_NAME": "default",
        "PAI_VIRTUAL_CLUSTER": "default",
        "PAI_DATA_DIR": f"/data/{user}/it's $HOME",
        "PAI_OUTPUT_DIR": f"/Output/{user}/demo",
        "PAI_CODE_DIR": "",
        "PAI_JOB_TASK_COUNT": "4",
        "PAI_TASKS_NUM": "4",
        "PAI_TASK_ROLE_COUNT": "3",
        "PAI_JOB_TASK_ROLE_COUNT": "3",
        "PAI_TASK_ROLES_NUM": "3",
        "PAI_TASK_ROLE_LIST": "ps_server,x.y,..",
        "PAI_JOB_TASK_ROLE_LIST": "ps_server,x.y,..",
        "PAI_TASK_ROLE_INSTANCES": "psserver:0,psserver:1,xy:0,..:0",
        "PAI_TASK_ROLE_TASK_COUNT_ps_server": "2",
        "PAI_TASK_ROLE_TASK_COUNT_xy": "1",
        "PAI_RESOURCE_ps_server": "0,1,100,64",
        "PAI_RESOURCE_xy": "0,1,100,70",
        "PAI_MIN_FAILED_TASK_COUNT_ps_server": "",
        "PAI_MIN_FAILED_TASK_COUNT_xy": "1",
        "PAI_MIN_SUCCEEDED_TASK_COUNT_ps_server": "",
        "PAI_TASK_ROLE_psserver_HOST_LIST": hosts,
        "PAI_TASK_ROLE_0_HOST_LIST": hosts,
        "PAI_HOST_IP_ps_server_1": address,
        "PAI_HOST_IP_psserver_0": address,
        "PAI_HOST_IP_xy_0": address,
        "PAI_PORT_LIST_ps_server_0_http": first,
        "PAI_PORT_LIST_psserver_1_http": second,
        "PAI_ps_server_1_http_PORT": second,
        "PAI_PORT_LIST_xy_0_web": str(fixed),
        "PAI_xy_0_web_PORT": str(fixed),
        "PAI_CURRENT_TASK_ROLE_NAME": "ps_server",
        "PAI_TASK_ROLE_NAME": "ps_server",
        "PAI_CURRENT_TASK_ROLE_TASK_COUNT": "2",
        "PAI_TASK_ROLE_NUM": "2",
        "PAI_CURRENT_TASK_ROLE_CPU_COUNT": "1",
        "PAI_TASK_CPU_NUM": "1",
        "PAI_CURRENT_TASK_ROLE_MEM_MB": "100",
        "PAI_TASK_MEM_MB": "100",
        "PAI_CURRENT_TASK_ROLE_GPU_COUNT": "0",
        "PAI_TASK_GPU_NUM": "0",
        "PAI_CURRENT_TASK_ROLE_SHM_MB": "64",
        "PAI_CURRENT_TASK_ROLE_MIN_FAILED_TASK_COUNT": "",
        "PAI_CURRENT_TASK_ROLE_MIN_SUCCEEDED_TASK_COUNT": "",
        "PAI_CURRENT_TASK_ROLE_CURRENT_TASK_INDEX": "1",
        "PAI_TASK_ROLE_INDEX": "1",
        "PAI_CONTAINER_HOST_IP": address,
        "PAI_CURRENT_CONTAINER_IP": address,
        "PAI_CONTAINER_HOST_PORT": second,
        "PAI_CURRENT_CONTAINER_PORT": second,
        "PAI_CONTAINER_SSH_PORT": seen["PAI_PORT_LIST_ps_server_1_ssh"],
        "PAI_CONTAINER_HOST_http_PORT_LIST": second,
        "PAI_CONTAINER_HOST_PORT_LIST": f"http:{second};ssh:{seen['PAI_PORT_LIST_ps_server_1_ssh']};",
        "NVIDIA_VISIBLE_DEVICES": "none",
        "FC_TASKROLE_NAME": "psserver",
        "FC_TASK_INDEX": "1",
        "FC_TASK_ATTEMPT_ID": "0",
        "FC_FRAMEWORK_ATTEMPT_ID": "0",
        # jobEnvs are literal, come last, and reach nothing but the command
        "PAI_TASK_INDEX": "7",
        "RATE": "0.1",
        "WORDS": "a  'b' $HOME `id`\n\"",
        "COMMAND": "",
        "ROLE": "mine",
    }
    assert {name: seen.get(name) for name in expected} == expected
    assert_page_lists(seen)
    dotted = done.environment("1-x.y")
    assert dotted["PAI_CURRENT_TASK_ROLE_NAME"] == "x.y"
    assert dotted["PAI_CONTAINER_HOST_web_PORT_LIST"] == str(fixed)
    assert re.fullmatch(rf"web:{fixed};a\.b:\d+,\d+;http:\d+;ssh:\d+;", dotted["PAI_CONTAINER_HOST_PORT_LIST"])
    nameless = done.environment("2-..")
    assert re.fullmatch(r"http:\d+;ssh:\d+;", nameless["PAI_CONTAINER_HOST_PORT_LIST"])
    assert nameless["PAI_TASK_ROLE_2_HOST_LIST"].endswith(":" + nameless["PAI_CONTAINER_HOST_PORT"])


NAMES_OF_BASH = """
    BASH BASHOPTS BASHPID BASH_ALIASES BASH_ARGC BASH_ARGV BASH_ARGV0 BASH_CMDS BASH_COMMAND BASH_EXECUTION_STRING
    BASH_LINENO BASH_MONOSECONDS BASH_REMATCH BASH_SOURCE BASH_SUBSHELL BASH_VERSINFO BASH_VERSION COMP_WORDBREAKS
    DIRSTACK EPOCHREALTIME EPOCHSECONDS EUID FUNCNAME GROUPS HISTCMD HOSTTYPE IFS LINENO MACHTYPE MAPFILE OPTARG OPTERR
    OPTIND OSTYPE PIPESTATUS PPID RANDOM READLINE_LINE REPLY SECONDS SHELLOPTS SHLVL SRANDOM UID _
"""
"""The variables that bash sets. Source: bash(1), Shell Variables."""


def test_programs_get_every_variable_that_they_would_get_in_a_container(ran: Callable[..., Ran]) -> None:
    """A container gives them to bash in its environment; over ssh too, those that bash cannot set."""
    odd = {"spark.executor.memory": "2g it's\n$HOME", "1a": "7", "a-b": "", ".": "7"}
    wanted = {**dict.fromkeys(NAMES_OF_BASH.split(), "7"), **odd}
    done = ran([{"taskNumber": 1, "command": "env -0 >env; ssh worker-0 env -0 >over-ssh"}], jobEnvs=wanted)
    assert done.code == 0
    direct = subprocess.run(["bash", "-c", "env -0"], env={**os.environ, **wanted}, capture_output=True, check=True)
    expected = {line for line in direct.stdout.decode().split("\0") if line.partition("=")[::2] in wanted.items()}
    unset = {f"{name}={value}" for name, value in odd.items()} | {"UID=7"}
    env, over_ssh = (set((done.work() / name).read_text().split("\0")) for name in ("env", "over-ssh"))
    assert unset <= expected <= env
    assert unset <= over_ssh


def test_a_role_named_tilde_is_not_expanded(ran: Callable[..., Ran]) -> None:
    done = ran([{"name": "~", "taskNumber": 1, "command": 'echo "$PAI_TASK_ROLE_INSTANCES"'}])
    assert (done.code, done.log("stdout", "0-_")) == (0, "~:0\n")


def test_kill_all_counts_succeeded_tasks_of_all_roles(ran: Callable[..., Ran]) -> None:
    """The tasks that succeed are of two roles; the shells wait, and are stopped."""
    done = ran(
        [
            {"name": "one", "taskNumber": 1, "command": SHOW},
            {"name": "idle", "taskNumber": 2, "command": "/bin/bash"},
            {"name": "two", "taskNumber": 1, "command": "true"},
        ],
        killAllOnCompletedTaskNumber=2,
    )
    assert (done.code, done.result["outcome"]) == (0, "succeeded")
    assert (done.result["trigger"]["completion_rule"], done.result["trigger"]["threshold"]) == ("C3", 2)
    assert "2 succeeded tasks of all roles complete the job" in done.result["reason"]
    assert done.environment("0-one")["PAI_KILL_ALL_ON_COMPLETED_TASK_NUM"] == "2"
    assert done.states == {"one-0": "SUCCEEDED", "idle-0": "STOPPED", "idle-1": "STOPPED", "two-0": "SUCCEEDED"}


def test_with_kill_all_the_first_failure_fails_the_job(ran: Callable[..., Ran]) -> None:
    done = ran(
        [{"name": "bad", "command": "exit 3"}, {"name": "idle", "command": "bash"}], killAllOnCompletedTaskNumber=2
    )
    assert (done.code, done.result["outcome"], done.result["trigger"]["completion_rule"]) == (1, "failed", "C2")


def test_an_occupied_fixed_port_ends_the_attempt(ran: Callable[..., Ran]) -> None:
    """As on OpenPAI: a transient failure, which another node may not have; this site has no patience."""
    partition = "partitions: {p: {nodes: [{count: 1, cpus: 8, memoryMB: 8000}]}}\ndefaultPartition: p\n"
    site = f"{partition}retry: {{maxTransientRetries: 0}}\n"
    with socket.socket() as taken:
        taken.bind(("", 0))
        taken.listen()
        number = taken.getsockname()[1]
        done = ran(
            [{"taskNumber": 1, "portList": [{"label": "web", "beginAt": number, "portNumber": 1}], "command": "true"}],
            site,
        )
    assert (done.code, done.result["exit_code"], done.result["behaviour"]) == (1, 253, "transient")
    assert f"port {number} of task worker-0 is taken" in done.result["reason"]
