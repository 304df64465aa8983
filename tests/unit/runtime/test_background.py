"""Processes that successful commands leave in the background keep the task running, as with OpenPAI's runtime.

The expectations are what OpenPAI's own scripts do with the same commands.
"""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paislurm.translator.app.what_if.completion_model import Decision, Exit, RoleModel, decide
from tests import bashes
from tests.cluster.processes import wait_until

from .bash import sourced
from .supervision_cases import BATCH, MADE, START, Case, run

PYTHON = """python3 -c 'import os, subprocess, sys
{}
'"""
DAEMON = 'if os.fork(): os._exit(0)\nos.setsid()\n{}\nos.execlp("cat", "cat", "gate")'
POPEN = 'subprocess.Popen(["cat", "gate"]{})'
TO_NULL = ", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL"
HELD = {
    "last": "cat gate &",
    "before others": "cat gate &\necho trained",
    "output to /dev/null": "cat gate </dev/null >/dev/null 2>&1 &",
    "nohup": "nohup cat gate >server.log 2>&1 &",
    "setsid": "setsid cat gate &",
    "disowned": "cat gate & disown",
    "of a subshell": "(cat gate &)",
    "exit 0": "cat gate & exit 0",
    "exec": "cat gate & exec true",
    "fails later": "(cat gate; exit 9) &",
    "output of bash": "exec > >(cat gate)\necho trained",
    "Popen": PYTHON.format(POPEN.format("")),
    "Popen that closes nothing": PYTHON.format(POPEN.format(f"{TO_NULL}, close_fds=False")),
    "daemon(3)": PYTHON.format(
        DAEMON.format('null = os.open("/dev/null", os.O_RDWR)\nfor each in range(3): os.dup2(null, each)')
    ),
}
FREE = {
    "nothing": ("echo trained", 0),
    "awaited": ("true & wait", 0),
    "failed": ("cat gate &\nfalse", 1),
    "exit 3": ("cat gate & exit 3", 3),
    "Popen with output to /dev/null": (PYTHON.format(POPEN.format(TO_NULL)), 0),
    "daemon that closes its descriptors": (PYTHON.format(DAEMON.format("os.closerange(0, 256)")), 0),
}
RUN = """
PSL_ROLE=0 PSL_SLOT=0 PSL_STDOUT_LOG=out PSL_STDERR_LOG=err PSL_END_LOG=end PSL_ATTEMPT_FOLDER=.
PSL_ROLE_FOLDER=(w) PSL_SHELL_OPTIONS=('-e -u -o pipefail') PSL_REPORT_FILE=reports PSL_NODE_FOLDER=/nowhere
exec {PSL_REPORT_FD}>/dev/null && outlive_signals && open_control_fifo 0.0
run_commands 0 0; exit "$?"
"""


@contextmanager
def running(folder: Path, commands: str, bash: tuple[str, ...] = ("bash",)) -> Iterator[subprocess.Popen[bytes]]:
    """Run commands as those of a task; `cat gate` ends with the block."""
    (folder / "commands").mkdir()
    (folder / "commands" / "w.sh").write_text(commands)
    os.mkfifo(folder / "gate")
    task = subprocess.Popen([*bash, "-c", f"set -u\n{sourced()}\n{RUN}"], cwd=folder, stdin=subprocess.DEVNULL)
    gate = os.open(folder / "gate", os.O_RDWR)
    try:
        yield task
    finally:
        os.close(gate)
        wait_until(lambda: task.poll() is not None or let_through(folder / "gate"), "the task to end", 30)


def let_through(gate: Path) -> None:
    """Open and close a gate for a process that has opened it only now: it would wait for somebody who writes."""
    with suppress(OSError):
        os.close(os.open(gate, os.O_WRONLY | os.O_NONBLOCK))


def holders(folder: Path) -> list[str]:
    """Return the processes that the task has reported, as `PID:NAME`; wait for the report."""
    reports = folder / "reports"
    wait_until(lambda: reports.exists() and reports.read_text().endswith("\n"), "the report", 30)
    words = reports.read_text().split()
    assert words[:5] == ["background", "0", "0", "0", "0"]
    return words[6:]


