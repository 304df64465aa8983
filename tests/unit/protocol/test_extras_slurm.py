"""What a job says to Slurm under `extras.slurm`: what may stand there, and what it comes to."""

from __future__ import annotations

from datetime import timedelta

import pytest

from paislurm.translator.job import AS_LONG_AS_ALLOWED
from paislurm.translator.pipeline import compile_job
from paislurm.translator.protocol.extras_slurm import SlurmExtras, SlurmRole
from paislurm.translator.protocol.raw_options import SBATCH, SRUN
from paislurm.translator.site.profile import Site
from paislurm.translator.slurm_options import PASS_THROUGH, RoleSlurmOptions

from .jobs import check, error_codes, faults, job


@pytest.mark.parametrize(
    ("written", "limit"),
    [
        ("60", timedelta(hours=1)),
        ("010", timedelta(minutes=10)),
        ("90.0", None),
        ("2:30", timedelta(minutes=2, seconds=30)),
        ("1:30:00", timedelta(minutes=90)),
        ("01:30:00", timedelta(minutes=90)),
        ("'1:30:00'", timedelta(minutes=90)),
        ("36:00:00", timedelta(hours=36)),
        ("1-12", timedelta(days=1, hours=12)),
        ("1-12:30", timedelta(days=1, hours=12, minutes=30)),
        ("7-00:00:01", timedelta(days=7, seconds=1)),
        ("2020-01-01", None),
        ("0", None),
        ("0:00", None),
        ("-5", None),
        ("1:2:3:4", None),
        ("1::2", None),
        ("':30'", None),
        ("1-", None),
        ("unlimited", None),
        ("'60\n'", None),
        ("true", None),
        ("99999999999999", None),
    ],
)
def test_time_limits(written: str, limit: timedelta | None) -> None:
    """YAML reads 1:30:00 as 5400 and 010 as 8; Slurm and the user mean 90 minutes and 10 minutes."""
    text = job() + f"extras:\n  slurm:\n    time: {written}\n"
    if limit is None:
        assert error_codes(text) == ["E203"]
    else:
        assert check(text).job.slurm_options.job.time == limit


LINES = ["a b", "a\nb", "a'b", 'a"b', "a\\b", "a#b", "", "\x1b", "a\u2028b", 5]
"""Values that are invalid in a line of sbatch."""
VARIABLES = ["*", "A=1", "", "A B", "A|B", "1A", "A*B", "$A", "\u00c4", "A\n", 5, None, ["A"]]
INVALID: dict[str, list[object]] = {
    "account": LINES,
    "partition": LINES,
    "constraint": LINES,
    "exclude": ["", ",", "a,", "a,,b", "node[1-", "node]", "/etc/hosts", "a b", "-x", "node[]"],
    "options": [
        [option] for option in ("nice=5", "--", "--nice 5", "--nice=5\n--wrap=id", "--nice=", "--Nice=5", 5, "--x=a'b")
    ],
    "isDebug": ["soon", "", 0, -1, 1.5, [30], "30m"],
    "exportEnv": ["some", "HOME", 1, {}, {"HOME": "/"}, *(["HOME", name] for name in VARIABLES)],
    "resumes": [
        "/data/*",
        *({"file": pattern} for pattern in ("", "data/*", "~/x", "./a\nb", "/", 5)),
    ],
    "workdir": [
        "", "data", "../data", "./../data", "./a/..", ".", "./a\nb", "~", "~/data", "$HOME", "/a\nb", "/a\u2028b", 5,
        ["/a"],
    ],
}  # fmt: skip
VALID: dict[str, list[object]] = {
    "constraint": ["a100|v100", "[rack1|rack2]", "ib&gpu*4", "(a|b)&c"],
    "exclude": (HOSTS := ["node1", "node[01-04,7],gpu-3.cluster", "n[1-2]m[3-4]"]),
    "nodelist": HOSTS,
}


@pytest.mark.parametrize(("key", "value"), [(key, value) for key, values in INVALID.items() for value in values])
def test_invalid_values_are_refused(key: str, value: object) -> None:
    assert error_codes(job(f"extras/slurm/{key}", value)) == ["E203"]


@pytest.mark.parametrize("value", [{"log": "("}, {"files": "./x"}])
def test_unknown_keys_of_checkpoints_are_refused(value: object) -> None:
    assert error_codes(job("extras/slurm/resumes", value)) in (["E201"], ["E203"])


@pytest.mark.parametrize("key", ["account", "partition", "constraint"])
def test_null_is_no_value(key: str) -> None:
    assert check(job(f"extras/slurm/{key}", None)).job.slurm_options.job == RoleSlurmOptions()


@pytest.mark.parametrize(("key", "value"), [(key, value) for key, values in VALID.items() for value in values])
def test_valid_constraints_and_host_lists_are_accepted(key: str, value: str) -> None:
    assert check(job(f"extras/slurm/{key}", value)).job.slurm_options.job.pass_through == {key: value}


@pytest.mark.parametrize("option", ["--nice=5", "--exclusive", "--licenses=a:1", "--hint=nomultithread", "--begin=now"])
def test_raw_options(option: str) -> None:
    assert check(job("extras/slurm/options", [option])).job.slurm_options.job.options == (option,)


@pytest.mark.parametrize("name", sorted(SBATCH))
def test_options_set_by_paislurm_and_their_abbreviations_are_refused(name: str) -> None:
    assert error_codes(job("extras/slurm/options", [f"--{name}", f"--{name}=1", f"--{name[:-1]}=1"])) == ["E207"] * 3


