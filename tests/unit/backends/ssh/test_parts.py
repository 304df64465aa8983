"""What is sent to a login node, what is made of its answers, and where sockets are."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from paramiko import ECDSAKey, SSHClient

from paislurm.backends.ssh import fabric_transport, faults, openssh
from paislurm.backends.ssh.news import GarbledError, NewsRequest, answer
from paislurm.backends.ssh.openssh import fingerprint
from paislurm.backends.ssh.remote_files import Removals
from paislurm.backends.ssh.ssh_runner import attached, outcome, request
from paislurm.backends.ssh.transport import parse_address
from paislurm.translator.errors import UnreachableError, UsageError

LOGIN = parse_address("login1")
ASKED = [NewsRequest(folder="/r/job.1/attempts/0")]


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("login1", ("login1", "", None)),
        ("alice@login1.example.org:2222", ("login1.example.org", "alice", 2222)),
        ("[2001:db8::1]:22", ("2001:db8::1", "", 22)),
    ],
)
def test_valid_addresses_are_parsed(text: str, parts: tuple[str, str, int | None]) -> None:
    address = parse_address(text)
    assert (address.host, address.user, address.port) == parts
    assert str(address) == text


@pytest.mark.parametrize(
    "text", ["", "-oProxyCommand=x", "a b", "login1:0", "login1:99999", "u@-x", "a;b", "a/b", "$(x)"]
)
def test_addresses_that_ssh_could_misread_are_refused(text: str) -> None:
    with pytest.raises(UsageError):
        parse_address(text)


WORDS = st.lists(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=20), max_size=5)


@settings(max_examples=20, deadline=None)
@given(WORDS, st.binary(max_size=100))
def test_arguments_and_input_are_passed_unchanged(words: list[str], stdin: bytes) -> None:
    asked = request(["bash", "-c", 'printf "%s\\0" "$@"; cat', "x", *words], stdin, {"A": "it's $HOME"}, 10)
    done = subprocess.run(["sh", "-c", asked.line], input=asked.stdin, capture_output=True, check=False)
    seen = outcome(asked, done.stdout, done.stderr)
    expected = b"".join(word.encode() + b"\0" for word in words) if words else b"\0"
    assert (seen.status, seen.stdout) == (0, expected + stdin)


def test_a_program_gets_no_slurm_variables_and_returns_its_status(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SBATCH_PARTITION", "mine")
    asked = request(["bash", "-c", 'echo "<${SBATCH_PARTITION-}$A>"; echo aside >&2; exit 7'], b"", {"A": "it's"}, 10)
    done = subprocess.run(["sh", "-c", asked.line], input=asked.stdin, capture_output=True, check=False)
    seen = outcome(asked, b"motd\n" + done.stdout, b"noise\n" + done.stderr)
    assert (seen.status, seen.stdout, seen.stderr) == (7, b"<it's>\n", b"aside\n")


def test_a_truncated_answer_has_no_status() -> None:
    asked = request(["echo", "hello"], b"", {}, 10)
    done = subprocess.run(["sh", "-c", asked.line], input=asked.stdin, capture_output=True, check=True)
    for length in range(len(done.stdout) - 1):
        assert outcome(asked, done.stdout[:length], b"").status is None
    assert outcome(asked, done.stdout, b"").status == 0


def test_an_attached_command_line_runs_its_program() -> None:
    line = attached(["bash", "-c", "cat; exit 3"])
    done = subprocess.run(["sh", "-c", line], input=b"in", capture_output=True, check=False)
    assert (done.returncode, done.stdout) == (3, b"in")


OUTSIDE = (
    "../../x", "/etc/passwd", "logs/../../x", "job.sbatch", "secrets/a", "", "logs//a", "claim/./owner", "logs/a\nb"
)  # fmt: skip
"""Names of files that a login node cannot give."""
OF_JOB = f"folder {ASKED[0].folder}\0"


@pytest.mark.parametrize(
    "data",
    [
        *(f"{OF_JOB}file 1 1 1.5 0 1 {name}\0xend 1.0 0\0" for name in OUTSIDE),
        "",
        "end 1.0",
        "folder /etc\0end 1.0 0\0",
        "file 1 1 1.5 0 1 claim/owner\0xend 1.0 0\0",
        f"{OF_JOB}file 1 9 1.5 0 9 claim/owner\0short",
        f"{OF_JOB}file 1 3 1.5 0 9 claim/owner\0nine byteend 1.0 0\0",
        f"{OF_JOB}file 1 1 today 0 1 claim/owner\0xend 1.0 0\0",
        f"{OF_JOB}file 1 0 nan 0 0 claim\0end 1 0\0",
        f"{OF_JOB}file {'9' * 5000} 0 1 0 0 claim\0end 1 0\0",
        *(f"{OF_JOB}end {time} 0\0" for time in ("nan", "inf", "1e300")),
        "end now 0\0",
    ],
)
def test_an_invalid_answer_is_refused(data: str) -> None:
    with pytest.raises(GarbledError):
        answer(data.encode(), ASKED)


def test_an_answer_is_split_into_chunks() -> None:
    first = "file 5 9 1.5 4 5 slurm.log\0he\0\no"
    second = "file 6 0 2.5 0 0 logs/0-a b/1.stdout.log\0"
    news = answer(f"folder {ASKED[0].folder}\0{first}{second}end 7.5 1\0".encode(), ASKED)
    assert [(each.name, each.offset, each.data) for each in news.pieces] == [
        ("slurm.log", 4, b"he\0\no"),
        ("logs/0-a b/1.stdout.log", 0, b""),
    ]
    assert (news.time, news.more) == (7.5, True)


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ("No ED25519 host key is known for login1 and you have requested strict checking.", "E551"),
        ("@ WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED! @\nHost key verification failed.", "E552"),
        ("alice@login1: Permission denied (publickey,password).", "E553"),
        ("ssh: connect to host login1 port 22: Connection refused", "E550"),
        ("ssh: Could not resolve hostname login1: Name or service not known", "E550"),
    ],
)  # fmt: skip
def test_ssh_errors_have_codes(words: str, code: str) -> None:
    error = faults.of_words(LOGIN, words, command="ssh -fNM login1")
    assert error is not None
    assert error.diagnostics[0].code == code
    assert faults.of_words(LOGIN, "client_loop: send disconnect: Broken pipe", command="") is None


def test_fingerprints_equal_those_of_ssh_keygen(tmp_path: Path) -> None:
    key = tmp_path / "key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)], check=True)
    said = subprocess.run(["ssh-keygen", "-lf", str(key)], capture_output=True, text=True, check=True).stdout
    assert fingerprint(f"login1 {key.with_suffix('.pub').read_text()}").split()[1] == said.split()[1]


def test_the_socket_folder_is_private(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(openssh, "FOLDER", str(tmp_path / "paislurm-{}"))
    known = {"user": "alice", "hostname": "login1.example.org", "port": "22"}
    monkeypatch.setattr(openssh, "LONGEST", 1000)
    path = openssh.socket_path(known, "login1")
    assert path.endswith(f"paislurm-{os.getuid()}/alice@login1.example.org:22")
    folder = tmp_path / f"paislurm-{os.getuid()}"
    assert folder.stat().st_mode & 0o777 == 0o700
    long = openssh.socket_path({**known, "hostname": "x" * 1000}, "login1")
    assert "x" * 50 not in long


@pytest.mark.parametrize("taken", ["loose", "link"])
def test_a_socket_folder_of_another_user_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, taken: str
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setattr(openssh, "FOLDER", str(tmp_path / "paislurm-{}"))
    monkeypatch.setattr(openssh, "LONGEST", 1000)
    folder, own = tmp_path / f"paislurm-{os.getuid()}", tmp_path / "home" / ".ssh" / f"paislurm-{os.uname().nodename}"
    if taken == "link":
        folder.symlink_to(tmp_path)
    else:
        folder.mkdir()
        folder.chmod(0o777)
    assert Path(openssh.socket_path({}, "login1")).parent == own
    assert own.stat().st_mode & 0o777 == 0o700
    assert list(folder.glob("@*")) == []
    own.chmod(0o777)
    with pytest.raises(UnreachableError, match="accessible to other users"):
        openssh.socket_path({}, "login1")


@pytest.mark.skipif(not shutil.which("ssh"), reason="OpenSSH's client is not installed")
def test_the_configuration_of_the_user_cannot_accept_new_host_keys(tmp_path: Path) -> None:
    (tmp_path / "own").write_text("StrictHostKeyChecking accept-new\nUpdateHostKeys yes\nUser alice\n")
    (tmp_path / "ours").write_text(openssh.CONFIG.read_text().replace("~/.ssh/config", str(tmp_path / "own")))
    argv = ["ssh", "-G", "-F", tmp_path / "ours", "login1"]
    said = subprocess.run(argv, capture_output=True, text=True, check=True).stdout.splitlines()
    assert {"stricthostkeychecking true", "updatehostkeys false", "user alice"} <= {*said}


def test_the_library_refuses_unknown_keys_of_a_host_and_of_its_jump_hosts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fabric_transport, "KNOWN_HOSTS", ())
    jump = SimpleNamespace(client=SSHClient(), gateway=None)
    connection = SimpleNamespace(client=SSHClient(), gateway=jump)
    fabric_transport._check_keys(connection, LOGIN)
    for client in (connection.client, jump.client):
        with pytest.raises(UnreachableError, match="E551"):
            client._policy.missing_host_key(client, "login1", ECDSAKey.generate())


def test_pending_removals_are_saved(tmp_path: Path) -> None:
    removals = Removals(tmp_path / "ssh" / "login1" / "to-remove")
    assert removals.due() == []
    removals.add("a", "b")
    Removals(tmp_path / "ssh" / "login1" / "to-remove").add("c")
    assert removals.due() == ["a", "b", "c"]
    removals.done(["a", "c"])
    assert removals.due() == ["b"]
    assert (tmp_path / "ssh" / "login1" / "to-remove").stat().st_mode & 0o777 == 0o600