@pytest.mark.parametrize("commands", HELD.values(), ids=HELD)
def test_a_background_process_keeps_a_successful_task(tmp_path: Path, commands: str) -> None:
    with running(tmp_path, commands) as task:
        assert holders(tmp_path)
        assert task.poll() is None
    assert task.returncode == 0


@pytest.mark.parametrize(("commands", "status"), FREE.values(), ids=FREE)
def test_a_task_ends_that_failed_or_that_nothing_holds(tmp_path: Path, commands: str, status: int) -> None:
    with running(tmp_path, commands) as task:
        assert task.wait(30) == status
    assert not (tmp_path / "reports").exists()


@pytest.mark.parametrize("commands", [HELD["last"], HELD["setsid"]])
def test_term_reaches_background_processes(tmp_path: Path, commands: str) -> None:
    with running(tmp_path, commands) as task:
        assert holders(tmp_path)
        task.send_signal(signal.SIGTERM)
        assert task.wait(30) == 0


@pytest.mark.slow("each bash is made first where it is missing")
@pytest.mark.parametrize("bash", bashes.BASHES)
def test_every_bash_waits(bash: str, tmp_path: Path) -> None:
    try:
        words = tuple(bashes.find(bash))
    except bashes.NoBashError as reason:
        pytest.skip(str(reason))
    cases = ((HELD["nohup"], True), (HELD["Popen"], True), (FREE["nothing"][0], False))
    for number, (commands, held) in enumerate(cases):
        folder = tmp_path / str(number)
        folder.mkdir()
        with running(folder, commands, words) as task:
            assert holders(folder) if held else task.wait(30) == 0
        assert task.returncode == 0


@st.composite
def background_cases(draw: st.DrawFn) -> Case:
    """Tasks end at even moments, or their commands do, and background processes run on; TERM comes at an odd one."""
    roles = [
        RoleModel(
            instances=draw(st.integers(1, 3)),
            min_failed=draw(st.sampled_from([-1, 1, 2])),
            min_succeeded=draw(st.sampled_from([-1, 1, 2, 3])),
        )
        for _ in range(draw(st.integers(1, 3)))
    ]
    case = Case(roles=roles, lines=[], term=START + 1 + 2 * draw(st.integers(0, 5)))
    for position, role in enumerate(roles):
        for index in range(role.instances):
            task, time = f"{position} {index} {index} 0", START + 2 * draw(st.integers(1, 4))
            case.lines.append(f"at {START} start {task} n1 1 {START}")
            end = draw(st.sampled_from([(0, 0, "success"), (3, 255, "unknown"), None]))
            if end is None:
                case.lines.append(f"at {time} background {task} {time} 17:cat")
                exits = START + 99
                if draw(st.booleans()) and time < case.term:
                    # Slurm has told the task first, and the process may have ended by that.
                    exits = draw(st.sampled_from([exits, case.term - 1]))
                    case.lines.append(f"at {case.term - 1} term {task}")
                case.lines.append(f"at {exits} exit {task} 0 0 success {exits}")
                settled = exits if time >= case.term else min(exits, case.term)
                case.exits.append(Exit(settled, position, index, 0, 0, "success"))
            else:
                case.lines.append(f"at {time} exit {task} {end[0]} {end[1]} {end[2]} {time}")
                case.exits.append(Exit(time, position, index, *end))
    return case


@settings(MADE, max_examples=8)
@given(st.lists(background_cases(), min_size=BATCH, max_size=BATCH))
def test_an_end_from_outside_does_not_change_a_settled_result(cases: list[Case]) -> None:
    """Until then such a task runs for the policy; then it has succeeded, and completes the job where that suffices."""
    run(cases)
    for case in cases:
        assert case.term is not None
        before = [each for each in case.exits if each.time < case.term]
        settled = [each for each in case.exits if each.time <= case.term]
        expected = decide(case.roles, before) or decide(case.roles, settled) or Decision("interrupted", -210, "stop")
        assert case.outcome() == expected, case.text()
        for each in [each for each in settled if each.time == case.term]:
            assert case.states()[f"{each.role}.{each.index}"][0] in ("succeeded", "ended")
