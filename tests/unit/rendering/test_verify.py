"""Whatever is changed in a script is noticed, and what the compiler writes is never taken for a change."""

from __future__ import annotations

import json
import os
import random
import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from paislurm.translator.cli.commands.program.runtime import command as runtime_command
from paislurm.translator.errors import PaislurmError
from paislurm.translator.pipeline import compile_job
from paislurm.translator.planning.settings.choose import job_settings, role_settings
from paislurm.translator.planning.settings.setting import Setting
from paislurm.translator.rendering.command_grammar import OURS_OF_SBATCH
from paislurm.translator.rendering.runtime_bundle import ALL_USES, SEAL, runtime, uses_of
from paislurm.translator.rendering.verify import verify
from paislurm.translator.site.container_runtimes import RUNTIME_NAMES
from paislurm.translator.site.load import load_site
from tests.golden.remake import CASES, compiled, whole_script

if TYPE_CHECKING:
    from paislurm.translator.planning.plan import Plan

VERSION = "1.0"
"""That of the golden scripts."""


@cache
def script(position: int) -> str:
    return whole_script(CASES[position])


@pytest.mark.parametrize("position", range(len(CASES)), ids=[case.name for case in CASES])
def test_what_the_compiler_writes_is_genuine(position: int) -> None:
    verdict = verify(script(position), VERSION)
    assert verdict.diagnostics == ()
    assert not verdict.edited
    assert verdict.uses == uses_of(compiled(CASES[position]).plan)


@pytest.mark.parametrize("position", range(len(CASES)), ids=[case.name for case in CASES])
def test_what_is_left_to_read_are_the_texts_of_the_job(position: int) -> None:
    """The commands and the steps, line for line, raw options, and what the site or the job names of the outside."""
    plan, lines = compiled(CASES[position]).plan, script(position).split("\n")
    passages = verify(script(position), VERSION).to_read
    role_text = re.compile(r"(commands|(start|success|failure|exit)_\d+) of task role .+")
    texts = ["\n".join(lines[each.first - 1 : each.last]) for each in passages if role_text.match(each.what)]
    for role in plan.roles:
        assert role.command.text in texts
    assert len(texts) == sum(
        1 + bool(plan.environment.of_commands) + len(role.before) + len(role.after) for role in plan.roles
    )
    raw = [name for part in plan.components for name, _ in part.directives if name not in OURS_OF_SBATCH]
    assert sum("option" in each.what for each in passages) == len(raw)
    others = {each.what.partition(",")[0] for each in passages if not role_text.match(each.what)}
    settings = {f"PSL_{row.name}" for row in settings_of(plan) if row.name in TO_READ}
    assert settings <= others


def settings_of(plan: Plan) -> list[Setting]:
    return [*job_settings(plan), *(row for role in plan.roles for row in role_settings(role, plan))]


TO_READ = ("MOUNTS", "SYSFS", "IMAGE_CACHE", "CERTIFICATES", "LOGIN_FILE", "REFERENCE_OF", "IMAGE_OF", "WORKDIR")


CHANGES = (
    lambda line: line + " ",
    lambda line: line[:-1],
    lambda line: f"{line}; id",
    lambda line: line.replace("=", "=$(id)", 1),
    lambda line: f"id\n{line}",
    lambda line: line[:0],
    lambda line: line.swapcase(),
)


def test_a_change_of_any_line_is_noticed() -> None:
    """By the form of the head, by the runtime, or by the hash of the head, which tells that it was edited."""
    dice = random.Random(12)
    for _ in range(1000):
        lines = script(dice.randrange(len(CASES))).split("\n")
        number = dice.randrange(len(lines) - 1)
        changed = dice.choice(CHANGES)(lines[number])
        if changed == lines[number]:
            continue
        verdict = verify("\n".join([*lines[:number], changed, *lines[number + 1 :]]), VERSION)
        assert verdict.diagnostics or verdict.edited, (number, lines[number], changed)
        behind = number > next(at for at, line in enumerate(lines) if line.startswith(SEAL)) + 1
        assert verdict.diagnostics or not behind


