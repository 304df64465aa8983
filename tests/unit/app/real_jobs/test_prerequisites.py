"""Scripts of prerequisites around the commands, seen from the running task: real jobs on this machine."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cluster.processes import wait_until

from ...cli.running import job_file
from ...protocol.jobs import JOB, changed
from ..asked import Asked
from ..ran import PREFIX, Ran, plugins, script


def test_prerequisites_run_in_order_and_pass_on_exports(ran: Callable[..., Ran]) -> None:
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
    assert done.code == 0, done.view
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
    (role,) = json.loads((done.folder / "plan.json").read_text())["roles"]
    assert [step["name"] for step in role["before"]] == ["c", "b", "a", "cmd"]
    assert [(step["phase"], step["name"]) for step in role["after"]] == [
        ("success", "cmd"),
        ("success", "a"),
        ("exit", "b"),
    ]


def test_a_failing_start_fails_the_task_with_its_status(ran: Callable[..., Ran], asked: Asked) -> None:
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
    assert asked.logs.read("demo", stream="runtime").value["worker-0"].splitlines() == ["b", "end", "b end"]
    (task,) = done.result["tasks"]
    assert (task["exit_status"], task["exit_code"], task["state"]) == (1, 255, "FAILED")
    (shown,) = asked.jobs.status("demo").document[0]["tasks"]
    assert [(each["phase"], each["name"], each["exit_status"], each["task_attempt"]) for each in shown["scripts"]] == [
        ("start", "b", 0, 0),
        ("start", "a", 1, 0),
        ("exit", "a", 1, 0),
        ("exit", "b", 0, 0),
    ]
    assert all(
        shown["started_at"] <= each["started_at"] <= each["ended_at"] <= shown["ended_at"] for each in shown["scripts"]
    )
    assert "error: a failed with status 1 (start)" in done.log("stderr")


def shows(name: str) -> tuple[str, str]:
    return "containerExit", f"echo {name} $PAISLURM_EXIT_STATUS"


NEVER = ("taskSucceeds", "echo never")
ALERT = ("taskFails", "echo alert $PAISLURM_EXIT_STATUS; exit 4; echo never")
ENDS = {
    # An alert and an upload of logs: OpenPAI's issue 5145 wants both after a failure. They cannot change the status.
    "commands fail": (
        ["test -z ${PAISLURM_EXIT_STATUS-}", "exit 9"],
        [script("a", NEVER, ALERT, shows("a")), script("b", ("taskFails", "echo upload"), shows("b"))],
        ["commands - 9", "failure b 0", "failure a 4", "exit b 0", "exit a 0"],
        "upload\nalert 9\nb 9\na 9\n",
        "a ended with status 4 (failure), which has no effect",
    ),
    "success fails": (
        ["true"],
        [script("a", ("taskSucceeds", "exit 6")), script("b", ("taskSucceeds", "true"), ALERT)],
        ["commands - 0", "success b 0", "success a 6", "failure b 4"],
        "alert 6\n",
        "",
    ),
    "start fails": (
        ["echo never"], [script("a", ("taskStarts", "exit 3"), ALERT)], ["start a 3", "failure a 4"], "alert 3\n", "",
    ),
    "all succeed": (["true"], [script("a", ALERT, shows("a"))], ["commands - 0", "exit a 0"], "a 0\n", ""),
    "exit scripts come last": (
        ["true"],
        [script("a", ("taskSucceeds", "exit 7"), shows("a")), script("b", ("taskSucceeds", "true"), shows("b"))],
        ["commands - 0", "success b 0", "success a 7", "exit b 0", "exit a 0"],
        "b 7\na 7\n",
        "",
    ),
    "exit scripts fail": (
        ["true"],
        [
            script("a", NEVER, ("containerExit", "exit 4")),
            script("b", ("taskSucceeds", "echo out of memory; exit 6"), ("containerExit", "exit 5")),
        ],
        ["commands - 0", "success b 6", "exit b 5", "exit a 4"],
        "out of memory\n",
        "b ended with status 5 (exit), which has no effect",
    ),
    "ignored failures": (
        ["exit 9"],
        [script("a", ("taskStarts", "false; export X=1; false"), NEVER, shows("$X"), failurePolicy="ignore")],
        ["start a 0", "commands - 9", "exit a 0"],
        "1 9\n",
        "",
    ),
}  # fmt: skip
"""Commands, scripts of prerequisites, the order in which they end with their statuses, what they print, and a warning.
The first status that is not 0 is the task's."""


