"""The picture of the placement: the nodes as the plan has them, with the names under which the tasks ran."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from paislurm.translator.app.session import user_name
from paislurm.translator.planning.placement.model import JobPlacement
from paislurm.translator.report.charts import NARROW, WIDE
from paislurm.translator.report.placement_chart import drawn_placement, named_nodes

from ..planning.test_gpus import role
from ..planning.test_placement import DGX, placed
from . import made

if TYPE_CHECKING:
    from pathlib import Path

    from ..cli.running import Runner

MANY = DGX.replace("count: 4", "count: 99")
TEXT = re.compile(r"<text[^>]*>([^<]*)</text>")


@pytest.fixture
def site(tmp_path: Path) -> str:
    file = tmp_path / "site.yaml"
    file.write_text(f"partitions: {{gpu: {{nodes: [{MANY}]}}}}\ndefaultPartition: gpu\n")
    return str(file)


def shown(run: Runner, tmp_path: Path, *words: str) -> tuple[list[str], str]:
    """Return the texts of the wide picture, and the section of the page."""
    assert run("report", *words, "-o", "page.html").code == 0
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    section = page.partition('<section id="placement"')[2].partition("</section>")[0]
    return TEXT.findall(section.partition('<div class="narrow">')[0]), section


def test_nodes_have_the_names_under_which_tasks_ran(jobs: Path, run: Runner, tmp_path: Path, site: str) -> None:
    made.placed(jobs, user_name())
    texts, section = shown(run, tmp_path, "placed", "--site", site)
    assert texts.index("dgx2") >= 0
    assert texts.index("ps-0: 4 CPUs") < texts.index("GPU 2: worker-0 (GPUs only)") < texts.index("GPU 5: worker-7")
    assert "dgx1: worker-5: CPUs in domain 6, but GPU 4 in domain 7" in section
    assert "<details open>" in section


def test_tasks_on_other_nodes_than_planned_have_no_domains(jobs: Path, run: Runner, tmp_path: Path, site: str) -> None:
    made.placed(jobs, user_name(), ("dgx1", "dgx1"))
    texts, section = shown(run, tmp_path, "placed", "--site", site)
    assert texts == ["ps-0: 4 CPUs", "worker-[0-7]: 32 CPUs and 1 GPU each", "dgx1", "9 tasks"]
    assert "domain" not in section.replace('class="domain"', "")


def test_without_known_nodes_the_reports_of_tasks_place_them(jobs: Path, run: Runner, tmp_path: Path) -> None:
    made.retried(jobs, user_name())
    texts, _ = shown(run, tmp_path, "resnet-a100")
    assert [text for text in texts if "-0" in text] == ["ps-0", "cpu-01", "gpu-06", "gpu-07", "gpu-08"]


@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_everything_is_within_its_node(width: int) -> None:
    found = placed({"a_role_with_a_rather_long_name": role(128, 2, 8)}, MANY, {})
    drawing = drawn_placement(named_nodes(found, ()), ["a"], width, whole=True)
    nodes = [box for box in drawing.boxes if box.kind == "node"]
    assert len(nodes) == len(found.nodes) == 32
    for part in (*drawing.boxes, *drawing.chips):
        height = getattr(part, "height", drawing.chip_height)
        assert any(
            node.x <= part.x and part.x + part.width <= node.x + node.width
            and node.y <= part.y and part.y + height <= node.y + node.height
            for node in nodes
        )  # fmt: skip
    assert max(node.y + node.height for node in nodes) <= drawing.height


def test_many_nodes_are_folded(jobs: Path, run: Runner, tmp_path: Path, site: str) -> None:
    folder = made.placed(jobs, user_name(), ("", "")).path
    (folder / "job.yaml").write_text(made.PLACED.replace("instances: 8", "instances: 640"))
    texts, section = shown(run, tmp_path, "placed", "--site", site)
    assert "<details>" in section
    assert {"node 1", "node 64"} < set(texts)
    assert "17 more nodes not shown" in section


def test_nothing_is_placed_without_a_node() -> None:
    empty = JobPlacement(job="x", layout="het", whole_nodes=False, nodes=(), notes=())
    assert named_nodes(empty, ()) == []
