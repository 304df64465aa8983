"""Tests of the page of a job: its content, and escaping of text from jobs."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
from collections.abc import Sequence
from datetime import datetime
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from unittest.mock import Mock
from xml.etree import ElementTree as ET

import msgspec
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from paislurm.backends.runner import Completed
from paislurm.translator.app.reports import gather
from paislurm.translator.app.reports.gather import job_reports
from paislurm.translator.app.session import Session, user_name
from paislurm.translator.errors import BackendError, Diagnostic
from paislurm.translator.report import page
from paislurm.translator.report.chart_rows import Bar, Gantt, Mark, tasks_gantt
from paislurm.translator.report.charts import NARROW, WIDE, drawn_gantt
from paislurm.translator.report.from_evidence import DETAILED
from paislurm.translator.report.page import Chart, job_page
from paislurm.translator.state.task_reports import read_runs
from paislurm.translator.terminal_text import one_line

from ..cli.running import Runner
from .made import HOSTILE, Made, T, failed, hostile, large, retried, sweep

EXPECTED = Path(__file__).with_name("retried.json")
SVG = "{http://www.w3.org/2000/svg}"


class Elements(HTMLParser):
    """The elements of a page with their attributes, and the text of the page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.words.append(data)

    def of(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.found if name == tag]


def words_of(path: str | Path) -> str:
    return " ".join("".join(Elements(Path(path).read_text()).words).split())


def test_the_report_of_a_retried_job(jobs: Path, pytestconfig: pytest.Config) -> None:
    """To remake the expected file, delete it, run this test, and read the difference."""
    (report,) = job_reports(Session(), [retried(jobs, user_name())], details=True)
    said: dict[str, Any] = msgspec.to_builtins(report, builtin_types=(datetime,))
    for key in ("job_file", "script", "now"):
        del said[key]
    said["cost"] = said.pop("job")["cost"]
    text = json.dumps(said, indent=1, default=lambda time: int(time.timestamp())) + "\n"
    if not EXPECTED.exists():
        EXPECTED.write_text(text)
        pytest.fail(f"{EXPECTED.name} did not exist and was written: read it")
    assert pytestconfig.rootpath in EXPECTED.parents
    assert text == EXPECTED.read_text()


