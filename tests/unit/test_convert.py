"""A converted job of protocol v1 has the plan that it had, but for what is said here."""

from __future__ import annotations

import json
import os
import stat
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from paislurm.translator.cli.main import main
from paislurm.translator.conversion import converted
from paislurm.translator.job import Lines
from paislurm.translator.pipeline import Compiled, compile_job
from paislurm.translator.planning.environment import Variables
from paislurm.translator.planning.job_plan import Plan, RolePlan
from paislurm.translator.protocol.validate import validate
from paislurm.translator.reading.read import read
from paislurm.translator.site.load import load_site
from paislurm.translator.site.profile import Site

from .protocol.jobs import JOB as JOB_V2
from .protocol.jobs_v1 import JOB, ROLE, job

FOLDER = os.environ.get("PAISLURM_OPENPAI_JOBS")
PUBLISHED = sorted(Path(FOLDER).glob("v1/*.json")) if FOLDER else []
FULL: dict[str, Any] = {
    "jobName": "full",
    "image": "python:3.11",
    "authFile": "/auth",
    "dataDir": "$PAI_DEFAULT_FS_URI/$PAI_USERNAME/it's",
    "outputDir": "",
    "codeDir": "/code",
    "virtualCluster": "gpu",
    "gpuType": "K80",
    "killAllOnCompletedTaskNumber": 2,
    "retryCount": -2,
    "jobEnvs": {
        "A": "it's $HOME\n`id` <% $parameters.x %>",
        "N": 1e3,
        "a.b": "<% x",
        "UID": 7,
        "isDebug": True,
        "paiAzRDMA": True,
    },
    "extras": {
        "submitFrom": "portal",
        "a.b": [1, None, {"c": "1e3"}],
        "slurm": {"time": "1:30:00", "taskRoles": {"worker": {"qos": "high"}}, "compat": {"jobName": "full"}},
    },
    "taskRoles": [
        {**ROLE, "shmMB": 128, "portList": [{"label": "web", "beginAt": 8080, "portNumber": 2}]},
        {**ROLE, "name": "shell", "command": "/bin/bash"},
        {**ROLE, "name": "tricky", "command": "echo '<% $parameters.x %>' '%>'\n  if true; then\n\techo 1e3\n  fi"},
    ],
}


def to_v2(text: str) -> tuple[str, list[str]]:
    """Return the converted file, and the codes of what is said of it."""
    document = read(text, file="job.json")
    found, faults = converted(validate(document).job, document.mapping(("extras",)), source="job.json")
    return found, [fault.code for fault in faults]


def without_never(variables: Variables) -> Variables:
    """Leave out the number of thresholds that never fire, which protocol v1 has none for."""
    return tuple((name, value.replace("-1", "") if "_MIN_" in name else value) for name, value in variables)


def role_of(role: RolePlan) -> RolePlan:
    """Leave out where a role comes from, the name of its image, and what of its commands the shell itself runs."""
    return replace(
        role,
        lines=Lines(first=0, last=0),
        image=replace(role.image, name=""),
        command=replace(role.command, text="", errexit=False, nounset=False, pipefail=False, lines=()),
        environment=without_never(role.environment),
    )


def plan_of(compiled: Compiled) -> Plan:
    """Leave out what a plan has of its file, and where its variables are set: protocol v2 has them in the commands."""
    plan = compiled.plan
    return replace(
        plan,
        protocol="2",
        warnings=(),
        environment=replace(plan.environment, of_commands=(), of_job=without_never(plan.environment.of_job)),
        roles=tuple(role_of(role) for role in plan.roles),
    )


PROFILE = """\
partitions:
  normal: {nodes: [{count: 4, cpus: 16, memoryMB: 1000000, gpus: 4, gpuType: v100}], timeLimit: 1-00:00:00}
  pair: {nodes: [{count: 2, cpus: 16, memoryMB: 1000000, gpus: 4}]}
defaultPartition: normal
virtualClusters: {default: {partition: normal}, your_virtual_cluster: {partition: pair, account: research}}
defaultFileSystem: "hdfs://host:9000"
retry: {maxRestarts: 5}
"""


def check(text: str, profile: str = "") -> Compiled:
    """Check that a job and what it is converted to have the same plan; return the latter."""
    site = load_site(profile, file="site.yaml") if profile else Site()
    before, after = compile_job(text, site=site), compile_job(to_v2(text)[0], site=site)
    assert plan_of(after) == plan_of(before)
    assert after.job.directories == before.job.directories
    assert (after.job.debug_hold, after.job.auth_file) == (before.job.debug_hold, before.job.auth_file)
    return after