@pytest.mark.parametrize(("commands", "scripts", "order", "printed", "warning"), ENDS.values(), ids=ENDS)
def test_scripts_after_the_commands(
    ran: Callable[..., Ran],
    commands: list[str],
    scripts: list[dict[str, Any]],
    order: list[str],
    printed: str,
    warning: str,
) -> None:
    done = ran(commands, scripts, taskRoles__worker__prerequisites=[each["name"] for each in scripts])
    assert (done.order, done.log("runtime"), done.log("stdout")) == (order, printed, "")
    status = next((int(line.split()[-1]) for line in order if not line.endswith(" 0")), 0)
    assert (done.code, done.result["tasks"][0]["exit_status"]) == (int(status > 0), status)
    assert warning in done.log("stderr")


@pytest.mark.parametrize(
    ("commands", "status"),
    [("false", 0), ("echo x; exit 7", 7), ("exit 0", 0), ("exec false", 1), ("set -e; false", 1)],
)
@pytest.mark.parametrize("event", ["taskStarts", "taskSucceeds"])
def test_with_the_policy_ignore_only_an_exit_fails_the_task(
    ran: Callable[..., Ran], event: str, commands: str, status: int
) -> None:
    """As openpai-runtime's script of the plugin does: it ends with `set -o errexit`, whose status is 0."""
    done = ran(
        ["true"], [script("a", (event, commands), failurePolicy="ignore")], taskRoles__worker__prerequisites=["a"]
    )
    assert (done.code, done.result["tasks"][0]["exit_status"]) == (int(status > 0), status)


def test_hooks_and_commands_get_variables_that_bash_cannot_set(ran: Callable[..., Ran]) -> None:
    done = ran(
        ["env | grep ^spark"],
        [script("a", ("taskStarts", "env | grep ^spark"), ("containerExit", "env | grep ^spark"))],
        taskRoles__worker__prerequisites=["a"],
        extras={"slurm": {"v1": {"jobEnvs": {"spark.x": "a  'b'"}}}},
    )
    assert (done.log("stdout"), done.log("runtime")) == ("spark.x=a  'b'\n", "spark.x=a  'b'\n" * 2)


def test_a_stopped_task_runs_its_exit_scripts(asked: Asked, tmp_path: Path, surroundings: Path) -> None:
    """The command ends well after TERM, but it was stopped, so nothing has succeeded; TERM comes more than once."""
    again = "read -r _ _ _ task _ </proc/$PPID/stat; kill -TERM $task"
    job = changed(JOB, "taskRoles/worker/commands", ["trap 'exit 0' TERM; touch ready; sleep 60 & wait"])
    job["prerequisites"].append(
        script(
            "a",
            ("taskSucceeds", "echo never"),
            ("taskFails", "echo never"),
            ("containerExit", f"{again}; sleep 0.2; echo end"),
        )
    )
    job = changed(job, "taskRoles/worker/prerequisites", ["a"])
    assert asked.jobs.submit(job_file(tmp_path, yaml.safe_dump(job)), backend="local").code == 0
    folder = next(surroundings.glob("*~demo"))
    ready = folder / "attempts" / "0" / "work" / "0-worker" / "0" / "ready"
    wait_until(ready.exists, "the command to run")
    asked.jobs.cancel("demo")
    done = Ran(asked.jobs.wait("demo").one, folder)
    assert (done.code, done.log("runtime")) == (1, "end\n")
    assert done.order == ["commands - 0", "exit a 0"]


def test_prerequisites_use_their_parameters_and_those_of_the_role(ran: Callable[..., Ran]) -> None:
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
