"""The tables at the end of the contract suite."""

from __future__ import annotations

import re

from tests.contract.tried import LINE, README, line


def test_the_readme_has_one_sentence_about_tested_versions() -> None:
    (said,) = LINE.findall(README.read_text(encoding="utf-8"))
    parts = re.search(r" on (\d{4}-\d\d-\d\d) with Slurm (.*)\.", said)
    assert parts
    versions = {suite: version for version, suite in re.findall(r"(\d\d\.\d\d\.\d+) \(Debian (\w+)\)", parts[2])}
    assert len(versions) == 3
    assert line(parts[1], versions) == said