UNDER_BINDING = "write it under `extras.slurm.binding` or `extras.slurm.srun`"


@pytest.mark.parametrize("name", sorted(SRUN))
def test_forbidden_srun_options_are_refused_with_a_reason(name: str) -> None:
    for option in (f"--{name}", f"--{name}=1"):
        (found,) = faults(job("extras/slurm/srun", [option]))
        assert (found.code, bool(found.hint)) == ("E207", True)


@pytest.mark.parametrize(
    ("key", "option", "hint"),
    [
        ("options", "--cpu-bind=cores", f"{UNDER_BINDING}: it concerns tasks, not the allocation"),
        ("options", "--tres-bind=gres/gpu:closest", f"{UNDER_BINDING}: it concerns tasks, not the allocation"),
        ("options", "--partitio=x", "sbatch reads it as `--partition`: write `partition` under `extras.slurm` instead"),
        ("options", "--mem=4", "`resourcePerInstance` and the planner set the resources of a task"),
        ("srun", "--distribution=block", "the planner places each task with a host file"),
        ("srun", "--mpi=none", "`mpi` under `extras.slurm` sets the plugin"),
    ],
)
def test_refused_options_have_a_reason(key: str, option: str, hint: str) -> None:
    (found,) = faults(job(f"extras/slurm/{key}", [option]))
    assert (found.code, found.hint) == ("E207", hint)


@pytest.mark.parametrize(
    "option",
    ["--cpu-bind=cores", "--gpu-bind=closest", "--tres-bind=gres/gpu:per_task", "--mem-bind=local",
     "--hint=multithread", "--gres-flags=allow-task-sharing", "--ntasks-per-socket=1", "--threads-per-core=1",
     "--network=sn_all"],
)  # fmt: skip
def test_options_of_srun_reach_the_step(option: str) -> None:
    text = job("extras/slurm", {"srun": [option], "taskRoles": {"worker": {"srun": ["--cpu-freq=high"]}}})
    plan = compile_job(text, site=Site.of()).plan
    name, _, value = option[2:].partition("=")
    assert plan.roles[0].step_options[-2:] == ((name, value), ("cpu-freq", "high"))


def test_slurm_options_of_a_role_are_read() -> None:
    slurm = {
        "layout": "shared",
        "partition": "cpu",
        "taskRoles": {"worker": {"partition": "gpu", "slots": 2, "options": ["--nice=1"]}},
    }
    checked = check(job("extras", {"slurm": slurm, "gangAllocation": False}))
    assert not checked.warnings
    assert checked.job.slurm_options.layout == "shared"
    assert checked.job.slurm_options.job.pass_through["partition"] == "cpu"
    assert checked.job.roles[0].slurm_options == RoleSlurmOptions(
        pass_through={"partition": "gpu"}, slots=2, options=("--nice=1",)
    )


@pytest.mark.parametrize("name", PASS_THROUGH)
def test_every_forwarded_option_is_a_key_of_jobs_and_roles(name: str) -> None:
    extras = {name: "a", "taskRoles": {"worker": {name: "b"}}}
    job_of_both = check(job("extras/slurm", extras)).job
    assert job_of_both.slurm_options.job.pass_through == {name: "a"}
    assert job_of_both.roles[0].slurm_options.pass_through == {name: "b"}
    for model in (SlurmExtras, SlurmRole):
        assert model.model_fields[name].description == PASS_THROUGH[name].note


def test_every_forwarded_option_has_a_row() -> None:
    passed = {name for name, field in SlurmRole.model_fields.items() if field.description}
    assert passed == set(PASS_THROUGH)


@pytest.mark.parametrize(
    ("written", "names"),
    [
        (True, None),
        ("all", None),
        (None, None),
        (False, ()),
        ("none", ()),
        ([], ()),
        (["A", "MY_*", "_x1", "A"], ("A", "MY_*", "_x1")),
    ],
)
def test_exported_variables_can_be_selected(written: object, names: tuple[str, ...] | None) -> None:
    assert check(job("extras/slurm/exportEnv", written)).job.slurm_options.export_env == names


@pytest.mark.parametrize(
    ("written", "held"),
    [
        (True, AS_LONG_AS_ALLOWED),
        (False, None),
        (None, None),
        (30, timedelta(minutes=30)),
        ("30", timedelta(minutes=30)),
        ("01:30:00", timedelta(minutes=90)),
        ("1-0", timedelta(days=1)),
    ],
)
def test_how_long_a_failed_task_is_held(written: object, held: timedelta | None) -> None:
    assert check(job("extras/slurm/isDebug", written)).job.debug_hold == held


@pytest.mark.parametrize("pattern", ["/data/run 7/*.pt", "./*", "./it's $(x)/[ab]?", "/data/\u00fcber"])
def test_valid_checkpoints_are_accepted(pattern: str) -> None:
    checked = check(job("extras/slurm/resumes", {"file": pattern})).job
    assert checked.slurm_options.checkpoints == pattern


@pytest.mark.parametrize(
    "folder", ["task", "submit", "/", "/data/it's $HOME #1", "/daten/\u00fcber", "./", "./a b/c", "./..a"]
)
def test_valid_workdirs_are_accepted(folder: str) -> None:
    slurm = {"workdir": folder, "taskRoles": {"worker": {"workdir": "/role"}}}
    checked = check(job("extras/slurm", slurm)).job
    assert (checked.slurm_options.job.workdir, checked.roles[0].slurm_options.workdir) == (folder, "/role")
