"""A pyslurm that cannot be used, is wrong, or fails: its process is ended, or Slurm's programs are asked instead.

The pyslurm of these tests is a stand-in, which repeats what `tests/pyslurm_output/record.py` wrote down of a real one.
How jobs start and end by the real one is in `tests/contract/test_backends.py`.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from paislurm.backends.base import JobId
from paislurm.backends.pyslurm.backend import CHILD, PYTHON, PyslurmBackend
from paislurm.backends.runner import Completed, LocalRunner, LoggingRunner
from paislurm.backends.slurm import commands
from paislurm.translator.errors import RejectedError, UnreachableError

from ..recording import Recording, Replay, read, submission

HERE = Path(__file__).parent
SAID = Path(__file__).parents[3] / "pyslurm_output"
VERSION = Recording(("sbatch", "--version"), Completed(status=0, stdout="slurm 25.11.2\n", stderr=""))
GONE = Completed(status=1, stdout="", stderr="slurm_load_jobs error: Invalid job id specified\n")
QUIET = Completed(status=0, stdout="", stderr="")


class Asked:
    """A backend whose pyslurm is the stand-in, and what it said and asked."""

    def __init__(self, case: str, programs: list[Recording]) -> None:
        self.recorded: dict[str, Any] = json.loads((SAID / f"{case}.json").read_text(encoding="utf-8"))
        self.job_id = JobId(self.recorded["asked"])
        self.words: list[str] = []
        self.calls: list[str] = []
        self.replay = Replay(programs)
        helper = LoggingRunner(LocalRunner(), lambda argv, _, __: self.calls.append(argv[-1]))
        self.backend = PyslurmBackend(self.replay, helper, lambda _: 1, self.words.append)

    def scontrol(self) -> Recording:
        return Recording(tuple(commands.scontrol_show_job(self.job_id)), Completed(**self.recorded["scontrol"]))


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Install the stand-in, as a pyslurm of some version; "" is none."""
    (tmp_path / "slurm.conf").touch()
    monkeypatch.setenv("SLURM_CONF", str(tmp_path / "slurm.conf"))

    def install(version: str) -> None:
        if version:
            folder = tmp_path / f"pyslurm-{version}.dist-info"
            folder.mkdir()
            (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: pyslurm\nVersion: {version}\n")
            monkeypatch.setenv("PYTHONPATH", f"{HERE / 'stand_in'}:{tmp_path}")

    return install


@pytest.fixture
def ask(installed: Callable[[str], None], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Asked]:
    def make(case: str, *programs: Recording, fault: str = "", version: str = "25.11.2") -> Asked:
        installed(version)
        monkeypatch.setenv("PAISLURM_RECORDING", str(SAID / f"{case}.json"))
        monkeypatch.setenv("PAISLURM_FAULT", fault)
        return Asked(case, list(programs))

    return make


def test_the_cancelling_user_is_reported_by_uid(ask: Callable[..., Asked], monkeypatch: pytest.MonkeyPatch) -> None:
    """It is a name, or the number where there is no such user; a name that nobody has any more is none."""
    asked = ask("cancelled_by_user", VERSION)
    assert asked.backend.observe([asked.job_id])[asked.job_id].raw_state == "CANCELLED"
    said = asked.recorded
    for row in said["accounts"]:
        row["cancelled_by"] = "21001"
    other = Path(os.environ["SLURM_CONF"]).with_name("other.json")
    other.write_text(json.dumps(said), encoding="utf-8")
    monkeypatch.setenv("PAISLURM_RECORDING", str(other))
    assert asked.backend.observe([asked.job_id])[asked.job_id].raw_state == "CANCELLED by 21001"


def test_an_exit_status_above_127_is_read_from_the_controller(ask: Callable[..., Asked]) -> None:
    asked = ask("failed_with_137", VERSION)
    asked.replay._left.append(asked.scontrol())
    seen = asked.backend.observe([asked.job_id])[asked.job_id]
    assert (seen.state, seen.final, seen.status, seen.signal, seen.nodes) == ("FAILED", True, 137, 0, "n1")
    assert asked.calls == ["begin", "queue", "accounts"]


def test_an_exit_status_purged_by_the_controller_is_unknown(ask: Callable[..., Asked]) -> None:
    """9 may have been 137."""
    asked = ask("failed_with_137", VERSION)
    asked.replay._left.append(Recording(asked.scontrol().argv, GONE))
    seen = asked.backend.observe([asked.job_id])[asked.job_id]
    assert (seen.state, seen.final, seen.status, seen.signal) == ("FAILED", True, None, None)


def test_submit_and_find_use_slurm_programs(ask: Callable[..., Asked]) -> None:
    asked = ask("completed", *read("found_by_tag")[:1], VERSION)
    tag = "tag-found_by_tag"
    assert list(asked.backend.find([tag])) == [tag]
    assert asked.backend.version() == "slurm 25.11.2\n"
    submit = read("completed")[0]
    asked.replay._left.append(submit)
    assert asked.backend.submit(submission("completed")).job_id == submit.completed.stdout.strip()
    assert not asked.calls


def test_federation_jobs_are_queried_with_slurm_programs(ask: Callable[..., Asked]) -> None:
    job_id = JobId(str((1 << 26) + 1))
    asked = ask("completed", Recording(tuple(commands.squeue([job_id])), GONE))
    asked.replay._left.append(Recording(tuple(commands.sacct([job_id])), QUIET))
    assert asked.backend.observe([job_id]) == {}


UNUSABLE = {
    "no pyslurm": ({"version": ""}, "it is not installed for ", "install 'pyslurm==25.11.*'"),
    "another version": ({"version": "24.11.0"}, "its version 24.11.0 does not match slurm 25.11.2", "25.11"),
}
BROKEN = {
    "import": "pyslurm cannot be imported: libslurm.so.43: cannot open",
    "exit": "its process ended: fatal: Unable to process configuration file",
    "crash": r"its process ended: .* \(by signal 11\)",
}


@pytest.mark.parametrize("why", sorted(UNUSABLE))
def test_an_unusable_pyslurm_reports_what_to_install(ask: Callable[..., Asked], why: str) -> None:
    means, words, hint = UNUSABLE[why]
    asked = ask("completed", VERSION, **means)
    with pytest.raises(UnreachableError, match=words) as caught:
        asked.backend.check()
    assert caught.value.diagnostics[0].code == "E509"
    assert hint in caught.value.diagnostics[0].hint


@pytest.mark.parametrize("named", [True, False])
def test_pyslurm_is_not_imported_without_a_slurm_configuration(
    ask: Callable[..., Asked], monkeypatch: pytest.MonkeyPatch, named: bool
) -> None:
    """The library would look for one for a minute, or end the process."""
    asked = ask("completed", fault="hang")
    if named:
        monkeypatch.setenv("SLURM_CONF", "/no/slurm.conf")
    elif Path("/etc/slurm/slurm.conf").exists():
        pytest.skip("this machine has a slurm.conf")
    else:
        monkeypatch.delenv("SLURM_CONF")
    says = r"\$SLURM_CONF is /no/slurm.conf, which does not exist" if named else "no slurm.conf was found"
    with pytest.raises(UnreachableError, match=says):
        asked.backend.check()


def test_a_missing_python_is_reported(ask: Callable[..., Asked], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(PYTHON, "/no/python")
    with pytest.raises(UnreachableError, match="/no/python cannot be started"):
        ask("completed").backend.check()


@pytest.mark.parametrize("fault", [*sorted(BROKEN), "gone"])
def test_without_pyslurm_programs_are_used_with_one_warning(
    ask: Callable[..., Asked], monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    queue, accounts = read("completed")[1:]
    job_id = JobId(queue.completed.stdout.partition("|")[0])
    asked = ask("completed", VERSION, queue, accounts, *read("unknown_job")[-1:], fault=fault.replace("gone", ""))
    if fault == "gone":
        monkeypatch.setenv(PYTHON, "/no/python")
        del asked.replay._left[0]
    assert asked.backend.observe([job_id])[job_id].state == "COMPLETED"
    asked.backend.cancel(JobId("9999999"))
    assert len(asked.words) == 1
    assert asked.words[0].endswith("; using Slurm's programs instead")
    if fault in BROKEN:
        assert re.search(BROKEN[fault], asked.words[0])


def test_a_hanging_pyslurm_times_out(ask: Callable[..., Asked], monkeypatch: pytest.MonkeyPatch) -> None:
    asked = ask("completed", VERSION)
    asked.backend.check()
    monkeypatch.setattr("paislurm.backends.pyslurm.backend.CALL_SECONDS", 1.5)
    monkeypatch.setenv("PAISLURM_FAULT", "hang")
    with pytest.raises(UnreachableError, match=r"timed out after 1.5 s") as caught:
        asked.backend.observe([asked.job_id])
    assert (caught.value.diagnostics[0].code, asked.words) == ("E502", [])


@pytest.mark.parametrize("said", ["nonsense", "[]", '{"pyslurm": 1}', "[" * 9999])
def test_an_invalid_answer_makes_pyslurm_unusable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: str) -> None:
    (tmp_path / "python").write_text(f"#!/bin/sh\necho '{said}'\n", encoding="utf-8")
    (tmp_path / "python").chmod(0o755)
    monkeypatch.setenv(PYTHON, str(tmp_path / "python"))
    with pytest.raises(UnreachableError, match="its process printed invalid output"):
        PyslurmBackend(Replay([]), LocalRunner()).check()


def test_a_pyslurm_error_raises_rejected_error(ask: Callable[..., Asked], monkeypatch: pytest.MonkeyPatch) -> None:
    asked = ask("unknown_job", VERSION)
    said = {**asked.recorded, "job": {str(asked.job_id): {"errno": 2001, "message": "Access/permission denied"}}}
    other = Path(os.environ["SLURM_CONF"]).with_name("other.json")
    other.write_text(json.dumps(said), encoding="utf-8")
    monkeypatch.setenv("PAISLURM_RECORDING", str(other))
    with pytest.raises(RejectedError, match="pyslurm refuses: Access/permission denied"):
        asked.backend.observe([asked.job_id])


def test_the_child_process_does_not_import_paislurm() -> None:
    """It may be run by a Python that has not got it."""
    assert "paislurm." not in CHILD.read_text(encoding="utf-8")