def output_of(command: str, shell: str = "") -> str:
    """Return what a command prints, run with the options of protocol v2 or with none."""
    argv = ["bash", *shell.split(), "-c", command]
    return subprocess.run(argv, capture_output=True, text=True, check=False, env={"PATH": os.environ["PATH"]}).stdout


@pytest.mark.parametrize("profile", ["", PROFILE], ids=["no-site", "site"])
@pytest.mark.parametrize("file", PUBLISHED, ids=lambda file: file.stem)
def test_published_files_are_converted(file: Path, profile: str) -> None:
    text = file.read_text(encoding="utf-8").replace("g2p-train", "g2p_train")
    check(text, profile)


def test_conversion_keeps_all_settings() -> None:
    after = check(json.dumps(FULL))
    table = after.document.at(("extras", "slurm", "v1"))
    assert table == {
        "retryCount": -2,
        "killAllOnCompletedTaskNumber": 2,
        "jobEnvs": {"a.b": "<% x", "UID": "7"},
        "fixedPorts": {"worker": {"web": 8080}},
        "authFile": "/auth",
        "dataDir": "$PAI_DEFAULT_FS_URI/$PAI_USERNAME/it's",
        "outputDir": "",
        "codeDir": "/code",
    }
    assert after.document.at(("extras", "slurm", "isDebug")) is True
    assert after.document.at(("extras", "a.b")) == [1, None, {"c": "1e3"}]
    assert after.document.at(("extras", "submitFrom")) == "portal"
    assert after.document.at(("extras", "hivedScheduler", "taskRoles", "shell", "skuType")) == "K80"
    assert to_v2(json.dumps(FULL))[1] == []


def test_commands_run_as_before() -> None:
    roles = {role.name: role.command.text for role in check(json.dumps(FULL)).plan.roles}
    assert output_of(roles["tricky"], "-eu -o pipefail") == "<% $parameters.x %> %>\n1e3\n"
    assert roles["shell"].endswith("\nsleep infinity")
    shown = output_of(roles["tricky"] + '\nfalse; echo "$NOTHING$A|$N|$isDebug"', "-eu -o pipefail")
    assert shown.endswith("it's $HOME\n`id` <% $parameters.x %>|1000|true\n")


def test_a_reference_to_a_secret_stays_text() -> None:
    after = check(job("taskRoles", [{**ROLE, "command": "echo '<%$secrets.a[0] %> <% $parameters.x %>'"}]))
    assert output_of(after.plan.roles[0].command.text) == "<%$secrets.a[0] %> <% $parameters.x %>\n"


def test_names_invalid_in_v2_are_changed_and_reported() -> None:
    ports = [{"label": label, "beginAt": 0, "portNumber": 1} for label in ("a.b", "a_b", "1", "ssh")]
    names = ("ps.1", "..", "1", "~", "ok")
    roles = [{**ROLE, "name": name, "portList": ports} for name in names]
    text = json.dumps({**JOB, "jobName": "a.b~c", "taskRoles": roles, "extras": {"slurm": {"taskRoles": {"..": {}}}}})
    found, codes = to_v2(text)
    assert set(codes) == {"W321", "W341"}
    after = compile_job(found).job
    assert after.name == "a_b_c"
    assert [role.name for role in after.roles] == ["ps_1", "role1", "_1", "role3", "ok"]
    assert [port.label for port in after.roles[0].ports] == ["a_b_", "a_b", "_1", "ssh", "http"]
    assert "# the role `..` is called `role1` in protocol v2\n" in found
    assert "# the port label `a.b` of `ps_1` is `a_b_` in protocol v2\n" in found


@pytest.mark.parametrize(("written", "size", "said"), [(0, 64, True), (None, 64, False), (128, 128, False)])
def test_a_different_meaning_of_shared_memory_in_v2_is_reported(written: int | None, size: int, said: bool) -> None:
    role = {**ROLE, **({} if written is None else {"shmMB": written})}
    found, codes = to_v2(json.dumps({**JOB, "taskRoles": [role]}))
    options = yaml.safe_load(found)["taskRoles"]["worker"]["extraContainerOptions"]
    assert (options["shmMB"], codes) == (size, ["W341"] if said else [])
    assert ("# `shmMB: 0` of `worker` becomes 64: 0 has another meaning in protocol v2\n" in found) == said


