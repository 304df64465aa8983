"""What variables of the submitting shell ask of sbatch: below the job file and options, above the site's defaults."""

from __future__ import annotations

import io
import sys
from typing import Any

import pytest

from paislurm.translator.app.input.job_input import text_of
from paislurm.translator.app.input.source import Source
from paislurm.translator.app.input.submit_host import VARIABLES, with_shell_options
from paislurm.translator.app.session import Session
from paislurm.translator.errors import UsageError
from paislurm.translator.site.load import load_site

ALL = {
    "SBATCH_ACCOUNT": "mine",
    "SBATCH_PARTITION": "fast",
    "SBATCH_QOS": "high",
    "SBATCH_RESERVATION": "monday",
    "SBATCH_TIMELIMIT": "30",
}
DEFAULTS = """\
partitions: {gpu: {}, fast: {}}
virtualClusters:
  default: {partition: gpu, account: research, qos: normal, reservation: sunday}
  mapped: {partition: gpu, account: research, qos: normal, reservation: sunday}
  open: {}
priorities: {prod: {qos: urgent}}
time: {default: 60}
"""
V2 = "protocolVersion: 2\nname: demo\ntype: job\n"
V1 = '{"jobName": "demo", "virtualCluster": "mapped"}'
EXTRAS = "extras: {slurm: {account: a, partition: p, qos: q, reservation: r, time: 5}}\n"
ROLE = "extras: {slurm: {taskRoles: {w: {account: a}, v: {qos: q}}}}\n"


def options_of(
    text: str = V2, profile: str = DEFAULTS, environment: dict[str, str] = ALL, **source: Any
) -> tuple[dict[str, str], list[str]]:
    """Return the options of a source of this text in a shell with these variables, and what is said."""
    said: list[str] = []
    session = Session(environment=environment, say=lambda event: said.append(str(event)))
    given = Source(file="job.yaml", text=text.encode(), **source)
    return dict(with_shell_options(session, given, load_site(profile, file="site.yaml")).slurm), said


def test_each_variable_counts_before_the_defaults_of_the_profile() -> None:
    options, said = options_of()
    assert options == {VARIABLES[name]: value for name, value in ALL.items()}
    (line,) = said
    assert all(f"{VARIABLES[name]} {value} ({name})" in line for name, value in ALL.items())


@pytest.mark.parametrize("variable", VARIABLES)
@pytest.mark.parametrize(
    ("text", "profile", "source"),
    [
        (V2 + EXTRAS, DEFAULTS, {}),
        (V2, DEFAULTS, {"slurm": tuple((option, "given") for option in VARIABLES.values())}),
        (V2, DEFAULTS + "locked: [virtualClusters, time]\n", {}),
    ],
    ids=["job file", "options", "locks"],
)
def test_what_counts_before_a_variable(variable: str, text: str, profile: str, source: dict[str, Any]) -> None:
    options, (said,) = options_of(text, profile, {variable: ALL[variable]}, **source)
    assert options == dict(source.get("slurm", ()))
    assert said.startswith(f"not used of your shell: {variable}, as ")


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        (V2 + "defaults: {virtualCluster: mapped}\n", {"time"}),
        (V1, {"time"}),
        (V2 + "defaults: {virtualCluster: open}\n", {*VARIABLES.values()}),
        (V2 + "extras: {hivedScheduler: {jobPriorityClass: prod}}\n", {*VARIABLES.values()} - {"qos"}),
        (V2 + ROLE, {*VARIABLES.values()} - {"account", "qos"}),
    ],
    ids=["virtual cluster", "v1", "open virtual cluster", "priority class", "roles"],
)
def test_what_the_profile_maps_for_the_job_counts_as_the_job_file(text: str, kept: set[str]) -> None:
    assert options_of(text)[0].keys() == kept


@pytest.mark.parametrize(
    ("more", "source"), [({"SLURM_JOB_ID": "7"}, {}), ({}, {"backend": "local"}), ({}, {"backend": "ssh:login"})]
)
def test_where_no_variable_counts(more: dict[str, str], source: dict[str, Any]) -> None:
    """In an allocation Slurm itself has set them; they are not those of another cluster's login node."""
    assert options_of(environment={**ALL, **more}, **source) == ({}, [])


def test_other_variables_are_named_once() -> None:
    options, said = options_of(environment={"SBATCH_CONSTRAINT": "ib", "SLURM_CLUSTERS": "far", "SLURM_CONF": "/x"})
    assert (options, len(said)) == ({}, 1)
    assert "SBATCH_CONSTRAINT, which only sbatch itself reads; SLURM_CLUSTERS, which" in said[0]
    assert "SLURM_CONF" not in said[0]


def test_an_impossible_value_names_its_variable() -> None:
    with pytest.raises(UsageError, match="SBATCH_TIMELIMIT='never': expected a time limit"):
        options_of(environment={"SBATCH_TIMELIMIT": "never"})


def test_a_job_file_on_standard_input_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(V2.encode())))
    source = with_shell_options(
        Session(environment=ALL, say=lambda _: None), Source(file="-"), load_site(DEFAULTS, file="site.yaml")
    )
    assert text_of(source) == V2.encode()
