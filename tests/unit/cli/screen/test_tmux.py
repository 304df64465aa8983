"""The screen as a person has it: a job that runs on this machine, looked at in tmux in two sizes."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from paislurm.translator.app.session import user_name
from tests.cluster.processes import wait_until
from tests.cluster.tmux import Tmux, windows

from ..running import job_file

pytestmark = pytest.mark.slow("a job of twelve tasks, and a terminal for each size")

PROGRAM = (sys.executable, "-m", "paislurm.translator.cli.start")
WORKERS = 11
JOB = """\
protocolVersion: 2
name: training
type: job
prerequisites:
  - {{protocolVersion: 2, name: image, type: dockerimage, uri: debian}}
taskRoles:
  worker:
    instances: {workers}
    completion: {{minFailedInstances: -1, minSucceededInstances: -1}}
    dockerImage: image
    resourcePerInstance: {{cpu: 1, memoryMB: 64, gpu: 0, ports: {{http: 1}}}}
    commands:
      - echo "epoch 1 of $PAI_CURRENT_TASK_ROLE_CURRENT_TASK_INDEX"
      - if [ $PAI_CURRENT_TASK_ROLE_CURRENT_TASK_INDEX = 7 ]; then echo "CUDA out of memory" >&2; exit 3; fi
      - if [ $PAI_CURRENT_TASK_ROLE_CURRENT_TASK_INDEX = 2 ]; then exit 0; fi
      - exec sleep 600
  ps:
    instances: 1
    completion: {{minFailedInstances: 1, minSucceededInstances: -1}}
    dockerImage: image
    resourcePerInstance: {{cpu: 1, memoryMB: 64, gpu: 0}}
    commands: [exec sleep 600]
"""


@pytest.fixture
def training(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Run a job, in which a task fails."""
    monkeypatch.setenv("LC_ALL", "C.UTF-8")
    monkeypatch.setenv("COLUMNS", "40")  # the window's own size counts
    file = job_file(tmp_path, JOB.format(workers=WORKERS))
    subprocess.run([*PROGRAM, "submit", "--backend", "local", file], check=True, capture_output=True, timeout=60)
    yield
    subprocess.run([*PROGRAM, "cancel", "*"], check=False, capture_output=True, timeout=60)


@pytest.fixture
def tmux(tmp_path: Path) -> Iterator[Callable[..., Tmux]]:
    """Return what opens a window."""
    yield from windows(tmp_path)


def steps(window: Tmux, *each: tuple[str, ...]) -> list[str]:
    """Press keys, of each step all but the last word, which is what is then seen; return what is seen at the end."""
    for *keys, seen in each:
        window.press(*keys)
        pane = window.see(seen)
    return pane


@pytest.mark.usefixtures("training")
def test_keys_navigate_a_job_and_open_a_shell(tmux: Callable[..., Tmux]) -> None:
    window = tmux(80, 24, *PROGRAM, "watch")
    window.see("> r training")
    steps(window, ("Enter", "worker-7 X FAILED, stderr"), ("Right", "worker-8 r RUNNING"))
    window.see("epoch 1 of 8")
    window.resize(160, 50)
    wait_until(lambda: len(window.pane()) == 50 and "q quit" in window.pane()[-1], "the screen to have the new size")
    steps(
        window,
        ("s", "work/0-worker/8"),
        ("echo in $PAI_CURRENT_TASK_ROLE_CURRENT_TASK_INDEX; exit", "Enter", "the shell in worker-8 exited with 0"),
        ("Escape", "c", "cancel training? y: yes, any other key: no"),
        ("x", "not cancelled"),
        ("c", "y", "training  STOPPED"),
    )
    window.press("q")
    pane = window.see("left with 0")
    assert any(line.startswith(f"{user_name()}~training STOPPED") for line in pane)
    assert not any("q quit" in line for line in pane)


@pytest.mark.usefixtures("training")
def test_a_group_can_be_opened_and_cancelled(tmux: Callable[..., Tmux], tmp_path: Path) -> None:
    text = JOB.format(workers=1).replace("name: training", "name: swept\nparameters: {lr: 1}")
    sweep = ("submit", "--backend", "local", job_file(tmp_path, text, name="swept.yaml"), "--sweep", "lr=1,2")
    subprocess.run([*PROGRAM, *sweep], check=True, capture_output=True, timeout=60)
    window = tmux(160, 24, *PROGRAM, "watch")
    pane = window.see("3 jobs   r 3 running")
    assert any(line.split()[-3:] == ["-", "2", "running"] for line in pane if " group swept " in line)
    filtered = ("Escape", "/", "swept", "Enter", "only: swept")
    pane = steps(window, ("/", "group", "Enter", "no matching job"), filtered)
    assert sorted(line[4:13] for line in pane[2:4]) == ["swept-lr1", "swept-lr2"]
    cancelled = ("c", "y", "- group swept")
    pane = steps(window, ("Escape", "Home", "> r group swept"), cancelled, ("Enter", "cancelled by "))
    assert pane[0].startswith("2 jobs   - 2 stopped")
    steps(window, ("Escape", "3 jobs"))