@pytest.mark.parametrize(
    ("directories", "moved"),
    [
        ({}, ["$.outputDir"]),
        ({"outputDir": "/out"}, []),
        ({"outputDir": "/$PAI_JOB_NAMES", "dataDir": "/data/$PAI_JOB_NAME/x"}, ["$.dataDir"]),
        ({"outputDir": "/$PAI_JOB_NAME", "authFile": "/$PAI_JOB_NAME"}, ["$.outputDir", "$.authFile"]),
    ],
)
def test_paths_that_change_with_the_name_are_reported(directories: dict[str, str], moved: list[str]) -> None:
    text = json.dumps({**JOB, **directories, "jobName": "a.b"})
    before, after = compile_job(text).plan.environment.paths, compile_job(to_v2(text)[0]).plan.environment.paths
    assert (before == after) == (not [path for path in moved if path != "$.authFile"])
    document = read(text, file="job.json")
    found, faults = converted(validate(document).job, {}, source="job.json")
    assert [fault.path for fault in faults if fault.code == "W321"] == moved
    assert found.count(" moves: `a.b` is `a_b` in ") == len(moved)


def test_extras_with_a_meaning_in_v2_are_omitted_and_reported() -> None:
    found, codes = to_v2(job("extras", {"gangAllocation": False, "storages": ["a\nb"], "own": 1}))
    assert codes == ["W342", "W342"]
    assert compile_job(found).job.gang
    assert yaml.safe_load(found)["extras"]["own"] == 1
    assert '# removed `storages`, which only protocol v2 gives a meaning: ["a\\nb"]\n' in found


TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=20).map(lambda text: f"a{text}b")


NAMES = st.sampled_from(["A", "_b", "C3"])


@settings(deadline=None)
@given(TEXTS, st.dictionaries(NAMES, TEXTS, max_size=2), TEXTS)
def test_any_text_is_converted_unchanged(command: str, variables: dict[str, str], extra: str) -> None:
    roles = [{**ROLE, "command": command}]
    text = json.dumps({**JOB, "taskRoles": roles, "jobEnvs": variables, "extras": {"x": extra}})
    after = check(text)
    before = compile_job(text)
    exports = after.plan.roles[0].command.text
    assert exports.endswith(before.plan.roles[0].command.text)
    assert after.document.at(("extras", "x")) == extra


def test_convert_writes_the_file_and_reports_changes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "job.json"
    file.write_text(job("jobName", "a.b"), encoding="utf-8")
    assert main(["convert", str(file), "-o", str(tmp_path / "job.yaml")]) == 0
    said = capsys.readouterr()
    assert said.out == ""
    assert f"{file}:2:3  $.jobName\nwarning W341: the job `a.b` is called `a_b` in protocol v2" in said.err
    assert main(["convert", str(tmp_path / "job.yaml")]) == 3
    assert "E310" in capsys.readouterr().err
    assert main(["convert", str(file), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["job"], found["text"]) == ("a.b", (tmp_path / "job.yaml").read_text(encoding="utf-8"))
    assert [fault["code"] for fault in found["diagnostics"]] == ["W341", "W321"]


@pytest.mark.root("which could replace a device")
def test_a_special_output_file_is_never_replaced(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """A device of this test's own, of which nobody else is harmed."""
    jobs = {"convert": job(), "script": yaml.safe_dump(JOB_V2)}
    for command, text in jobs.items():
        file = tmp_path / command
        file.write_text(text, encoding="utf-8")
        null, disk, folder = (tmp_path / f"{command}.{name}" for name in ("null", "disk", "folder"))
        try:
            os.mknod(null, stat.S_IFCHR | 0o600, os.makedev(1, 3))
            os.mknod(disk, stat.S_IFBLK | 0o600, os.makedev(259, 1048575))
        except PermissionError:
            pytest.skip("devices cannot be made here")
        folder.mkdir()
        assert main([command, str(file), "-o", str(null)]) == 0
        assert stat.S_ISCHR(null.stat().st_mode)
        for no_file in (disk, folder):
            assert main([command, str(file), "-o", str(no_file)]) == 2
            assert "error E544" in capfd.readouterr().err
        assert stat.S_ISBLK(disk.stat().st_mode)
        own = tmp_path / f"{command}.out"
        assert main([command, str(file), "-o", str(own)]) == 0
        assert stat.S_IMODE(own.stat().st_mode) == (0o644 if command == "script" else 0o600)


def test_an_output_link_is_kept_and_its_target_written(tmp_path: Path) -> None:
    """As /dev/stdout, of a shell that sends its output to a file."""
    file = tmp_path / "job.json"
    file.write_text(job(), encoding="utf-8")
    target, link = tmp_path / "target.yaml", tmp_path / "link"
    target.touch()
    link.symlink_to(target)
    assert main(["convert", str(file), "-o", str(link)]) == 0
    assert link.is_symlink()
    assert "protocolVersion: 2" in target.read_text(encoding="utf-8")
