"""Made-up jobs with scenarios, for the answers of `explain --when`."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

from hypothesis import strategies as st
from msgspec.structs import replace

import paislurm
from paislurm.translator.app.what_if.attempt_model import GAP
from paislurm.translator.app.what_if.completion_model import RoleModel
from paislurm.translator.app.what_if.outcome import answered, events_of, setting_of
from paislurm.translator.app.what_if.play import Played, play
from paislurm.translator.app.what_if.rule_text import ScenarioAttempt
from paislurm.translator.errors import UsageError

from ..protocol.jobs import JOB, ROLE
from .supervision_cases import START, Case

USER, UID, SOME_NODE = "daemon", 1, "nx"
GRACES = {"grace": 5, "interrupted_grace": 3, "warning": 9}
"""The seconds of the harness."""
BIG = {"batch": {"nodes": [{"count": 20, "cpus": 16, "memoryMB": 100000}]}}
SITES: list[dict[str, Any]] = [
    {},
    {"retry": {"maxTransientRetries": 1, "maxRestarts": 1, "onRootCancel": "retry"}},
    {"retry": {"maxTransientRetries": 0, "maxRestarts": 2}, "exitSpec": [{"code": 130, "behaviour": "unknown"}]},
    {
        "partitions": BIG,
        "defaultPartition": "batch",
        "retry": {"maxRestarts": 3},
        "exitSpec": [{"code": 255, "excludeNode": True}],
    },
]
ENDS = ("exits 0", "exits 1", "exits 130", "exits 137", "exits 141", "gets code -1200",
        "gets code 251", "gets code 232", "exits 143")  # fmt: skip
OF_JOB = ("all exit 0", "all exit 1", "a node is lost", "TIMEOUT", "PREEMPTED", "cancelled", "cancelled by root",
          "OUT_OF_MEMORY", "BOOT_FAIL", "REVOKED")  # fmt: skip


class Question:
    """A job with the numbers that were drawn for it, and a scenario that can happen to it."""

    def __init__(self, roles: list[RoleModel], extras: dict[str, Any], retries: int, site: dict[str, Any]) -> None:
        self.roles, self.extras, self.site = roles, extras, site
        of_roles = {
            f"r{position}": {
                **ROLE,
                "instances": role.instances,
                "taskRetryCount": role.retries,
                "completion": {"minFailedInstances": role.min_failed, "minSucceededInstances": role.min_succeeded},
            }
            for position, role in enumerate(roles)
        }
        self.job = JOB | {"taskRoles": of_roles, "jobRetryCount": retries, "extras": extras}
        self.compiled = paislurm.compile_job(
            json.dumps(self.job), site=paislurm.load_site(json.dumps(site), file="site.yaml")
        )
        setting = setting_of(self.compiled, USER)
        seconds = {name: timedelta(seconds=count) for name, count in GRACES.items()}
        times = setting.times
        self.setting = replace(
            setting,
            times=replace(
                times,
                grace=seconds["grace"],
                interrupted_grace=seconds["interrupted_grace"],
                warning=seconds["warning"] if times.warning else timedelta(0),
            ),
        )
        self.scenario: list[str] = []
        self.played: list[Played] = []
        self.said: tuple[ScenarioAttempt, ...] = ()

    def __repr__(self) -> str:
        return "a question"

    def text(self) -> str:
        """Return the scenario, the site and the job."""
        return f"{', '.join(self.scenario)}\nsite {json.dumps(self.site)}\njob {json.dumps(self.job)}"

    def play(self, scenario: list[str]) -> None:
        """Play the scenario, without the last events until it can happen."""
        while not self.played:
            self.scenario = scenario
            text = ", ".join(scenario)
            try:
                self.said = answered(self.compiled, text, USER).attempts
                self.played = play(self.setting, events_of(self.compiled, self.setting, text), text)[0]
            except UsageError:
                scenario = scenario[:-1] or ["PREEMPTED"]

    def case(self, played: Played) -> Case:
        """Return the case of an attempt for bash, from the numbers of the job file."""
        retry = self.site.get("retry", {})
        ceiling = retry.get("maxTransientRetries", 10)
        case = Case(
            roles=self.roles,
            lines=["manual"],
            gang=self.extras.get("gangAllocation", True),
            ceiling=ceiling,
            restarts=retry.get("maxRestarts", ceiling),
            of_job=self.extras["slurm"]["v1"].get("killAllOnCompletedTaskNumber", -1),
        )
        for position, role in enumerate(self.roles):
            for index in range(role.instances if case.gang else 0):
                case.lines.append(f"at {START} start {position} {index} {index} 0 n{position}.{index} 1 {START}")
        case.lines += self._lines(played, case)
        return case

    def _lines(self, played: Played, case: Case) -> list[str]:
        assert played.tasks is not None
        began = START - played.tasks.began
        lines = []
        for event, ends in played.events:
            for end in ends:
                role, index = end.task
                words = f"{event.status} {event.code} {event.behaviour}"
                time = end.time + began
                slot = f"exit {role} {index} {index} 0 {words} {time}"
                lines.append(f"at {time} {slot}" if case.gang else f"end {time} {role} {index} {words}")
        outside, time = played.outside, played.tasks.now + began
        if outside is None:
            return [*lines, f"at {time + GAP} signal TERM"] if played.result is None else lines
        if outside.kind == "node":
            task = outside.tasks[0] if outside.tasks else None
            return [
                *lines,
                f"at {time} lost {task[0]} n{task[0]}.{task[1]}" if task else f"at {time} lost 0 {SOME_NODE}",
            ]
        is_warned = outside.kind == "time" and self.setting.times.warning
        return [*lines, f"at {time} signal {'USR1' if is_warned else 'TERM'}"]


@st.composite
def questions(draw: st.DrawFn, site: dict[str, Any]) -> Question:
    gang = draw(st.booleans())
    slots = draw(st.sampled_from([None, None, 1, 2])) if not gang else None
    roles = []
    for _ in range(draw(st.integers(1, 3))):
        instances = draw(st.integers(1, 4))
        roles.append(
            RoleModel(
                instances,
                draw(st.sampled_from([-1, 1, 1, 2, 3])),
                draw(st.sampled_from([-1, -1, 1, 2, 4])),
                min(slots or instances, instances),
                0 if gang else draw(st.sampled_from([0, 1, 2, -1, -2])),
            )
        )
    v1: dict[str, Any] = {}
    if (count := draw(st.sampled_from([None] * 6 + [-1, -2]))) and (count != -2 or "retry" in site):
        v1["retryCount"] = count
    if of_job := draw(st.sampled_from([None, None, None, 1, 3])):
        v1["killAllOnCompletedTaskNumber"] = of_job
    slurm: dict[str, Any] = {"v1": v1, "time": draw(st.sampled_from(["4", "60"]))}
    slurm |= {"onTimeout": "retry"} if draw(st.booleans()) else {}
    slurm |= {"slots": slots} if slots else {}
    question = Question(roles, {"gangAllocation": gang, "slurm": slurm}, draw(st.sampled_from([0, 0, 1, 2])), site)
    names = [f"r{position}" for position in range(len(roles))]
    words = [f"{name}-{index}" for name, role in zip(names, roles, strict=True) for index in range(role.instances)]
    some = st.sampled_from([*words, *words, *names, "r*-0", *(f"1 of {name}" for name in names)])
    ends = st.builds("{} {}".format, some, st.sampled_from(ENDS))
    node = st.builds("node of {} is lost".format, st.sampled_from(words))
    kinds = st.sampled_from([ends, ends, ends, ends, node, st.sampled_from(OF_JOB)])
    events = kinds.flatmap(lambda kind: kind)
    question.play(draw(st.lists(events, min_size=2, max_size=6)))
    return question