def test_bash_in_the_head_is_no_edit() -> None:
    """What would run on the batch node, or change what sbatch and srun do, is a fault of its line."""
    whole = script([case.name for case in CASES].index("parameter-server-het"))
    for before, after in (
        ("PSL_GRACE=5", "PSL_GRACE=$(id)"),
        ("PSL_GRACE=5", "PSL_GRACE='5'\\'`id`''"),
        ("PSL_GRACE=5", "PATH=/evil"),
        ("PSL_GRACE=5", "PSL_SCRIPT=/evil"),
        ("\njob_environment() {\n", "\njob_environment() {\n  id\n"),
        ("export PAI_JOB_NAME='", "export PAI_JOB_NAME=x'\"$(id)\"'"),
        ("--ntasks=2", "--ntasks=2 --export=NONE"),
        ("--ntasks=2 \\\n", "--ntasks=2 --uid=0 \\\n"),
        ('bash -p "$PSL_SCRIPT"', "bash -p /evil"),
        ("#SBATCH --nodes=1\n", "#SBATCH --nodes=1\n#SBATCH --wrap=id\n"),
        ("\ncommands_of_role_0() {\n", "\ncd() { :; }\n\ncommands_of_role_0() {\n"),
        ("\nEND_OF_COMMANDS\n}\n", "\nEND_OF_COMMANDS\n  id\n}\n"),
        ("#!/bin/bash -p\n", "#!/bin/sh\n"),
        ("set -u +o posix\n", "set -x\n"),
    ):
        assert before in whole, before
        verdict = verify(whole.replace(before, after, 1), VERSION)
        assert verdict.diagnostics, after


def test_what_all_roles_have_alike_is_there_where_a_role_calls_for_it() -> None:
    whole = script([case.name for case in CASES].index("parameter-server-het"))
    without = re.sub(r"environment_of_every_role\(\) \{\n.*?\n\}\n", "", whole, count=1, flags=re.DOTALL)
    assert without != whole
    assert "there is no environment_of_every_role" in [fault for _, fault in verify(without, VERSION).diagnostics]
    assert not verify(without.replace("  environment_of_every_role\n", ""), VERSION).diagnostics


TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=30)
WORDS = st.from_regex(r"[a-z_][a-z0-9_]{0,7}", fullmatch=True)
TRAPS = st.sampled_from(("END_OF_COMMANDS", "}", "'", f"{SEAL}1.0", "#SBATCH --wrap=id", "a'\\''b"))
LINES = st.lists(TEXTS | TRAPS, min_size=1, max_size=4)


@st.composite
def job_files(draw: st.DrawFn) -> bytes:
    """Make a job of any words in every place where the protocol takes texts."""
    roles = {
        name: {
            "instances": draw(st.integers(1, 5)),
            "dockerImage": "image",
            "resourcePerInstance": {"cpu": 1, "memoryMB": draw(st.integers(1, 900)), "gpu": draw(st.integers(0, 2))},
            "completion": {"minFailedInstances": draw(st.integers(1, 3)), "minSucceededInstances": -1},
            "taskRetryCount": draw(st.integers(-2, 3)),
            "commands": draw(LINES),
        }
        for name in draw(st.lists(WORDS, min_size=1, max_size=3, unique=True))
    }
    slurm = {
        "gangAllocation": draw(st.booleans()),
        "layout": "shared" if draw(st.booleans()) else None,
        "workdir": draw(st.sampled_from(("task", "submit", "/it's here"))),
        "exportEnv": draw(st.none() | st.lists(WORDS, max_size=2)),
    }
    chosen = {key: value for key, value in slurm.items() if value is not None}
    gang = chosen.pop("gangAllocation")
    return json.dumps(
        {
            "protocolVersion": 2,
            "type": "job",
            "name": draw(st.from_regex(r"[a-zA-Z0-9_-]{1,20}", fullmatch=True)),
            "prerequisites": [{"type": "dockerimage", "name": "image", "uri": "python:3"}],
            "taskRoles": roles,
            "extras": {"gangAllocation": gang, "slurm": chosen},
        }
    ).encode()


@given(file=job_files(), runtime=st.sampled_from(RUNTIME_NAMES), vendor=st.sampled_from(("nvidia", "amd")))
@settings(max_examples=60, deadline=None, derandomize=True)
def test_scripts_of_any_job_are_genuine(file: bytes, runtime: str, vendor: str) -> None:
    profile = f"containers: {{runtime: {runtime}, cache: /c, mounts: [/a b]}}\ngpus: {{vendor: {vendor}}}\n"
    profile += "partitions: {all: {nodes: [{count: 9, cpus: 64, memoryMB: 64000, gpus: 8}]}}\ndefaultPartition: all"
    site = load_site(profile.encode(), file="site.yaml")
    try:
        whole = compile_job(file, site=site, version=VERSION).script
    except PaislurmError as error:
        # Each fault of such a job is one of its words; most have none.
        assert error.diagnostics
        return
    event("compiled")
    verdict = verify(whole, VERSION)
    assert (verdict.diagnostics, verdict.edited) == ((), False)


