"""A script with other options of sbatch in its head."""

from __future__ import annotations

from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paislurm.backends.batch_script import components, with_options
from paislurm.translator.slurm_options import is_plain
from tests.golden.remake import CASES, Case, compiled

HET = """\
#!/bin/bash -p
# Component 0, for task role ps.
#SBATCH --job-name=demo
#SBATCH --time=01:00:00
#SBATCH --signal=B:USR1@60
#SBATCH --partition=old
#SBATCH --ntasks=1
#SBATCH hetjob
# Component 1.
#SBATCH --ntasks=2
#
# More.
unset -v x
#SBATCH --partition=kept
"""

names = st.sampled_from(["partition", "account", "qos", "nice"])
values = st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=1, max_size=12)


@cache
def golden(case: Case) -> str:
    return compiled(case).script


def test_every_component_has_the_new_options_and_the_first_the_time() -> None:
    changed = with_options(HET, {"time": "02:00:00", "partition": "new"})
    first, second = components(changed)
    assert dict(first.options) == {
        "job-name": "demo", "time": "02:00:00", "signal": "B:USR1@60", "partition": "new", "ntasks": "1",
    }  # fmt: skip
    assert dict(second.options) == {"ntasks": "2", "partition": "new"}
    assert changed.endswith("#\n# More.\nunset -v x\n#SBATCH --partition=kept\n")


def test_a_short_limit_has_no_warning() -> None:
    assert "signal" in components(with_options(HET, {"time": "00:06:00"}))[0].options
    assert "signal" not in components(with_options(HET, {"time": "00:05:00"}))[0].options


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"partition": ""},
        {"partition": "a b"},
        {"partition": "a\n#SBATCH --uid=0"},
        {"partition": "a#b"},
        {"time": "later"},
        {"time": "0"},
    ],
)
def test_values_invalid_in_a_directive_change_nothing(options: dict[str, str]) -> None:
    assert with_options(HET, options) == HET


@given(case=st.sampled_from(CASES), options=st.dictionaries(names, values))
def test_nothing_but_these_options_differs(case: Case, options: dict[str, str]) -> None:
    script = golden(case)
    changed = with_options(script, options)
    plain = {name: value for name, value in options.items() if is_plain(value)}
    assert [component.options for component in components(changed)] == [
        {**component.options, **plain} for component in components(script)
    ]
    others = [line for line in script.split("\n") if not line.startswith("#SBATCH --")]
    assert [line for line in changed.split("\n") if not line.startswith("#SBATCH --")] == others
    assert with_options(changed, options) == changed
