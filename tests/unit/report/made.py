"""Make folders of jobs: a retried job, a failed one, a large one, a hostile one, and a sweep."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from paislurm.translator.exit_codes.table import ExitTable
from paislurm.translator.pipeline import compile_job
from paislurm.translator.state.job_folder import JobFolder
from paislurm.translator.state.journal_records import (
    Created,
    Ended,
    Intent,
    JobRole,
    Observed,
    Record,
    Retry,
    RetryPolicy,
    Submitted,
    dump,
)
from paislurm.translator.state.run_record import FileDigest, RunRecord

T = 1_760_000_000
HOSTILE = "</script></style><img src=x onerror=alert(1)>\"'&<b>\x1b[31m\u202egnp.exe\u2028{{ 7*7 }}"
STORY = """\
# A small training: parameter servers and workers that meet at a port.
protocolVersion: 2
name: resnet-a100
type: job
prerequisites:
  - {name: torch, type: dockerimage, uri: "pytorch/pytorch:2.4"}
parameters:
  epochs: 90
  learning_rate: 0.1
  batch: 256
jobRetryCount: 2
taskRoles:
  ps:
    instances: 1
    completion: {minFailedInstances: 1, minSucceededInstances: -1}
    dockerImage: torch
    resourcePerInstance: {cpu: 4, memoryMB: 16384, gpu: 0, ports: {http: 1}}
    commands:
      - python serve.py --port $PAI_CONTAINER_HOST_http_PORT_LIST
  worker:
    instances: 6
    completion: {minFailedInstances: 1, minSucceededInstances: 6}
    dockerImage: torch
    resourcePerInstance: {cpu: 8, memoryMB: 65536, gpu: 1, ports: {nccl: 2}}
    commands:
      - python train.py --epochs <% $parameters.epochs %> --lr <% $parameters.learning_rate %>
      - echo "done"