def test_only_the_logs_of_failed_tasks_are_fetched(jobs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fetched: list[tuple[int, tuple[tuple[str, int], ...]]] = []
    monkeypatch.setattr(gather, "fetch", lambda *each: fetched.append((each[-1].attempt, each[-1].tasks)))
    job_reports(Session(), [retried(jobs, user_name())], details=True)
    assert fetched == [(0, (("logs/1-role", 3),)), (1, (("logs/1-role", 4),))]


def test_an_unreachable_login_node_adds_a_note(jobs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    away = BackendError(Diagnostic(code="E550", message="login1 does not answer"))
    monkeypatch.setattr(gather, "fetch", Mock(side_effect=away))
    (report,) = job_reports(Session(), [retried(jobs, user_name())], details=True)
    assert "log lines may be missing: login1 does not answer" in report.notes
    assert report.tails


def test_the_page_is_private_and_complete(jobs: Path, run: Runner) -> None:
    retried(jobs, user_name())
    path = Path("resnet-a100.report.html")
    assert run("report", "resnet-a100").out == f"{path}\n"
    assert path.stat().st_mode & 0o777 == 0o600
    words = words_of(path)
    expected = (
        "node gpu-07 was lost", "Transient: retried without using the budget", "Left out from then on: gpu-07",
        "Waited for: Resources", "ContainerSigKillReceived", "torch.OutOfMemoryError", "nccl 21028, 21029", "10.0.4.8",
        "learning_rate", "#SBATCH --job-name=resnet-a100",
    )  # fmt: skip
    assert [each for each in expected if each not in words] == []


@pytest.mark.parametrize("kind", ["link", "dangling", "pipe"])
def test_a_link_or_pipe_in_place_of_the_page_is_not_written_to(
    jobs: Path, run: Runner, tmp_path: Path, kind: str
) -> None:
    retried(jobs, user_name())
    path, victim = Path("resnet-a100.report.html"), tmp_path / "victim"
    if kind == "pipe":
        os.mkfifo(path)
    else:
        path.symlink_to(victim)
    if kind == "link":
        victim.write_text("mine\n", encoding="utf-8")
    run("report", "resnet-a100").ends(2, "E544")
    assert victim.exists() == (kind == "link")
    if kind == "link":
        assert victim.read_text(encoding="utf-8") == "mine\n"
        assert run("report", "resnet-a100", "-o", str(path)).code == 0
        assert "resnet-a100" in victim.read_text(encoding="utf-8")


def test_the_policy_allows_only_the_style_and_script_of_the_page(jobs: Path, run: Runner) -> None:
    retried(jobs, user_name())
    assert run("report", "resnet-a100").code == 0
    page = Path("resnet-a100.report.html").read_text()
    (policy,) = [meta["content"] for meta in Elements(page).of("meta") if "http-equiv" in meta]
    assert policy is not None
    for tag in ("style", "script"):
        (text,) = re.findall(rf"<{tag}>(.*?)</{tag}>", page, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in policy
    assert (policy.startswith("default-src 'none'; "), "unsafe" in policy) == (True, False)
    assert not re.search(
        r"\b(?:https?:)?//(?!www\.w3\.org/2000/svg)[a-z]", re.sub(r"<script>.*</script>", "", page, flags=re.DOTALL)
    )


def test_hostile_text_is_escaped(jobs: Path, run: Runner) -> None:
    hostile(jobs, user_name())
    assert run("report", "hostile").code == 0
    page = Path("hostile.report.html").read_text()
    elements = Elements(page)
    assert len(elements.of("script")) == len(elements.of("style")) == 1
    assert not elements.of("img")
    assert not [name for _, attributes in elements.found for name in attributes if name.startswith("on")]
    shown = "</script></style><img src=x onerror=alert(1)>\"'&<b>\\x1b[31m\\u202egnp.exe\\u2028{{ 7*7 }}"
    assert "".join(elements.words).count(shown) > 8
    assert not set(page) & {"\x00", "\x1b", "\u202e", "\u2028", "\x07"}
    assert HOSTILE not in page


def test_many_tasks_share_rows_except_failed_ones(jobs: Path) -> None:
    (report,) = job_reports(Session(), [large(jobs, user_name())], details=True)
    (attempt,) = report.attempts
    gantt = tasks_gantt(attempt)
    assert gantt.rows == (
        "trial-7",
        "trial-127",
        "trial-247",
        "trial-367",
        "trial: 476 succeeded",
        "server: 20 succeeded",
    )
    assert [mark.text for mark in gantt.marks] == ["failed 1"] * 4
    assert len(job_page(report)) < 500_000


@given(st.text(max_size=30), st.text(max_size=60), st.integers(0, 10**7))
@example("if", "", 5)
@example("</svg><script>", "]]>", 0)
@settings(max_examples=30)
def test_any_names_can_be_drawn(name: str, title: str, seconds: int) -> None:
    bar = Bar(row=name, phase="running", begins=0, ends=seconds, says=f"{name}: running")
    mark = Mark(row=name, at=seconds, text=f"failed {title}", failed=True)
    gantt = Gantt(rows=(name,), bars=(bar,), marks=(mark,), seconds=seconds, since="submission")
    for width in (NARROW, WIDE):
        (svg,) = drawn(Chart(one_line(title), (drawn_gantt(gantt, width),)))
        assert svg.get("aria-label") == one_line(title)
        assert {element.tag.rpartition("}")[2] for element in svg.iter()} <= {"svg", "text", "rect", "path", "title"}
        assert [element.text for element in svg.iter(f"{SVG}title")] == [one_line(f"{name}: running")]
        for element in (*svg.iter(f"{SVG}rect"), *svg.iter(f"{SVG}text")):
            assert 0 <= float(element.get("x", "")) <= width
            assert 0 <= float(element.get("y", "")) <= float(svg.get("height", ""))


def drawn(chart: Chart) -> ET.Element:
    """Return the element with the drawings of a chart."""
    text = page._engine().get_template("charts.html.j2").module.gantt(chart)  # type: ignore[attr-defined]
    return next(iter(ET.fromstring(text).iter("div")))


def test_bars_are_drawn_to_scale() -> None:
    bars = (
        Bar(row="a", phase="waiting", begins=0, ends=30, says=""),
        Bar(row="b", phase="running", begins=30, ends=60, says=""),
    )
    chart = drawn_gantt(Gantt(rows=("a", "b"), bars=bars, marks=(), seconds=60, since="submission"), WIDE)
    first, second = chart.bars
    assert first.x == chart.axis.left
    assert second.x == pytest.approx(first.x + first.width)
    assert second.x + second.width == pytest.approx(chart.axis.right)
    assert second.y > first.y
    assert [tick.text for tick in chart.axis.ticks] == ["0", "10", "20", "30", "40", "50", "60"]
    assert chart.axis.title == "seconds since submission"


def test_the_word_at_the_end_of_a_row_fits() -> None:
    mark = Mark(row="a", at=60, text="failed 137", failed=True)
    bar = Bar(row="a", phase="running", begins=0, ends=60, says="")
    chart = drawn_gantt(Gantt(rows=("a",), bars=(bar,), marks=(mark,), seconds=60, since="submission"), NARROW)
    assert chart.marks[0].x + 7 * len(mark.text) < NARROW


def test_a_group_is_compared(jobs: Path, run: Runner) -> None:
    sweep(jobs, user_name())
    retried(jobs, user_name())
    assert run("report", "--group", "lr-sweep").out == "lr-sweep.report.html\n"
    words = words_of("lr-sweep.report.html")
    assert [f"sweep-{number}" in words for number in range(7)] == [True] * 6 + [False]
    found = [word in words for word in ("resnet", "learning_rate", "epochs")]
    assert found == [False, True, False], "equal parameters have no column"


def test_the_page_shows_the_same_failure_as_status(jobs: Path, run: Runner) -> None:
    failed(jobs, user_name())
    status = run("status", "broken").out
    assert run("report", "broken").code == 0
    words = words_of("broken.report.html")
    first, *others = status.splitlines()
    rows = [line for line in others if line.startswith(("exit rule ", "usually ", "  try: "))]
    assert len(rows) == 3
    for text in (first.removeprefix("failed by "), *(re.split(r"  +|try: ", row)[-1] for row in rows)):
        assert text in words


def test_a_comparison_shows_the_last_line_of_each_failed_job(jobs: Path, run: Runner) -> None:
    failed(jobs, user_name())
    sweep(jobs, user_name(), 2)
    assert run("report", "broken", "sweep-*", "-o", "three.html").out == "three.html\n"
    words = words_of("three.html")
    assert "Comparison: 3 jobs" in words
    assert "No such file or directory: 'data.csv'" in words


@pytest.mark.parametrize("backend", ["slurm", "local"])
def test_accounting_is_read_once_for_all_attempts(jobs: Path, monkeypatch: pytest.MonkeyPatch, backend: str) -> None:
    calls: list[Sequence[str]] = []

    class Sacct:
        def run(self, argv: Sequence[str], **_: object) -> Completed:
            calls.append(argv)
            lines = [
                f"4712||||||{T + 1340}|{T + 3540}|2200|node=4,gres/gpu=6|cpu-01,gpu-[06-08]|resnet-a100",
                "4712.0|1|00:10:00|1073741824|2147483648||1|2|1|node=1|n1|ps",
                "4713.1|6|00:43:00|1073741824|2147483648|gres/gpuutil=87|1|2|1|node=1|n1|worker",
                "4713.2|1|00:00:01|1048576|1048576||1|2|1|node=1|n1|worker",
                "9999.0|1|00:10:00|1073741824|2147483648||1|2|1|node=1|n1|ps",
            ]
            return Completed(status=0, stdout="\n".join(lines) + "\n", stderr="")

    monkeypatch.setattr(Session, "slurm_runner", lambda *_: Sacct())
    folder = retried(jobs, user_name())
    folder.journal.write_text(folder.journal.read_text().replace('"backend": "slurm"', f'"backend": "{backend}"'))
    (report,) = job_reports(Session(), [folder], details=True)
    if backend == "local":
        assert (calls, [attempt.usages for attempt in report.attempts]) == ([], [{}] * 3)
        return
    assert len(calls) == 1
    assert [set(attempt.usages) for attempt in report.attempts] == [set(), {"ps"}, {"worker"}]
    page = job_page(report)
    assert report.job.cost is not None
    assert report.job.cost.attempts_not_in_sacct == 2
    usage = "0.50 CPUs, 1.0 GiB of memory (at most 2.0 GiB), 87 % of its GPUs"
    expected = (usage, "lost: signal KILL (9)", "sacct does not have 2 of 3 attempts")
    assert [each for each in expected if each not in page] == []


def test_a_job_with_unreadable_files_has_a_page(jobs: Path, run: Runner) -> None:
    folder = retried(jobs, user_name())
    (folder.path / "job.yaml").write_text("name: [")
    folder.result(2).write_text("{")
    folder.script(2).unlink()
    run("report", "resnet-a100").ends(0, "result.json cannot be read")
    assert "name: [" in Path("resnet-a100.report.html").read_text()


def test_all_runs_of_a_task_are_read(tmp_path: Path) -> None:
    lines = [
        f"start 1 0 0 0 n1 0 {T}", f"exit 1 0 0 0 1 1 unknown {T + 5}", "nonsense",
        f"start 1 1 0 1 n2 0 {T + 9}", f"start 1 2 7 0 n2 0 {T + 9}", "exit 1 1 0 1 0 0 succ",
    ]  # fmt: skip
    (tmp_path / "n.log").write_text("\n".join(lines))
    runs = read_runs(tmp_path)
    assert {index: [(run.attempt, run.node, run.ended) for run in found] for index, found in runs[1].items()} == {
        0: [(0, "n1", T + 5), (1, "n2", None)],
        7: [(0, "n2", None)],
    }
    assert read_runs(tmp_path / "none") == {}


@pytest.mark.root("gives files to another user")
def test_a_file_of_another_user_is_not_read(jobs: Path, run: Runner, tmp_path: Path) -> None:
    folder = retried(jobs, user_name())
    mine = tmp_path / "mine"
    mine.write_text("parameters: {mine: quetzal}\n")
    os.chown(mine, 12345, 12345)
    for path in (folder.path / "job.yaml", folder.script(2)):
        path.unlink()
        path.symlink_to(mine)
    assert run("report", "resnet-a100").code == 0
    page = Path("resnet-a100.report.html").read_text()
    assert ("quetzal" in page, "epochs" in page) == (False, True), "the script of the previous attempt is shown"


def test_only_the_newest_attempts_show_tasks(jobs: Path, run: Runner) -> None:
    made = Made(jobs, user_name(), "often", [("worker", 1)])
    for attempt in range(DETAILED + 2):
        made.submitted(attempt, T + 10 * attempt, starts=T + 10 * attempt + 2)
    assert run("report", "often").code == 0
    page = Path("often.report.html").read_text()
    said = "Tasks of earlier attempts are not shown."
    assert (page.count('class="attempt"'), said in page) == (DETAILED, True)
