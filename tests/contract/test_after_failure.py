"""What a task does after it failed: an alert, an upload of logs, and its place is kept for whoever debugs it."""

from __future__ import annotations

import json
import re
import time
from datetime import datetime
from typing import TYPE_CHECKING

from tests.cluster.jobs import BOTH, HEAD, job_text, role
from tests.cluster.processes import wait_until
from tests.contract.site import LONGEST

if TYPE_CHECKING:
    from pathlib import Path

    from tests.contract.site import Job, Site

HOOKS = """prerequisites:
  - {name: plain, type: dockerimage, uri: debian}
  - name: server
    type: script
    port: 8888
    callbacks:
      - {event: taskStarts, commands: [sleep 600 & echo $! >server]}
      - {event: containerExit, commands: ['kill $(<server)', 'echo stopped $PAISLURM_EXIT_STATUS']}
  - name: alert
    type: script
    require: [server]
    callbacks:
      - {event: taskFails, commands: ['echo alert $PAISLURM_EXIT_STATUS of <% this.parameters.port %>']}
"""


def submitted(site: Site, folder: Path, layout: str, held: str) -> Job:
    """Submit a job whose one task fails, while another role goes on."""
    more = "    prerequisites: [alert]\n"
    roles = role("a", 1, "exit 7", more=more) + role("b", 1, "sleep 600")
    text = job_text("failing", roles, f"{{slurm: {{layout: {layout}, isDebug: {held}}}}}")
    file = site.write(folder, "failing.yaml", text.replace(re.findall(r"prerequisites: .*\n", HEAD)[0], HOOKS))
    return site.submit(folder, "", file=file)


@BOTH
def test_failed_task_runs_its_failure_hook_and_is_held(site: Site, folder: Path, layout: str) -> None:
    job = submitted(site, folder, layout, "30")

    def held() -> bool:
        return any(task["hold_ends_at"] for task in job.status()["tasks"])

    wait_until(held, "a-0 to be held", LONGEST)
    assert job.log("0-a/0", "runtime.log") == "alert 7 of 8888\n"
    shown = job.status()
    assert [task["state"] for task in shown["tasks"]] == ["RUNNING", "RUNNING"]
    left = datetime.fromisoformat(shown["tasks"][0]["hold_ends_at"]).timestamp() - time.time()
    assert 0 < left <= 1800
    # What a hook started in the background is still there, and so is the way in.
    done = job.paislurm("exec", job.name, "a-0", "--", "bash", "-c", "kill -0 $(<server) && echo alive")
    assert (done.returncode, done.stdout) == (0, "alive\n"), done.stderr
    assert job.paislurm("cancel", job.name).returncode == 0
    code, result = job.ended()
    assert (code, result["outcome"]) == (1, "interrupted")
    assert job.log("0-a/0", "runtime.log") == "alert 7 of 8888\nstopped 7\n"


@BOTH
def test_held_task_is_released_after_its_hold_time(site: Site, folder: Path, layout: str) -> None:
    job = submitted(site, folder, layout, "'0:01'")
    code, result = job.ended()
    assert (code, result["trigger"]["role"]) == (1, "a")
    task = json.loads(job.paislurm("status", "--json", job.name).stdout)["tasks"][0]
    assert (task["state"], task["exit_status"]) == ("FAILED", 7)
    assert job.log("0-a/0", "runtime.log") == "alert 7 of 8888\nstopped 7\n"
