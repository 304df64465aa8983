"""Tests of the links between the lines of the job file and of the script."""

from __future__ import annotations

from paislurm.translator.pipeline import compile_job
from paislurm.translator.rendering.provenance import origins
from paislurm.translator.report.links import MAX_LINES, head_of, linked

from .made import STORY


def test_links_go_both_ways() -> None:
    compiled = compile_job(STORY)
    head = head_of(compiled.script)
    rows = [(each.line, each.job_lines, each.rule) for each in origins(compiled.plan, compiled.document)]
    source = linked(STORY.splitlines(), head, head, rows)
    assert source.note == ""
    assert any(line.links for line in source.script)
    for line in source.script:
        assert all(line.number in source.job[number - 1].links for number in line.links)
    for line in source.job:
        assert all(line.number in source.script[number - 1].links for number in line.links)
    (name,) = [line for line in source.script if line.text == "#SBATCH --job-name=resnet-a100"]
    assert [source.job[number - 1].text for number in name.links] == ["name: resnet-a100"]


def test_a_script_that_differs_keeps_the_links_of_its_other_lines() -> None:
    compiled = ["#!/bin/bash", "#SBATCH --a=1", "#SBATCH --b=2"]
    source = linked(
        ["a: 1", "b: 2"], ["#!/bin/bash", "#SBATCH --x", "#SBATCH --b=2"], compiled, [(2, (1,), ""), (3, (2,), "")]
    )
    assert [line.links for line in source.script] == [(), (), (2,)]
    assert [line.links for line in source.job] == [(), (3,)]
    assert source.note == "1 line of the script differs from a new compilation of the job file, and has no links"


def test_long_files_are_cut() -> None:
    source = linked(["x"] * (MAX_LINES + 1), ["y"], ["y"], [(1, (MAX_LINES + 1, 1), "")])
    assert len(source.job) == MAX_LINES
    assert source.script[0].links == (1,)
    assert f"only the first {MAX_LINES} lines" in source.note


def test_the_head_ends_where_the_runtime_begins() -> None:
    assert head_of("a\n# ---- paislurm runtime 0.2.0, sha256 0\nb\n") == ["a"]
    assert head_of("a\nb") == ["a", "b"]
