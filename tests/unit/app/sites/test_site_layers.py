"""A user's profile over the system's, and a profile that extends another, as commands see them."""

from __future__ import annotations

from pathlib import Path

import pytest

from paislurm.translator.app.session import Session
from paislurm.translator.app.sites.find import find_site, profile_files
from paislurm.translator.errors import SiteError
from paislurm.translator.state.job_folder import JobFolder

from ...cli.running import job_file
from ..asked import Answer, Asked
from ..submit.test_recording import run_of

SYSTEM = "name: centre\nretry: {maxTransientRetries: 3, submitWait: 60}\nlocked: [retry.submitWait]\n"


@pytest.fixture
def system(tmp_path: Path) -> Path:
    """Write the system's profile."""
    return written(tmp_path / "etc" / "site.yaml", SYSTEM)


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """Return where the user's own profile is."""
    return tmp_path / "config" / "paislurm" / "site.yaml"


def written(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    path.chmod(0o644)
    return path


def rows_of(said: Answer) -> dict[str, tuple[object, ...]]:
    """Return of each setting in force: its origin, file, line and value, and whether it is locked."""
    found = said.value.in_force
    return {each.setting: (each.origin, each.file, each.line, each.value, each.locked) for each in found}


def test_the_profile_of_a_user_extends_that_of_the_system(asked: Asked, system: Path, own: Path) -> None:
    written(own, "retry: {maxTransientRetries: 5}\n")
    site = find_site(Session(), None)
    assert (site.name, site.retry.max_transient_retries, site.retry.submit_wait) == ("centre", 5, 60)
    assert profile_files(Session(), None) == (own, system)
    said = asked.sites.show()
    rows = rows_of(said)
    assert (
        rows
        | {
            "name": ("system", str(system), 1, "centre", False),
            "retry.maxTransientRetries": ("user", str(own), 1, "5", False),
            "retry.submitWait": ("system", str(system), 2, "60", True),
            "retry.onRootCancel": ("default", None, None, "stop", False),
        }
        == rows
    )
    assert (said.value.file, said.value.found_by) == (str(own), "your own")
    assert asked.sites.layers_text().value == f"; it extends {system}"


@pytest.fixture
def named(tmp_path: Path) -> Path:
    """Return where a profile is that is named for a call."""
    return tmp_path / "my" / "site.yaml"


def test_a_named_profile_is_used_alone_except_for_locks(
    system: Path, named: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written(named, "retry: {maxTransientRetries: 5}\n")
    monkeypatch.setenv("PAISLURM_SITE", str(named))
    for option in (str(named), None):
        site = find_site(Session(), option)
        assert (site.name, site.retry.max_transient_retries, site.retry.submit_wait) == ("", 5, 60)
        assert site.locked == ("retry.submitWait",)
        assert profile_files(Session(), option) == (named, system)
    assert find_site(Session(), str(system)).retry.max_transient_retries == 3


@pytest.mark.parametrize("lock", ["retry", "retry.submitWait", "monitor", "workdir"])
def test_a_named_profile_cannot_override_a_lock(
    asked: Asked, system: Path, named: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lock: str
) -> None:
    written(system, f"retry: {{submitWait: 60}}\nlocked: [{lock}]\n")
    written(named, "retry: {submitWait: 5}\nmonitor: {maxPollInterval: 20}\nworkdir: submit\n")
    asked.jobs.submit(job_file(tmp_path), dry_run=True, site=str(named)).ends(
        4, "error E466: ", f"is locked by {system}, line 2"
    )
    monkeypatch.setenv("PAISLURM_SITE", str(named))
    with pytest.raises(SiteError, match="E466"):
        find_site(Session(), None)


@pytest.mark.parametrize("cluster", ["", "cluster: ''\n"])
def test_a_profile_without_a_cluster_is_for_the_one_of_the_system(system: Path, own: Path, cluster: str) -> None:
    written(system, "cluster: big\n" + SYSTEM)
    written(own, cluster + "name: mine\n")
    assert find_site(Session(), None).locked == ("retry.submitWait",)


def test_an_environment_variable_cannot_override_a_lock(system: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PAISLURM_TRANSPORT", "fabric")
    for text, wanted in (("transport: ssh\n", "fabric"), ("transport: ssh\nlocked: [transport]\n", "ssh")):
        written(system, text)
        assert Session()._transport() == wanted


def test_locks_of_an_organisation_apply_to_a_named_profile(system: Path, named: Path, tmp_path: Path) -> None:
    organisation = written(tmp_path / "org.yaml", "monitor: none\nstorages: {a: {path: /a}}\nlocked: [storages.a]\n")
    written(system, f"extends: {organisation}\n{SYSTEM}locked: [monitor]\n".replace("locked: [retry.submitWait]\n", ""))
    site = find_site(Session(), str(written(named, "name: mine\nstorages: {b: {path: /b}}\n")))
    assert (site.name, site.monitor.at_end, site.retry.submit_wait) == ("mine", True, 600)
    assert sorted(site.storages) == ["a", "b"]


def test_profiles_in_the_system_folder_are_exempt_from_locks(system: Path) -> None:
    other = written(system.with_name("debug.yaml"), "retry: {submitWait: 5}\n")
    assert find_site(Session(), str(other)).retry.submit_wait == 5
    around = system.parent / ".." / "etc" / "debug.yaml"
    with pytest.raises(SiteError, match="E466"):
        find_site(Session(), str(around))


@pytest.mark.usefixtures("silent")
def test_site_check_ignores_the_locks_of_the_system(asked: Asked, system: Path, named: Path) -> None:
    written(named, "retry: {submitWait: 5}\n")
    said = asked.sites.check(site=str(named))
    assert said.code == 0, said.err
    assert "E466" in asked.sites.show(site=str(named)).err
    written(named, "name: mine\n")
    shown = asked.sites.show(site=str(named))
    assert (shown.value.file, shown.value.found_by) == (str(named), "named by --site")
    assert asked.sites.layers_text(str(named)).value == f"; the locks of {system} apply"
    rows = rows_of(shown)
    assert rows["retry.submitWait"] == ("system", str(system), 2, "60", True)


@pytest.mark.usefixtures("system")
def test_a_named_profile_extends_the_profile_that_it_names(asked: Asked, named: Path, tmp_path: Path) -> None:
    written(named, "extends: ../etc/site.yaml\nname: mine\n")
    rows = rows_of(asked.sites.show(site=str(named)))
    assert rows["name"] == ("named", str(named), 2, "mine", False)
    extended = str(tmp_path / "my" / ".." / "etc" / "site.yaml")
    assert rows["retry.submitWait"] == ("extended", extended, 2, "60", True)
    assert rows["retry.onRootCancel"] == ("default", None, None, "stop", False)


def test_the_system_profile_can_extend_that_of_an_organisation(system: Path, own: Path, tmp_path: Path) -> None:
    organisation = written(tmp_path / "org.yaml", "cluster: big\nlocked: [cluster]\nname: org\n")
    written(system, f"extends: {organisation}\n{SYSTEM}")
    written(own, f"extends: {system}\ndefaultAccount: me\n")
    site = find_site(Session(), None)
    assert (site.cluster, site.name, site.default_account) == ("big", "centre", "me")
    assert site.locked == ("cluster", "retry.submitWait")
    assert profile_files(Session(), None) == (own, system, organisation)


@pytest.mark.parametrize("text", ["host: far\n", "cluster: far\n"])
def test_a_profile_of_another_cluster_is_used_alone(system: Path, own: Path, text: str) -> None:
    written(own, text)
    assert find_site(Session(), None).name == ""
    written(system, SYSTEM + text)
    assert find_site(Session(), None).name == "centre"


def test_the_cluster_can_be_locked(system: Path, own: Path) -> None:
    written(system, SYSTEM.replace("[", "[cluster, "))
    written(own, "cluster: far\n")
    with pytest.raises(SiteError, match="E466"):
        find_site(Session(), None)


@pytest.mark.parametrize("options", [{"host": "far"}, {"backend": "ssh:far"}, {"host": "far", "site": "named"}])
@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("host: near\nlocked: [host]\n", "the site locks `host`, which is near"),
        ("locked: [host]\n", "the site locks `host`, which is not set"),
        ("cluster: big\nlocked: [cluster]\n", "the site locks `cluster`, which is big"),
    ],
)
def test_an_option_cannot_override_a_lock(
    asked: Asked, system: Path, named: Path, tmp_path: Path, options: dict[str, str], text: str, says: str
) -> None:
    """A profile that is named keeps the locked cluster, to which the job then goes, whatever the login node."""
    written(system, text)
    if "site" in options:
        options = options | {"site": str(written(named, "name: mine\n"))}
    said = asked.jobs.submit(job_file(tmp_path), dry_run=True, **options)
    if "cluster" in text and "site" in options:
        assert find_site(Session(), str(named), host="far").cluster == "big"
    else:
        assert (said.code, f"error E467: {says}" in said.err) == (4, True), said.err
    assert find_site(Session(), None, host="near").host == "near" if "near" in text else True


@pytest.mark.parametrize("lock", ["host", "cluster"])
def test_locking_host_or_cluster_applies_all_locks_to_other_clusters(system: Path, own: Path, lock: str) -> None:
    written(system, SYSTEM.replace("[", f"[{lock}, "))
    written(own, "host: far\n" if lock == "cluster" else "cluster: far\n")
    site = find_site(Session(), None)
    assert (site.name, site.retry.submit_wait) == ("", 60)


@pytest.mark.parametrize(
    ("extends", "message"),
    [
        ("none.yaml", "cannot read the site profile {folder}/none.yaml: No such file or directory"),
        ("site.yaml", "the site profile {folder}/site.yaml extends itself"),
        ("./other.yaml", "the site profile {folder}/other.yaml extends itself"),
        (".", "cannot read the site profile {folder}: Is a directory"),
    ],
)
def test_an_invalid_base_profile_is_refused(tmp_path: Path, extends: str, message: str) -> None:
    written(tmp_path / "other.yaml", "extends: other.yaml\n")
    path = written(tmp_path / "site.yaml", f"name: x\nextends: {extends}\n")
    with pytest.raises(SiteError) as caught:
        find_site(Session(), str(path))
    (fault,) = caught.value.diagnostics
    assert (fault.code, fault.path, fault.message) == ("E468", "$.extends", message.format(folder=tmp_path))
    assert fault.location is not None
    assert fault.location.line == (1 if "other" in extends else 2)


def test_the_number_of_layers_is_limited(tmp_path: Path) -> None:
    for number in range(20):
        written(tmp_path / f"{number}.yaml", f"extends: {number + 1}.yaml\n")
    with pytest.raises(SiteError, match="is one of more than 8"):
        find_site(Session(), str(tmp_path / "0.yaml"))


@pytest.mark.usefixtures("silent")
def test_a_profile_writable_by_others_gets_a_warning(asked: Asked, system: Path, own: Path) -> None:
    written(own, "name: mine\n")
    assert "W466" not in asked.sites.check().err
    system.chmod(0o664)
    said = asked.sites.check()
    assert said.code == 0, said.err
    why = "others can write to it (mode 0664)"
    message = "others can change this profile, which names programs that users run"
    assert f"{system}\nwarning W466: {message}: {why}" in said.err
    system.chmod(0o644)
    system.parent.chmod(0o777)
    assert f"others can write to {system.parent} (mode 0777)" in asked.sites.check().err


@pytest.mark.usefixtures("silent")
@pytest.mark.parametrize(
    ("text", "path"),
    [("{command: [/no/such, x]}", "command"), ("{sendmail: /no/such}", "sendmail"), ("{command: [sh]}", "")],
)
def test_a_missing_notification_program_gets_a_warning(asked: Asked, own: Path, text: str, path: str) -> None:
    written(own, f"notifications: {text}\n")
    said = asked.sites.check()
    assert (said.code, "warning W467: cannot run /no/such on this machine" in said.err) == (0, bool(path))
    assert (f"{own}:1:1" in said.err or f"$.notifications.{path}" in said.err) == bool(path)


@pytest.mark.usefixtures("slurm")
def test_all_profiles_of_a_job_are_recorded_and_used_again(
    asked: Asked, system: Path, own: Path, tmp_path: Path, surroundings: Path
) -> None:
    written(own, "monitor: {background: false}\n")
    assert asked.jobs.submit(job_file(tmp_path)).code == 0
    said = asked.jobs.again("demo", suffix="-2")
    assert (said.code, "the site profile" in said.err) == (0, False)
    for folder in surroundings.iterdir():
        assert [each.file for each in run_of(JobFolder(path=folder)).site_profiles] == [str(own), str(system)]
