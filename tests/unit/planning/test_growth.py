"""`retryWith`: the requests that later attempts make, and the attempts that make them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import asdict, replace

from paislurm.backends.batch_script import components
from paislurm.translator.app.failed_task import requested_memory
from paislurm.translator.app.submit.prepare import retry_policy
from paislurm.translator.app.what_if.outcome import answered
from paislurm.translator.errors import ProtocolError
from paislurm.translator.monitor.poll import open_job, poll_jobs
from paislurm.translator.pipeline import Compiled, compile_job
from paislurm.translator.planning.growth import Growth, growth_of
from paislurm.translator.site.load import load_site
from paislurm.translator.state.job_folder import JobFolder
from paislurm.translator.state.kept_plan import KeptPlan

from ..monitor.jobs import NOW, FakeBackend, failed_job, leave_result, stepped
from ..monitor.test_changes import changed, options

NODE_MIB, LONGEST_MIN = 8000, 600
SITE = {
    "defaultPartition": "main",
    "partitions": {
        "main": {"nodes": [{"count": 4, "cpus": 16, "memoryMB": NODE_MIB}], "timeLimit": LONGEST_MIN},
    },
}


def compiled(retry_with: Any, *, memory: int = 1000, site: Any = SITE, layout: str = "het", **role: Any) -> Compiled:
    """Return a compiled job with the roles `a` and `b`; the options in `role` are those of `a`."""
    text = {
        "protocolVersion": 2,
        "name": "demo",
        "type": "job",
        "prerequisites": [{"name": "image", "type": "dockerimage", "uri": "debian"}],
        "taskRoles": {
            name: {
                "instances": 2,
                "dockerImage": "image",
                "resourcePerInstance": {"cpu": 1, "memoryMB": memory, "gpu": 0},
                "commands": ["true"],
            }
            for name in "ab"
        },
        "extras": {"slurm": {"time": 60, "layout": layout, "retryWith": retry_with, "taskRoles": {"a": role}}},
    }
    return compile_job(json.dumps(text), site=load_site(json.dumps(site), file="site.yaml"))


def growth(job: Compiled) -> Growth:
    """Return how the requests of a job grow."""
    return growth_of(job.job, job.site, job.plan)


def retries(job: Compiled, events: str) -> list[str]:
    """Return what follows each attempt."""
    texts = [each.retry_rule or "" for each in answered(job, events, "alice").attempts]
    return [text.rpartition(" at once; ")[2].removeprefix("none: ") for text in texts]


@given(
    factor=st.integers(101, 1000),
    times=st.integers(0, 8),
    memory=st.integers(1, 4000),
    most=st.none() | st.integers(1, 20_000),
    layout=st.sampled_from(["het", "shared"]),
)
def test_no_request_is_above_its_bound_the_node_or_the_last_one_times_the_factor(
    factor: int, times: int, memory: int, most: int | None, layout: str
) -> None:
    bound = {} if most is None else {"upTo": most}
    more = {"outOfMemory": {"memory": f"x{factor / 100:.2f}", "times": times, **bound}}
    found = growth(compiled(more, memory=memory, layout=layout))
    steps = [each["a"] for each in found.memory]
    assert steps[:1] in ([], [memory])
    assert len(steps) <= times + 1
    for last, step, plan in zip(steps, steps[1:], found.plans, strict=False):
        assert last < step <= min(most or NODE_MIB, NODE_MIB, -(-last * factor // 100))
        role = plan.roles[0]
        assert role.resources.memory_mib == step
        asked = [int(dict(each.directives)["mem"][:-1]) for each in plan.components]  # type: ignore[index]
        assert step <= max(asked) <= NODE_MIB
    made = steps or [memory]
    ends = len(made) == times + 1 or (most is not None and made[-1] >= most)
    assert ends or "cannot be had" in found.no_more_memory


@given(factor=st.integers(101, 1000), times=st.integers(0, 8), most=st.none() | st.integers(1, 2000))
def test_no_time_limit_is_above_its_bound_or_the_partition(factor: int, times: int, most: int | None) -> None:
    bound = {} if most is None else {"upTo": f"{most}m"}
    found = growth(compiled({"timeout": {"time": f"x{factor / 100:.2f}", "times": times, **bound}}))
    limits = [min(LONGEST_MIN, LONGEST_MIN if most is None else most) * 60] * (len(found.times) - 1)
    for last, step, limit in zip(found.times, found.times[1:], limits, strict=False):
        assert last < step <= min(limit, -(-last * factor // 100))
    assert len(found.times) <= times + 1


def test_only_the_cause_makes_its_request_grow() -> None:
    job = compiled({"outOfMemory": {"times": 2}, "timeout": {}})
    assert retries(job, "a-0 gets code -1200, TIMEOUT, a-1 gets code -1200, a-0 gets code -1200") == [
        "retried with more memory: a 1500 MiB, b 1500 MiB, 1 of 2",
        "retried with a longer time limit: 02:00:00, 1 of 1",
        "retried with more memory: a 2250 MiB, b 2250 MiB, 2 of 2",
        "`retryWith` is used up: its memory has grown 2 times",
    ]
    assert "memory" not in retries(job, "a-0 exits 1")[0]


def test_a_role_without_the_key_does_not_grow() -> None:
    job = compiled({}, retryWith={"outOfMemory": {}})
    assert retries(job, "a-0 gets code -1200")[0].startswith("retried with more memory: a 1500 MiB, 1 of 1")
    assert retries(job, "b-0 gets code -1200") == ["the memory of b does not grow (`retryWith`)"]
    first, second = components(replace(job, plan=growth(job).plans[0]).script)
    assert (first.options["mem"], second.options["mem"]) == ("3080M", "2000M")


def test_a_request_that_the_partition_cannot_fulfil_is_not_made_and_said() -> None:
    job = compiled({"outOfMemory": {"memory": "x10", "times": 2}, "timeout": {"time": "x10", "times": 2}}, memory=2000)
    assert "no more memory: a 20000 MiB, b 20000 MiB cannot be had: " in retries(job, "a-0 gets code -1200")[0]
    first, second = retries(job, "TIMEOUT, TIMEOUT")
    assert first == "retried with a longer time limit: 10:00:00, 1 of 1"
    assert "no more time: a time limit of 4-04:00:00 cannot be had: " in second


def test_the_site_has_a_default_and_the_last_word_on_retries() -> None:
    default = {**SITE, "retryWith": {"outOfMemory": {"memory": "x2"}}}
    assert growth(compiled({}, site=default)).memory == ({"a": 1000, "b": 1000}, {"a": 2000, "b": 2000})
    assert not growth(compiled({"outOfMemory": {"times": 0}}, site=default)).memory
    none = compiled({"outOfMemory": {}}, site={**SITE, "retry": {"maxTransientRetries": 0}})
    assert "the site allows no retries" in retries(none, "a-0 gets code -1200")[0]


@pytest.mark.parametrize(
    "wrong",
    [
        {"outOfMemory": {"memory": "x1"}},
        {"outOfMemory": {"memory": 1.5}},
        {"outOfMemory": {"upTo": "256 apples"}},
        {"outOfMemory": {"upTo": 0}},
        {"timeout": {"upTo": 30}},
        {"timeout": {"times": 9}},
    ],
)
def test_wrong_values_are_refused(wrong: Any) -> None:
    with pytest.raises(ProtocolError) as caught:
        compiled(wrong)
    assert {each.code for each in caught.value.diagnostics} == {"E203"}


def grown_job(tmp_path: Path, code: int, **retry_with: Any) -> tuple[JobFolder, FakeBackend]:
    """Return a job whose first attempt ended with this code, with its scripts."""
    job = compiled(retry_with)
    folder, backend = failed_job(tmp_path, **asdict(retry_policy(job)))
    folder.script(0).write_text(job.script, encoding="utf-8")
    for number, plan in enumerate(growth(job).plans, 1):
        folder.script_with_memory(number).parent.mkdir(exist_ok=True)
        folder.script_with_memory(number).write_text(replace(job, plan=plan).script, encoding="utf-8")
    leave_result(folder, outcome="failed", exit_code=code, behaviour="permanent")
    return folder, backend


def test_the_next_attempt_has_the_new_memory_everywhere(tmp_path: Path) -> None:
    folder, backend = grown_job(tmp_path, -1200, outOfMemory={})
    view = stepped(folder, backend, NOW)
    assert view.history.attempt == 1
    script = folder.script(1).read_text(encoding="utf-8")
    assert options(folder, 1)["mem"] == "3080M"
    assert "PAI_CURRENT_TASK_ROLE_MEM_MB='1500'" in script
    assert "PAI_RESOURCE_a='0,1,1500,0'" in script
    assert "#SBATCH --mem=3000M" in script
    (change,) = view.history.changes
    assert (change.user, change.values) == ("paislurm", {"memory": "a 1500 MiB, b 1500 MiB"})
    assert len(backend.submissions) == 1
    # What is said after the next lack of memory.
    assert requested_memory(view.history, KeptPlan(), "a") == 1500


def test_a_longer_limit_starts_from_the_users_own(tmp_path: Path) -> None:
    folder, backend = grown_job(tmp_path, -1004, timeout={"times": 2})
    folder.append(changed(time="02:30:00"))
    assert stepped(folder, backend, NOW).history.attempt == 1
    assert options(folder, 1)["time"] == "04:00:00"


def test_after_a_change_of_the_partition_nothing_grows(tmp_path: Path) -> None:
    folder, backend = grown_job(tmp_path, -1200, outOfMemory={})
    folder.append(changed(partition="other"))
    view = stepped(folder, backend, NOW)
    assert (view.job_status.state, view.job_status.code) == ("FAILED", -1200)
    assert not backend.submissions


def test_a_step_that_is_repeated_after_its_decision_grows_once(tmp_path: Path) -> None:
    """The decision and what grows are one record, and only the first decision about an attempt counts."""
    folder, backend = grown_job(tmp_path, -1200, outOfMemory={"times": 3})
    known = open_job(folder)
    # Two processes that have read the job before either recorded its retry.
    for view in [poll_jobs([known], lambda _: backend, NOW)[0] for _ in range(2)]:
        for record in view.news:
            folder.append(record)
    view = stepped(folder, backend, NOW)
    assert [change.values["memory"] for change in view.history.changes] == ["a 1500 MiB, b 1500 MiB"]
    assert options(folder, 1)["mem"] == "3080M"
    assert len(backend.submissions) == 1