def jobs() -> list[Path]:
    examples = Path(__file__).parents[3] / "examples"
    folder = os.environ.get("PAISLURM_OPENPAI_JOBS")
    published = [*Path(folder).glob("v[12]/**/*.yaml"), *Path(folder).glob("v[12]/**/*.json")] if folder else []
    return [*(file for file in sorted(examples.glob("*.yaml")) if file.stem != "site"), *sorted(published)]


@pytest.mark.parametrize("file", jobs(), ids=lambda file: file.stem)
def test_scripts_of_examples_and_published_jobs_are_genuine(file: Path) -> None:
    try:
        whole = compile_job(file.read_bytes(), file=file.name, version=VERSION).script
    except PaislurmError as error:
        assert error.diagnostics
        return
    verdict = verify(whole, VERSION)
    assert (verdict.diagnostics, verdict.edited) == ((), False)


def test_an_edit_of_the_right_form_is_told_and_allowed() -> None:
    whole = script([case.name for case in CASES].index("parameter-server-het"))
    verdict = verify(whole.replace("PSL_GRACE=5 ", "PSL_GRACE=60 ").replace("--mem=200M", "--mem=300M"), VERSION)
    assert (verdict.diagnostics, verdict.edited) == ((), True)
    raw = verify(whole.replace("#SBATCH --nodes=1\n", "#SBATCH --nodes=1\n#SBATCH --contiguous\n", 1), VERSION)
    assert raw.diagnostics == ()
    assert raw.to_read[0].what == "raw option of sbatch, --contiguous"


def test_a_seal_in_the_commands_deceives_nobody() -> None:
    whole = script([case.name for case in CASES].index("hello"))
    seal = whole[whole.index(SEAL) :]
    assert verify(whole.replace("\nEND_OF_COMMANDS\n", f"\n{seal}\nEND_OF_COMMANDS\n", 1), VERSION).edited
    evil = whole[: whole.index(SEAL)] + "id\n" + whole[whole.index(SEAL) :]
    assert verify(evil, VERSION).diagnostics


@pytest.mark.parametrize(
    ("text", "message"),
    [("", "no seal"), ("#!/bin/bash\nid\n", "no seal"), (f"x\n{SEAL}1.0 and more\n", "not of the form")],
)
def test_what_is_no_script_of_ours_is_told(text: str, message: str) -> None:
    ((_, told),) = verify(text, VERSION).diagnostics
    assert message in told


def test_the_runtime_of_another_version_is_not_judged() -> None:
    ((_, told),) = verify(script(0), "7.0").diagnostics
    assert "paislurm 1.0, and this is 7.0" in told


def test_a_runtime_has_only_what_is_asked_for() -> None:
    assert len(runtime(())) < len(runtime(("slots",))) < len(runtime(tuple(use for use in ALL_USES if use != "podman")))


def test_the_help_of_runtime_names_all_parts() -> None:
    named = (runtime_command.help or "").partition("names it: ")[2].partition(".")[0]
    assert tuple(" ".join(named.split()).split(", ")) == ALL_USES


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("protocolVersion: 2\nname: demo\n", "this is a job file, no script: `paislurm check`"),
        ('{\n  "jobName": "demo"\n}\n', "this is a job file, no script"),
        ('{"protocolVersion": 2}', "this is a job file, no script"),
        (
            "partitions:\n  batch: {}\n",
            "there is no seal of a paislurm runtime, and no `#!` at the beginning of a script: `paislurm script`",
        ),
        ("", "there is no seal of a paislurm runtime, and no `#!`"),
        ("#!/bin/bash\n# protocolVersion: 2\n", "there is no seal of a paislurm runtime"),
    ],
)
def test_a_file_of_another_kind_is_told_as_such(text: str, says: str) -> None:
    [(line, message)] = verify(text, VERSION).diagnostics
    assert (line, message[: len(says)]) == (1, says)
