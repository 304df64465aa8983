"""Files of another kind are known by what is in them, and no job file is taken for one."""

from __future__ import annotations

import pytest
import yaml

from paislurm.translator.errors import ProtocolError
from paislurm.translator.reading.read import read
from paislurm.translator.reading.unreadable import SITE_KEYS, error_of_mapping, error_of_text
from paislurm.translator.site.profile import Site

from ..protocol.jobs import JOB
from ..protocol.jobs_v1 import job as job_v1


def test_keys_that_identify_a_profile_occur_in_no_job_file() -> None:
    assert {each.alias for each in Site.model_fields.values()} >= SITE_KEYS
    assert not SITE_KEYS & JOB.keys()


def test_job_files_are_not_mistaken_for_other_kinds() -> None:
    assert error_of_mapping(JOB, "job.yaml") is None
    assert error_of_mapping({**JOB, "services": {}, "partitions": {}}, "job.yaml") is None
    assert error_of_mapping(yaml.safe_load(job_v1()), "job.json") is None
    assert error_of_mapping({"name": "x"}, "job.yaml") is None
    assert error_of_mapping(["a"], "job.yaml") is None


@pytest.mark.parametrize("text", ["#!/bin/sh\n#SBATCH -N 1\nprotocolVersion: 2\n", "a: b: c\n", "", "import: [x\n"])
def test_errors_of_a_job_file_are_reported(text: str) -> None:
    assert error_of_text(text, "job.yaml") is None


def test_an_invalid_job_file_with_an_sbatch_line_is_not_a_script() -> None:
    with pytest.raises(ProtocolError) as error:
        read("protocolVersion: 2\n#SBATCH -N 1\na: b: c\n", file="job.yaml")
    assert [each.code for each in error.value.diagnostics] == ["E104"]


def test_a_thousand_brackets_are_reported_as_nesting() -> None:
    with pytest.raises(ProtocolError, match=r"E104: values are nested too deep\n.*\n.*\nhint: look for"):
        read("a: " + "[" * 2000, file="job.yaml")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: [\n", "a list in `\\[ \\]` is not closed, or lacks a comma"),
        ("a: [b, {c: [\n\n", "a list in `\\[ \\]` is not closed, or lacks a comma"),
        ("a: [, b]\n", "expected a value"),
        ("%YAML 9.9\n---\na: b\n", "this version of YAML is unknown"),
    ],
)
def test_the_rest_of_the_file_decides_what_is_missing(text: str, message: str) -> None:
    with pytest.raises(ProtocolError, match=f"error E104: {message}\n"):
        read(text, file="job.yaml")
