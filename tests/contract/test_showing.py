"""A job of two roles, one of which failed and is retried, as its user looks at it: the screen, the report, its port."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

from tests.cluster.instance import host_name
from tests.cluster.jobs import role
from tests.cluster.processes import wait_until
from tests.contract.showing import FORWARD, LISTED, SERVES, words_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.cluster.tmux import Tmux
    from tests.contract.site import Site

# Slurm looks every 5 s, at most, at what tasks use.
FAILS = "{ sleep 6; echo CUDA out of memory >&2; exit 3; }"
TRAINS = f'echo epoch 1; [ "$FC_FRAMEWORK_ATTEMPT_ID" = 1 ] || {FAILS}; exec sleep 600'
ROLES = role("web", 2, SERVES) + role("trainer", 1, TRAINS)
WHY = "task trainer-0 failed with status 3"


def test_watch_shows_a_retried_job_and_its_tasks(site: Site, folder: Path, window: Callable[..., Tmux]) -> None:
    job = site.submit(folder, ROLES, retries=1)
    env = {**job.env, "TERM": "tmux-256color"}
    screen = window(80, 24, *site.command(["paislurm", "watch", job.name], cwd=job.folder, env=env))
    wait_until(lambda: job.status()["attempt"] == 1, "the retry to be submitted")
    screen.see("attempt 2  submitted")
    pane = screen.see("r 3 running")
    assert (len(pane), max(map(len, pane)) <= 80) == (24, True)
    assert pane[0] == job.name
    assert pane[1].startswith(f"RUNNING  job {job.number}  attempt 2  submitted ")
    assert pane[2].startswith(f"attempt 1 ended: {WHY}")
    assert [line for line in pane if line.startswith(("web-0 ", "trainer-0 "))] == ["web-0      rr", "trainer-0  r"]
    screen.press("Down")
    screen.see("trainer-0 r RUNNING")
    tasks = {f"{task['role']}-{task['index']}": task for task in job.status()["tasks"]}
    trainer = tasks["trainer-0"]
    screen.see("epoch 1")
    screen.press("s")
    screen.see(f"@{host_name(trainer['node'])}")
    screen.press(f"[ $SLURMD_NODENAME = {trainer['node']} ] && exit", "Enter")
    screen.see("the shell in trainer-0 exited with 0")
    screen.press("?")
    screen.see("marks: X failed")
    screen.press("x", "Escape")
    screen.see("web-0      rr")

    used = json.loads(job.paislurm("status", "--usage", "--json", job.name).stdout)["usages"]
    assert {usage["role"] for usage in used} in ({"web", "trainer"}, set())
    once = job.paislurm("watch", "--once", job.name).stdout
    assert re.search(r"submitted \S+ ago  ran 00:\d\d:\d\d( of [\d:-]+)?\n", once), once
    if used:
        assert re.search(r"average usage of a task: web ([\d.]+ CPUs, )?\d+ MiB of memory", once), once
    assert "── web-0 r RUNNING, stdout" in once
    port = str(tasks["web-1"]["ports_by_label"]["ssh"][0])
    done = site.run("bash", "-c", FORWARD, "forward", job.name, "web-1", port, cwd=job.folder, env=job.env)
    assert LISTED in done.stdout, done.stdout + done.stderr

    made = job.paislurm("report", job.name, "-o", "page.html")
    assert made.returncode == 0, made.stderr
    words = words_of(job.folder / "page.html")
    for said in ("web 2 running", "trainer 1 running", "Attempt 1", "Attempt 2", WHY, "Retry 1 of 1"):
        assert said in words
    assert f"{tasks['web-1']['node']} {tasks['web-1']['node_address']}" in words
    assert "trainer-0 stderr, attempt 1 CUDA out of memory" in words
    assert re.search(
        r"trainer 1 failed Average use of a task, from Slurm.s accounting: ([\d.]+ CPUs, )?\d+ MiB of memory", words
    )

    screen.press("c", "y")
    screen.see("STOPPED (")
    screen.press("q")
    assert any(f"{job.name} STOPPED" in line for line in screen.see("left with 0"))
