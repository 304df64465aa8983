"""`paislurm site`: the profile that Slurm's answers become, the file that a person keeps, and what is in force."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from paislurm.backends.runner import Completed, LocalRunner
from paislurm.translator.app.session import Session
from paislurm.translator.app.sites import ask as ask_module
from paislurm.translator.app.sites.ask import Machine, ask, machine_of, this_machine
from paislurm.translator.errors import BackendError, Diagnostic, UnreachableError
from paislurm.translator.site.detection.detect import detect
from paislurm.translator.site.load import load_site

from ...backends.recording import read
from ...cli.running import SITE
from ...site.detection.answered import recorded
from ..asked import Asked


class Slurm:
    """Answer as recorded, but for programs that are told to say something else."""

    def __init__(self, **others: Completed | None) -> None:
        self.others = others
        self.asked: list[str] = []

    def run(self, argv: Sequence[str], **_: object) -> Completed:
        name = argv[-1] if argv[0] == "scontrol" else argv[0]
        self.asked.append(name)
        if name in self.others:
            if answer := self.others[name]:
                return answer
            raise UnreachableError(Diagnostic(code="E501", message=f"`{argv[0]}` is not on PATH"))
        return next(each.completed for each in read("site_detect", "24.11") if each.argv == tuple(argv))


def refusal(words: str) -> Completed:
    return Completed(status=1, stdout="", stderr=words)


@pytest.fixture(autouse=True)
def slurm(monkeypatch: pytest.MonkeyPatch) -> None:
    """Put a Slurm in place that answers as recorded."""
    monkeypatch.setattr(ask_module, "ask", lambda *_: recorded("24.11"))


NO_ACCOUNTING = Completed(status=0, stdout="AccountingStorageType = accounting_storage/none\n", stderr="")


@pytest.mark.parametrize(
    ("others", "asked"), [({}, ["sacctmgr", "sacctmgr", "getent"]), ({"config": NO_ACCOUNTING}, ["getent"])]
)
def test_without_accounting_sacctmgr_is_not_called(others: dict[str, Completed], asked: list[str]) -> None:
    slurm = Slurm(**others)
    ask(slurm, slurm, Machine(), "alice")
    assert slurm.asked == ["config", "partition", "node", "srun", "reservation", *asked]


def test_refused_queries_leave_gaps() -> None:
    # With PrivateData=nodes,partitions. Source: observed on 22.05 and 26.05.
    denied = refusal("slurm_load_partitions error: Access/permission denied")
    slurm = Slurm(
        partition=denied, node=denied, srun=None, sacctmgr=refusal("sacctmgr: error: Problem talking to the database")
    )
    gaps = {gap.key: gap.reason for gap in detect(ask(slurm, slurm, Machine(), "alice")).gaps}
    assert gaps["partitions"] == "scontrol refuses: slurm_load_partitions error: Access/permission denied"
    assert "denied" in gaps["partitions.NAME.nodes"]
    assert gaps["mpi"] == "`srun` is not on PATH"
    assert gaps["accounts"] == gaps["qos"] == "Slurm does not respond: Problem talking to the database"


def test_plugins_may_be_listed_on_standard_error() -> None:
    slurm = Slurm(srun=Completed(status=0, stdout="", stderr="srun: MPI types are...\nsrun: pmi2\n"))
    assert detect(ask(slurm, slurm, Machine(), "alice")).site.mpi == ("pmi2",)


@pytest.mark.parametrize("said", ["", "alice\n"])
def test_a_login_node_without_user_information_is_accepted(said: str) -> None:
    with pytest.raises(BackendError):
        machine_of(Slurm(bash=Completed(status=1, stdout=said, stderr="")))


def test_a_user_without_a_name_is_given_by_uid() -> None:
    assert machine_of(LocalRunner())[1]


def test_name_resolution_failures_and_timeouts_are_detected() -> None:
    for answer in (refusal(""), None):
        slurm = Slurm(getent=answer)
        assert detect(ask(slurm, slurm, Machine(), "alice")).site.address.method == "node-address"


def test_an_unreachable_controller_exits_with_6(asked: Asked, monkeypatch: pytest.MonkeyPatch) -> None:
    away = refusal("slurm_load_ctl_conf error: Unable to contact slurm controller (connect failure)")
    monkeypatch.setattr(ask_module, "ask", ask)
    monkeypatch.setattr(Session, "slurm_runner", lambda *_: Slurm(config=away))
    said = asked.sites.detect()
    said.ends(6, "error E506: Slurm cannot be reached")


def test_runtimes_and_ports_of_this_machine_are_detected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("podman", "ch-run"):
        (tmp_path / name).touch(mode=0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(ask_module, "_EPHEMERAL", tmp_path / "none")
    assert this_machine(Session()) == Machine(runtimes=("charliecloud", "podman"), home=Session().home.parent)


def test_the_profile_goes_to_standard_output(asked: Asked) -> None:
    said = asked.sites.detect()
    assert (said.code, said.err) == (0, "")
    assert load_site(said.value.text, file="site.yaml") == detect(recorded("24.11")).site


def test_a_file_that_differs_is_kept_and_the_difference_printed(asked: Asked, tmp_path: Path) -> None:
    file = tmp_path / "site.yaml"
    asked.sites.detect(output=str(file))
    changed = file.read_text(encoding="utf-8").replace("killWait: 5", "killWait: 7")
    file.write_text(changed, encoding="utf-8")
    said = asked.sites.detect(output=str(file))
    assert "\n-time: {killWait: 7}\n+time: {killWait: 5}\n" in said.value.difference
    assert file.read_text(encoding="utf-8") == changed
    assert not said.value.written


def test_added_comments_and_other_keys_are_not_differences(asked: Asked, tmp_path: Path) -> None:
    file = tmp_path / "site.yaml"
    asked.sites.detect(output=str(file))
    own = "# ours\nstorages: {data: {path: /data}}\n" + file.read_text(encoding="utf-8").replace(
        "# KillWait of Slurm.", ""
    )
    file.write_text(own, encoding="utf-8")
    said = asked.sites.detect(output=str(file))
    assert said.value.outcome == f"{file} agrees with Slurm's configuration"
    assert file.read_text(encoding="utf-8") == own


@pytest.mark.parametrize("text", ["partitions: {old: {}}\n", "- a list\n", "a: [\n", "# only this\n"])
def test_any_other_file_differs(asked: Asked, tmp_path: Path, text: str) -> None:
    file = tmp_path / "site.yaml"
    file.write_text(text, encoding="utf-8")
    assert asked.sites.detect(output=str(file)).value.difference
    assert file.read_text(encoding="utf-8") == text


def test_with_force_the_old_file_is_backed_up(asked: Asked, tmp_path: Path) -> None:
    file = tmp_path / "site.yaml"
    file.write_text(SITE, encoding="utf-8")
    said = asked.sites.detect(output=str(file), force=True)
    assert said.value.outcome == f"wrote {file}; the old file is {file}.old"
    assert (tmp_path / "site.yaml.old").read_text(encoding="utf-8") == SITE
    assert "killWait: 5" in file.read_text(encoding="utf-8")


def test_an_unwritable_path_exits_with_4(asked: Asked, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    asked.sites.detect(output=str(tmp_path / "file" / "site.yaml")).ends(4)
    assert asked.sites.detect(output=str(tmp_path)).code == 2


@pytest.mark.parametrize(
    ("place", "found_by"),
    [("config/paislurm", "your own"), ("etc", "the system's"), (None, None), ("else", "named by $PAISLURM_SITE")],
)
def test_site_show_names_the_kind_of_profile(
    asked: Asked, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str | None, found_by: str | None
) -> None:
    if place:
        (tmp_path / place).mkdir(parents=True)
        (tmp_path / place / "site.yaml").write_text("monitor: none\n", encoding="utf-8")
    if place == "else":
        monkeypatch.setenv("PAISLURM_SITE", str(tmp_path / place / "site.yaml"))
    document = asked.sites.show().document
    assert document["found_by"] == found_by
    assert document["file"] == (str(tmp_path / place / "site.yaml") if place else None)
    words = {"your own": "user", "the system's": "system", "named by $PAISLURM_SITE": "named"}
    assert {each["origin"] for each in document["in_force"] if each["line"]} <= {words.get(found_by or "")}
    assert {each["origin"] for each in document["in_force"] if not each["line"]} == {"default"}
    keys = [each["setting"] for each in document["in_force"]]
    assert ("monitor" in keys, "monitor.background" in keys) == (bool(place), not place)
