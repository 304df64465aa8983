"""Where tasks are, the ways to their ports, and what they use: which step of sstat is whose, and what is shown."""

from __future__ import annotations

import signal
import socket
import subprocess
import urllib.request
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from msgspec.structs import replace

from paislurm.backends.runner import Completed, missing
from paislurm.translator.app.task_facts import RunningRole, usages_of_steps
from paislurm.translator.state.kept_plan import KeptResources
from paislurm.translator.times import aware
from paislurm.translator.view.task import TaskView
from tests.children import child
from tests.cluster.processes import wait_until

from ...cli.running import PROGRAM, job_file, paislurm, program
from ...monitor.jobs import NOW
from ...protocol.jobs import HEAD
from ..asked import Asked

SERVING = (
    HEAD
    + """\
taskRoles:
  web:
    instances: 2
    dockerImage: image
    resourcePerInstance: {cpu: 1, memoryMB: 64, gpu: 0, ports: {jupyterLab: 1, http: 2}}
    commands:
      - python3 -m http.server $PAI_CURRENT_CONTAINER_PORT --bind 127.0.0.1
  other:
    instances: 1
    dockerImage: image
    resourcePerInstance: {cpu: 1, memoryMB: 64, gpu: 0}
    commands: [sleep 600]
extras:
  com.microsoft.pai.runtimeplugin:
    - plugin: tensorboard
      parameters: {port: 6161, logdir: {all: /tmp}}
"""
)