"""


RUN = RunRecord(
    parameters={}, overrides={}, suffix="", argv=("submit", "job.yaml"), submit_folder="/home/alice",
    job_file=FileDigest(file="/home/alice/job.yaml", sha256="0"), kept_sha256="0", script_sha256="0", site_profiles=(),
    secrets_file="", paislurm_version="0", submitted_by="alice@login1",
)  # fmt: skip


class Made:
    """A job folder under construction: first its journal, then the files of each attempt."""

    def __init__(
        self,
        jobs: Path,
        user: str,
        job: str,
        roles: Sequence[tuple[str, int]],
        *,
        group: str = "",
        sweep: Mapping[str, str] | None = None,
        parameters: Mapping[str, str] | None = None,
        result_pattern: str | None = None,
    ) -> None:
        self.roles = tuple(
            JobRole(name=name, folder=f"{n}-role", instances=count) for n, (name, count) in enumerate(roles)
        )
        self.folder = JobFolder(path=jobs / f"{user}~{job}")
        self.folder.path.mkdir(parents=True, mode=0o700)
        self.job, self.user, self.group = job, user, group
        first = Created(
            happened_at=T,
            job=job,
            user=user,
            backend="slurm",
            roles=self.roles,
            retry_policy=RetryPolicy(retry_limit=2),
            group=group,
            sweep=sweep or {},
            run=None if parameters is None else replace(RUN, parameters=parameters, result_pattern=result_pattern),
        )
        self.folder.journal.write_bytes(dump(first))
        self.folder.journal.chmod(0o600)

    def add(self, *records: Record) -> None:
        with self.folder.journal.open("ab") as journal:
            journal.write(b"".join(map(dump, records)))

    def submitted(self, attempt: int, at: int, *, starts: int, reason: str = "Resources") -> None:
        tasks = sum(role.instances for role in self.roles)
        job_id = str(4711 + attempt)
        self.folder.attempt(attempt).mkdir(parents=True)
        self.add(
            Intent(happened_at=at, attempt=attempt, tag=f"paislurm-{attempt}"),
            Submitted(
                happened_at=at, attempt=attempt, job_id=job_id, job=self.job, user=self.user, backend="slurm",
                task_count=tasks, group=self.group,
            ),
            Observed(happened_at=at + 1, attempt=attempt, backend_state="PENDING", backend_reason=reason),
            Observed(happened_at=starts, attempt=attempt, backend_state="RUNNING", backend_reason=""),
        )  # fmt: skip

    def result(self, attempt: int, began: int, ended: int, outcome: str, code: int, reason: str, tasks: Any) -> None:
        behaviour = ExitTable().describe(code).behaviour if code else "success"
        document = {
            "version": 2, "job": self.job, "attempt": attempt, "job_id": str(4711 + attempt), "outcome": outcome,
            "exit_code": code, "behaviour": behaviour, "reason": reason, "trigger": None,
            "started_at": began, "ended_at": ended, "tasks": list(tasks),
        }  # fmt: skip
        self.folder.result(attempt).write_text(json.dumps(document))

    def file(self, attempt: int, name: str, text: str) -> None:
        path = self.folder.attempt(attempt) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", errors="surrogateescape")

    def ended(self, attempt: int, state: str, code: int, reason: str, began: int, ended: int, tasks: Any) -> None:
        """Let the job end with this attempt, and with its result."""
        self.result(attempt, began, ended, state.lower(), code, reason, tasks)
        self.ends(attempt, state, code, reason, began, ended)

    def ends(self, attempt: int, state: str, code: int, reason: str, began: int, ended: int) -> None:
        self.add(
            Ended(
                happened_at=ended + 2, attempt=attempt, state=state, exit_code=code, reason=reason,
                backend_state="COMPLETED" if not code else "FAILED", started_at=began, ended_at=ended, completed=1,
            )
        )  # fmt: skip


def task(role: str, index: int, state: str, code: int, node: str, begins: int, ends: int) -> dict[str, Any]:
    return {
        "role": role, "index": index, "task_attempt": 0, "state": state, "exit_status": 143 if code == -220 else code,
        "exit_code": code, "behaviour": "success" if not code else "unknown", "node": node, "started_at": begins,
        "ended_at": ends,
    }  # fmt: skip


def retried(jobs: Path, user: str) -> JobFolder:
    """Make a job of two roles that lost a node, then failed, then succeeded at its third attempt."""
    made = Made(jobs, user, "resnet-a100", [("ps", 1), ("worker", 6)])
    (made.folder.path / "job.yaml").write_text(STORY)
    script = compile_job(STORY).script
    failed = "task worker-4 failed: 1 failed of role worker complete the job"
    done = "task worker-5 succeeded: 6 succeeded of role worker complete the job"
    plans = [
        (T + 2, 140, 900, "FAILED", -1001, "node gpu-07 was lost", ("gpu-07",), 3),
        (T + 1300, 40, 2100, "FAILED", 137, failed, (), 4),
        (T + 4000, 400, 5200, "SUCCEEDED", 0, done, (), -1),
    ]
    for attempt, (at, waited, ran, state, code, reason, blamed, culprit) in enumerate(plans):
        began, ended = at + waited, at + waited + ran
        made.submitted(attempt, at, starts=began, reason="Priority" if attempt else "Resources")
        made.file(attempt, "job.sbatch", script)
        rows, lines = [], []
        for index in range(6):
            begins, ends = began + 25 + index % 3, ended - (5 - index) * (4 if not code else 1)
            fails = index == culprit
            of_task = 0 if not code else code if fails else -220
            word = "SUCCEEDED" if not code else "FAILED" if fails else "STOPPED"
            stop = ends if fails or not code else ended + 30
            rows.append(task("worker", index, word, of_task, f"gpu-{index // 2 + 6:02}", begins, stop))
            lines += [f"start 1 {index} {index} 0 gpu-{index // 2 + 6:02} {index} {begins}"]
            lines += [f"exit 1 {index} {index} 0 {abs(of_task) % 256} {of_task} unknown {stop}"]
            made.file(
                attempt, f"tasks/1-role/{index}.scripts",
                f"0 start 0 {begins} {begins + 60 + 20 * index} docker-image\n",
            )  # fmt: skip
            ports = f"nccl:{21000 + index * 7},{21001 + index * 7}"
            lines += [f"peer 1 {index} 0 10.0.4.{index // 2 + 6} {index} {ports}"]
        rows.insert(0, task("ps", 0, "STOPPED", -220, "cpu-01", began + 22, ended + 12))
        lines += [f"start 0 0 0 0 cpu-01 0 {began + 22}", f"exit 0 0 0 0 143 143 transient {ended + 12}"]
        lines += ["peer 0 0 0 10.0.2.1 0 http:23456"]
        made.file(attempt, "tasks/all.log", "\n".join(lines) + "\n")
        made.result(attempt, began, ended, "succeeded" if not code else "failed", code, reason, rows)
        if culprit >= 0:
            text = "".join(f"step {n:5}  loss {9 / (n + 1):.4f}\n" for n in range(60))
            made.file(attempt, f"logs/1-role/{culprit}.stdout.log", text)
            made.file(
                attempt, f"logs/1-role/{culprit}.stderr.log",
                "  5%|#     | 4/90\r 10%|##    | 9/90\nTraceback (most recent call last):\n"
                '  File "train.py", line 212, in <module>\n    main()\n'
                "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB\n",
            )  # fmt: skip
        if code:
            made.add(
                Retry(
                    happened_at=ended + 35, attempt=attempt, exit_code=code,
                    behaviour="transient" if code < 0 else "unknown", reason=reason,
                    retry_rule="transient: retried without using the budget" if code < 0 else "retry 1 of 2",
                    retry_at=ended + 60, retries=attempt + 1, used_retries=attempt, transient_retries=1,
                    blamed_nodes=blamed, backend_state="NODE_FAIL" if code < 0 else "FAILED", started_at=began,
                    ended_at=ended,
                )
            )  # fmt: skip
        else:
            made.ends(attempt, state, code, reason, began, ended)
    return made.folder


def failed(jobs: Path, user: str) -> JobFolder:
    """Make a job whose only task missed a file."""
    made = Made(jobs, user, "broken", [("worker", 1)])
    made.submitted(0, T, starts=T + 5)
    made.file(0, "logs/0-role/0.stderr.log", "FileNotFoundError: [Errno 2] No such file or directory: 'data.csv'\n")
    rows = [task("worker", 0, "FAILED", 1, "n1", T + 6, T + 60)]
    made.ended(0, "FAILED", 1, "task worker-0 failed", T + 5, T + 60, rows)
    return made.folder


def large(jobs: Path, user: str, count: int = 500) -> JobFolder:
    """Make a job of many tasks in two roles; a few tasks failed."""
    chance = random.Random(7)
    made = Made(jobs, user, "large", [("trial", count - 20), ("server", 20)])
    made.submitted(0, T + 2, starts=T + 60)
    rows, lines = [], []
    for position, role in enumerate(made.roles):
        for index in range(role.instances):
            begins = T + 70 + index // 3
            ends = begins + chance.randrange(200, 4000)
            state, code = ("FAILED", 1) if position == 0 and index % 120 == 7 else ("SUCCEEDED", 0)
            rows.append(task(role.name, index, state, code, f"n{index % 64:03}", begins, ends))
            lines += [
                f"start {position} {index} {index} 0 n{index % 64:03} 0 {begins}",
                f"exit {position} {index} {index} 0 0 0 success {ends}",
            ]
    made.file(0, "tasks/n.log", "\n".join(lines) + "\n")
    last = max(row["ended_at"] for row in rows)
    made.file(0, "logs/0-role/7.stderr.log", "did not converge\n")
    made.ended(0, "SUCCEEDED", 0, "all tasks have ended", T + 65, last, rows)
    return made.folder


def hostile(jobs: Path, user: str) -> JobFolder:
    """Make a job whose texts all try to inject HTML, scripts or control characters into a page."""
    made = Made(jobs, user, "hostile", [(HOSTILE, 1), ("__proto__", 1)], parameters={HOSTILE: HOSTILE}, group=HOSTILE)
    made.submitted(0, T + 2, starts=T + 60, reason=HOSTILE)
    (made.folder.path / "job.yaml").write_text(f"name: hostile\nextra: '{HOSTILE}'\n")
    made.file(0, "job.sbatch", f"#!/bin/bash\n# {HOSTILE}\n")
    rows = [task(role.name, 0, "FAILED", 1, HOSTILE, T + 70, T + 90) for role in made.roles]
    made.file(0, "logs/1-role/0.stderr.log", f"{HOSTILE}\n\x00\x1b]0;title\x07\udcff\ndone\n")
    made.ended(0, "FAILED", 1, HOSTILE, T + 65, T + 90, rows)
    return made.folder


def sweep(jobs: Path, user: str, count: int = 6) -> list[JobFolder]:
    """Make the jobs of a sweep over two parameters; the third one failed."""
    folders = []
    for number in range(count):
        values = {"learning_rate": str(10.0**-number), "batch": str(32 << number % 3)}
        made = Made(
            jobs, user, f"sweep-{number}", [("worker", 1)], group="lr-sweep", sweep=values,
            parameters={**values, "epochs": "90"},
        )  # fmt: skip
        began, ended = T + 60 + 50 * number, T + 60 + 50 * number + 700 * (number + 1)
        made.submitted(0, T + 2 + number, starts=began)
        state, code = ("FAILED", 1) if number == 2 else ("SUCCEEDED", 0)
        rows = [task("worker", 0, state, code, "n1", began + 5, ended)]
        made.ended(0, state, code, f"task worker-0 {state.lower()}", began, ended, rows)
        folders.append(made.folder)
    return folders
