"""Render reports as HTML: one file, with all text escaped and without network access."""

from __future__ import annotations

import base64
import hashlib
from collections import Counter, defaultdict
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

import jinja2
from markupsafe import Markup

from paislurm import __version__

from ..plural import attempt_name, counted, some_of, used_text
from ..shipped import shipped_text
from ..terminal_text import one_line, visible
from ..times import by_size, decimal, duration_text, format_time, seconds_since_1970
from ..view.cost import cost_columns, cost_note, cost_rows
from ..view.failure import failure_rows
from ..view.line import by_reason
from ..view.states import STATES, counts_text
from .chart_rows import MAX_TASKS, attempts_gantt, runs_gantt, short_names, tasks_gantt
from .charts import NARROW, WIDE, drawn_gantt
from .from_evidence import DETAILED

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from paislurm.backends.slurm.steps import StepUsage

    from ..times import Time
    from ..view.task import TaskView
    from .chart_rows import Gantt
    from .charts import DrawnGantt
    from .model import AttemptEntry, JobReport

_FOLDER = "templates/report"
ELSEWHERE = ("job", "state", "reason", "submitted", "parameters")
"""The facts about a job for which its page has a place of their own."""
NAMED = 6
"""The most jobs to name with the same reason; further ones are counted."""


class Chart(NamedTuple):
    """A chart, drawn for wide and for narrow screens; the page's style shows one of them."""

    title: str
    drawings: tuple[DrawnGantt, ...]


def job_page(report: JobReport) -> str:
    """Return the page of a job."""
    return _render(
        "job.html.j2",
        title=f"{report.job.job or report.job.name} {report.job.state}",
        report=report,
        detailed=report.attempts[-DETAILED:],
        attempts_chart=_gantt(attempts_gantt(report), f"Timeline of the attempts of {report.job.name}"),
        task_charts={
            attempt.number: _gantt(tasks_gantt(attempt), f"Timeline of the tasks of {attempt_name(attempt.number)}")
            for attempt in report.attempts[-DETAILED:]
        },
    )


def comparison_page(reports: Sequence[JobReport], group: str) -> str:
    """Return the page that compares jobs; `group` is the name of their group, or ""."""
    if group:
        reports = sorted(reports, key=lambda report: ([*map(by_size, report.job.sweep.values())], report.job.name))
    names = dict.fromkeys(name for report in reports for name in _parameters(report))
    swept = {name for report in reports for name in report.job.sweep}
    short = short_names(reports)
    states = Counter(report.job.state for report in reports)
    return _render(
        "comparison.html.j2",
        title=f"{group or 'Comparison'}: {counted(len(reports), 'job')}",
        group=group,
        reports=reports,
        names=[
            name for name in names if name in swept or len({_parameters(report).get(name) for report in reports}) > 1
        ]
        or list(names),
        has_results=any(report.job.result is not None for report in reports),
        short=short,
        states={state: states[state] for state in STATES if states[state]},
        reasons=by_reason(
            (short[report.job.name], report.job.state, report.job.reason)
            for report in reports
            if report.job.state != "SUCCEEDED" and report.job.reason
        ),
        chart=_gantt(runs_gantt(reports), "Timeline of the jobs, each from its submission"),
    )


def _parameters(report: JobReport) -> Mapping[str, str]:
    return report.job.parameters or {}


def _gantt(gantt: Gantt, title: str) -> Chart | None:
    """Return the chart of bars; None without bars."""
    drawings = tuple(drawn_gantt(gantt, width) for width in (WIDE, NARROW))
    return Chart(one_line(title), drawings) if gantt.bars else None


def by_role(tasks: Sequence[TaskView]) -> list[tuple[str, list[TaskView], str]]:
    """Return each role with its tasks and the number of tasks in each state, as text."""
    roles: defaultdict[str, list[TaskView]] = defaultdict(list)
    for task in tasks:
        roles[task.role].append(task)
    return [(role, found, counts_text(task.state for task in found)) for role, found in roles.items()]


def total(report: JobReport, phase: str) -> int:
    """Return the seconds that the attempts of a job spent in a phase."""
    return sum(in_phase(attempt, phase) for attempt in report.attempts)


def in_phase(attempt: AttemptEntry, phase: str) -> int:
    """Return the seconds that an attempt spent in a phase."""
    return sum(part.ends - part.begins for part in attempt.segments if part.phase == phase)


def span(begins: int | Time | None, ends: int | Time | None) -> str:
    """Return the duration between two times, as text; a dash if one is unknown."""
    since, until = seconds_since_1970(begins), seconds_since_1970(ends)
    return duration_text(None if since is None or until is None else until - since)


def usage_text(usage: StepUsage, tasks: Sequence[TaskView]) -> str:
    """Return the average resources that a task of a role used, as text."""
    lasted = [(task.ended_at - task.started_at).total_seconds() for task in tasks if task.started_at and task.ended_at]
    seconds = sum(lasted) / len(lasted) if lasted else 0
    cpus = usage.cpu_seconds * usage.tasks / len(tasks) / seconds if seconds else None
    return used_text(cpus, usage.memory_mib, usage.max_memory_mib, usage.gpu_percent, usage.gpu_memory_mib)


@cache
def _engine() -> jinja2.Environment:
    engine = jinja2.Environment(
        loader=jinja2.FunctionLoader(lambda name: shipped_text(f"{_FOLDER}/{name}")),
        undefined=jinja2.StrictUndefined,
        finalize=_escaped,
        trim_blocks=True,
        lstrip_blocks=True,
        autoescape=True,
    )
    engine.filters |= {"time": format_time, "duration": duration_text, "by_role": by_role, "counted": counted}
    engine.filters |= {
        "some_of": some_of,
        "one_line": one_line,
        "decimal": decimal,
    }
    engine.filters |= {"failure_rows": failure_rows, "usage": usage_text}
    engine.filters |= {"cost_columns": cost_columns, "cost_rows": cost_rows, "cost_note": cost_note}
    engine.globals |= {
        "span": span,
        "total": total,
        "in_phase": in_phase,
        "many": MAX_TASKS,
        "named": NAMED,
        "elsewhere": ELSEWHERE,
    }
    return engine


def _escaped(value: object) -> object:
    """Escape control characters, such as those that change the direction of text."""
    return visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _render(name: str, **values: object) -> str:
    style, script = (shipped_text(f"{_FOLDER}/{file}") for file in ("style.css.j2", "script.js.j2"))
    policy = (
        "default-src 'none'; "
        f"style-src '{_hash(style)}'; script-src '{_hash(script)}'; base-uri 'none'; form-action 'none'"
    )
    return (
        _engine()
        .get_template(name)
        .render(
            policy=policy,
            style=Markup(style),  # noqa: S704 - shipped with paislurm
            script=Markup(script),  # noqa: S704 - shipped with paislurm
            version=__version__,
            **values,
        )
    )


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