@pytest.fixture
def tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Give nodes a TensorBoard, which is a script."""
    program(tmp_path / "tools" / "tensorboard", "[[ $1 == --version ]] && echo 2.1 || exec sleep 600")
    monkeypatch.setenv("PATH", f"{tmp_path}/tools", prepend=":")


@pytest.fixture
def running(tmp_path: Path, tools: None) -> Iterator[None]:  # noqa: ARG001 - TensorBoard must be there
    asked = Asked()
    assert asked.jobs.submit(job_file(tmp_path, SERVING), backend="local").code == 0
    wait_until(lambda: {task.state for task in asked.jobs.status("demo").one.tasks} == {"RUNNING"}, "all to run")
    yield
    asked.jobs.cancel("demo")


@pytest.mark.usefixtures("running")
def test_where_shows_current_and_earlier_nodes_of_tasks(asked: Asked) -> None:
    known = asked.jobs.status("demo").document[0]
    first, second, other = known["tasks"]
    assert [list(task["ports_by_label"]) for task in (first, other)] == [["jupyterLab", "http", "ssh"], ["ssh", "http"]]
    assert (first["node"], first["node_address"], len(first["ports_by_label"]["http"])) == ("localhost", "127.0.0.1", 2)
    ports = [port for task in known["tasks"] for each in task["ports_by_label"].values() for port in each]
    assert len(set(ports)) == len(ports) == 10
    jupyter, http = second["ports_by_label"]["jupyterLab"][0], second["ports_by_label"]["http"][0]
    pages = [(page["title"], page["task"], page["url"]) for page in known["pages"]]
    assert [pages[0], *pages[3:]] == [
        ("TensorBoard", "web-0", "http://127.0.0.1:6161"),
        ("Jupyter", "web-1", f"http://127.0.0.1:{jupyter}"),
        ("HTTP", "web-1", f"http://127.0.0.1:{http}"),
    ]
    shown = paislurm("status", "demo").stdout
    for line in (
        "TensorBoard: http://127.0.0.1:6161 (web-0)",
        "... and 1 more page: --ports shows all",
        f"web-1    localhost  127.0.0.1  jupyterLab {jupyter}, http {http}",
    ):
        assert line in shown
    asked.jobs.cancel("demo")
    later = asked.jobs.wait("demo").document[0]
    kept, before = (
        [(task["role"], task["node_address"], task["ports_by_label"]) for task in found["tasks"]]
        for found in (later, known)
    )
    assert (later["pages"], kept) == ([], before)
    # The result alone has them once the files of nodes are gone.
    for log in Path(later["folder"]).glob("attempts/0/tasks/*.log"):
        log.unlink()
    now = asked.jobs.status("demo").document[0]["tasks"]
    assert [task["ports_by_label"] for task in now] == [each for _, _, each in kept]
    assert "127.0.0.1" not in paislurm("status", "demo").stdout
    assert f"jupyterLab {jupyter}" in paislurm("status", "demo", "--ports").stdout


@pytest.mark.usefixtures("tools")
def test_follow_prints_the_urls_of_the_job(tmp_path: Path) -> None:
    text = SERVING.replace("python3 -m http.server", "true").replace("sleep 600", "sleep 3")
    done = paislurm("submit", job_file(tmp_path, text), "--backend", "local", "--follow")
    assert (done.returncode, done.stderr.count("TensorBoard: http://127.0.0.1:6161 (web-0)\n")) == (0, 1), done.stderr


def test_the_only_port_of_the_only_task_needs_no_name(asked: Asked, tmp_path: Path) -> None:
    text = SERVING[: SERVING.index("  other:")].replace("instances: 2", "instances: 1")
    one = job_file(tmp_path, text.replace(", http: 2", "").replace("name: demo", "name: one"))
    assert asked.jobs.submit(one, backend="local").code == 0
    wait_until(lambda: asked.jobs.status("one").one.state == "RUNNING", "it to run")
    port = asked.jobs.status("one").one.tasks[0].ports_by_label["jupyterLab"][0]
    assert asked.tasks.port_forward("one").value.port == port
    asked.jobs.cancel("one")


@pytest.mark.usefixtures("running")
def test_calls_that_name_no_port_are_refused_with_the_choice(asked: Asked) -> None:
    for words, status, *says in (
        ("", 2, "~demo has 3 tasks: choose one of web-0 to web-1, other"),
        ("web-0", 2, "web-0 has several ports: choose one of jupyterLab, http, tensorboard"),
        ("web http", 2, ""),
        ("web-0 nope", 5, "error E567", "give any other port as a number"),
        ("web-0 99999", 5, "error E567: `99999` is not a port: ports are 1 to 65535", "hint: task web-0 has "),
        ("web-9 http", 5, "error E521"),
    ):
        asked.tasks.port_forward("demo", *words.split()).ends(status, *says)
    asked.tasks.port_forward("demo", "web-0", "http", login="-oProxyCommand=x").ends(2, "error E505")
    asked.jobs.cancel("demo")
    asked.jobs.wait("demo")
    asked.tasks.port_forward("demo", "web-0", "http").ends(5, "error E565")


@pytest.mark.usefixtures("running")
def test_port_forward_prints_the_ssh_command(asked: Asked) -> None:
    http = asked.jobs.status("demo").one.tasks[1].ports_by_label["http"][0]
    done = paislurm("port-forward", "demo", "web-1", "http", "--login", "alice@login.example.org:2222")
    line = (
        "ssh -N -o UpdateHostKeys=no -o ExitOnForwardFailure=yes -L {0}:127.0.0.1:{0} -p 2222 alice@login.example.org\n"
    )
    assert (done.returncode, done.stdout) == (0, line.format(http))
    assert f"open http://localhost:{http}" in done.stderr
    known = asked.tasks.port_forward("demo", "other", "99", local_port=8888, login="login1").value
    by_node = ("-o", "UpdateHostKeys=no", "-J", "login1", "-L", "8888:localhost:99", "localhost")
    assert (known.argv[-2:], known.argv_by_node[2:]) == (("8888:127.0.0.1:99", "login1"), by_node)
    assert asked.tasks.port_forward("demo", "web-0", "tensorboard").value.port == 6161
    assert asked.tasks.port_forward("demo", "web-0", "http").value.login.endswith(f"@{socket.getfqdn()}")


@pytest.mark.usefixtures("running")
def test_an_address_written_by_a_job_is_never_an_ssh_option(asked: Asked) -> None:
    (log,) = Path(asked.jobs.status("demo").one.folder).glob("attempts/0/tasks/*.log")
    text = log.read_text(encoding="utf-8")
    start = next(line for line in text.splitlines() if line.startswith("start 0 0 "))
    words = start.split()
    words[5] = "-oProxyCommand=x"
    log.write_text(text.replace(start, " ".join(words)), encoding="utf-8")
    known = asked.tasks.port_forward("demo", "web-0", "http", login="login1").value
    assert (known.node, known.node_address, known.argv_by_node[-1]) == ("127.0.0.1",) * 3
    shown = paislurm("port-forward", "demo", "web-0", "http", "--login", "login1")
    assert (shown.returncode, "ProxyCommand" in shown.stdout + shown.stderr) == (0, False)


@pytest.mark.usefixtures("running")
def test_a_port_is_forwarded_to_this_machine(asked: Asked) -> None:
    port = asked.jobs.status("demo").one.tasks[0].ports_by_label["http"][0]
    with socket.create_server(("127.0.0.1", 0)) as taken:
        number = taken.getsockname()[1]
        words = ("port-forward", "demo", "web-0", str(port), "--run", "--local-port", str(number))
        refused = paislurm(*words)
        assert (refused.returncode, "error E568" in refused.stderr) == (2, True)
    with child([*PROGRAM, *words], stderr=subprocess.PIPE, text=True) as forwarder:
        assert forwarder.stderr.readline().startswith(f"open http://localhost:{number}")
        wait_until(lambda: answers(port), "the task to serve")
        with urllib.request.urlopen(f"http://127.0.0.1:{number}/", timeout=20) as page:
            assert b"Directory listing" in page.read()
        asked.jobs.cancel("demo")
        wait_until(lambda: not answers(port), "the task to end")
        with socket.create_connection(("127.0.0.1", number), timeout=20) as caller:
            assert caller.recv(1) == b""
        assert f"127.0.0.1:{port} does not answer" in forwarder.stderr.readline()
        forwarder.send_signal(signal.SIGINT)
        assert forwarder.wait(20) == 0


def answers(port: int) -> bool:
    with socket.socket() as caller:
        return caller.connect_ex(("127.0.0.1", port)) == 0


LINES = "7.batch|1|00:00:00|9|9|\n7.3|2|00:00:30|10485760|20971520|\n8.0|1|00:00:10|1048576|1048576|gres/gpuutil=40\n"


@dataclass
class Said:
    """Answers every program with the same text, and remembers what was asked."""

    text: str
    asked: list[list[str]] = field(default_factory=list)

    def run(self, argv: Sequence[str], **_: object) -> Completed:
        self.asked.append(list(argv))
        if self.text == "missing":
            raise missing(argv)
        return Completed(status=0, stdout=self.text, stderr="")


def running_role(name: str, count: int, step: int, component: int | None, ago: int = 60) -> RunningRole:
    tasks = [
        TaskView(role=name, index=index, task_attempt=0, state="RUNNING", node="n1", started_at=aware(NOW - ago))
        for index in range(count)
    ]
    return RunningRole(name=name, component=component, step=step, tasks=tasks, requested=KeptResources(cpus=4))


WORKER, PS = running_role("worker", 2, 3, 0), running_role("ps", 1, 0, 1, ago=10)


def test_sstat_queries_each_component_separately() -> None:
    said = Said(LINES)
    worker, ps = usages_of_steps(said, 7, [WORKER, PS], NOW)
    assert ["--jobs=7,8" in asked for asked in said.asked] == [True]
    assert (worker.running_tasks, worker.requested_cpus) == (2, 4)
    assert (worker.cpus_busy, worker.used_memory_mib, worker.max_memory_mib) == (0.5, 10, 20)
    assert (ps.cpus_busy, ps.gpu_percent, ps.gpu_memory_mib) == (1.0, 40, None)


def test_ranks_are_summed_up_per_task() -> None:
    (found,) = usages_of_steps(Said(LINES), 7, [running_role("worker", 1, 3, None)], NOW)
    assert (found.cpus_busy, found.used_memory_mib, found.max_memory_mib) == (1.0, 20, 20)


@pytest.mark.parametrize("text", ["", "7.3|2|00:00:30|0|0|\n", LINES.replace("8.0", "9.0")])
def test_without_sstat_data_no_usage_is_returned(text: str) -> None:
    assert usages_of_steps(Said(text), 7, [WORKER, PS], NOW) == ()


def test_roles_in_one_step_have_no_separate_usage() -> None:
    said = Said(LINES)
    assert usages_of_steps(said, 7, [replace(WORKER, component=None), replace(PS, component=None, step=3)], NOW) == ()
    assert said.asked == []
