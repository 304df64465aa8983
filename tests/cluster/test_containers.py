"""Tasks in containers: what they see, what stays theirs, and how they end."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tests.cluster.jobs import BOTH, ONE_ATTEMPT, job_text, paislurm, role, submit
from tests.cluster.test_ssh import WAITS

if TYPE_CHECKING:
    from tests.cluster.cluster import Cluster


def settings(image: Path, *mounts: Path) -> str:
    folders = ", ".join(str(mount) for mount in mounts)
    return ONE_ATTEMPT + f"containers: {{runtime: charliecloud, images: {{debian: {image}}}, mounts: [{folders}]}}\n"


def test_rsync_goes_from_container_to_container(installed: Cluster, workdir: Path, image: Path) -> None:
    """It has a standard output that does not block."""
    command = "head -c 2000000 /dev/urandom >bytes; rsync bytes worker-0:copy; rsync worker-0:copy back; cmp bytes back"
    roles = role("master", 1, command, succeeded=1) + role("worker", 1, WAITS)
    job = submit(installed, workdir, roles.replace("memoryMB: 100", "memoryMB: 1000"), settings=settings(image))
    code, _ = job.ended()
    assert code == 0, job.log("0-master/0", "stderr.log")


def test_container_reports_exit_status_and_passes_signals(installed: Cluster, workdir: Path, image: Path) -> None:
    traps = "trap 'echo saved; exit 0' TERM; touch ready; while :; do sleep 300 & wait; done"
    wait = "until [ -e ../../1-traps/0/ready ] && grep -qs '^exit 2 ' ../../../tasks/*.log; do sleep 0.1; done; "
    roles = role("fails", 1, wait + "exit 7") + role("traps", 1, traps) + role("killed", 1, "kill -SEGV $$", failed=-1)
    job = submit(installed, workdir, roles, "", settings(image))
    code, result = job.ended()
    found = {task["role"]: (task["state"], task["exit_status"]) for task in result["tasks"]}
    assert (code, result["trigger"]["role"], result["exit_code"]) == (1, "fails", 255)
    # Of two exits in an instant either may arrive first, and the decision stops what has not.
    assert found.pop("killed") in {("FAILED", 139), ("STOPPED", 139)}
    assert found == {"fails": ("FAILED", 7), "traps": ("STOPPED", 0)}
    assert job.log("1-traps/0") == "saved\n"


def test_failed_start_hook_is_reported_as_the_reason(installed: Cluster, workdir: Path, image: Path) -> None:
    """What it prints is in its own log, and makes no code. What is for a failure runs in the container, too."""
    events = {"taskStarts": "echo ImportError: here >&2; exit 4", "taskFails": "echo alert $PAISLURM_EXIT_STATUS"}
    callbacks = ", ".join(f"{{event: {event}, commands: ['{command}']}}" for event, command in events.items())
    extras = f"{{com.microsoft.pai.runtimeplugin: [{{plugin: cmd, parameters: {{callbacks: [{callbacks}]}}}}]}}"
    job = submit(installed, workdir, role("t", 1, "true"), extras, settings(image))
    code, result = job.ended()
    assert (code, result["exit_code"]) == (1, 255)
    assert "task t-0 failed with status 4 in the plugin cmd, before its commands" in result["reason"]
    assert job.log("0-t/0", "runtime.log") == "ImportError: here\nalert 4\n"


@BOTH
def test_files_of_killed_tasks_are_removed_from_all_nodes(
    installed: Cluster, workdir: Path, image: Path, layout: str
) -> None:
    """On all nodes; the tasks ignore TERM."""
    stubborn = "trap '' TERM; touch /tmp/large ready; while :; do sleep 1; done"
    wait = "until [ -e ../../1-w/0/ready ] && [ -e ../../1-w/1/ready ]; do sleep 0.1; done"
    extras = f"{{slurm: {{layout: {layout}}}}}"
    job = submit(installed, workdir, role("m", 1, wait, succeeded=1) + role("w", 2, stubborn), extras, settings(image))
    calls = job.calls()
    code, result = job.ended()
    assert (code, [task["state"] for task in result["tasks"]]) == (0, ["SUCCEEDED", "STOPPED", "STOPPED"])
    for node in {task["node"] for task in result["tasks"]}:
        left = installed.run(["ls", "/tmp", "/dev/shm"], host=node).stdout
        assert Path(calls).name not in left


def test_missing_image_is_an_error_in_plan_and_on_the_node(installed: Cluster, workdir: Path, image: Path) -> None:
    """On no site, and on this site but not on the nodes."""
    (workdir / "job.yaml").write_text(job_text("lost", role("t", 1, "true")))
    (workdir / "site.yaml").write_text("containers: {runtime: charliecloud, images: {debain: /images/debian}}\n")
    for path in (workdir / "job.yaml", workdir / "site.yaml"):
        path.chmod(0o644)
    done = paislurm(installed, workdir, "plan", "--site", "site.yaml", "job.yaml")
    assert done.returncode == 4
    assert "E415" in done.stderr
    assert "the image 'debian' is not on this site" in done.stderr
    assert "did you mean `debain`?" in done.stderr
    job = submit(installed, workdir, role("t", 1, "true"), "", settings(image / "nowhere"))
    code, result = job.ended()
    assert (code, result["exit_code"], result["behaviour"]) == (1, 254, "permanent")
    assert f"error: the image {image}/nowhere is not on " in job.log("0-t/0", "stderr.log")
