"""Start files of login nodes that end, replace or outlive the shell, with the shells themselves."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from paislurm.backends.bounded_run import run_bounded
from paislurm.backends.ssh import ssh_runner
from paislurm.backends.ssh.ssh_runner import SshRunner
from paislurm.backends.ssh.transport import Address
from paislurm.translator.errors import UnreachableError

from .here import Here

LONG = "sleep 30"


class LoggedIn(Here):
    """A login by sshd: bash reads ~/.bashrc for a command if SSH_CLIENT is set. Source: Debian's bash."""

    shell = "bash"

    def exchange(
        self, line: str, stdin: bytes, timeout: float, enough: Callable[[bytes, bytes], bool]
    ) -> tuple[bytes, bytes]:
        env = {"HOME": str(self.home), "PATH": "/usr/bin:/bin", "SSH_CLIENT": "10.0.0.1 40000 22"}
        argv = [self.shell, "-c", line]
        done = run_bounded(argv, stdin, timeout=timeout, enough=enough, env=env, start_new_session=True)
        return done.stdout, done.stderr


BEFORE, PROFILES = "~/.bashrc", "~/.bash_profile"


@pytest.mark.parametrize(
    ("file", "text", "told"),
    [
        (".bashrc", "exit 0", BEFORE),
        (".bashrc", "exit 255", BEFORE),
        (".bashrc", "set -e; false", BEFORE),
        (".bashrc", "exec sh", BEFORE),
        (".bashrc", "exec cat", BEFORE),
        (".bashrc", f"exec {LONG}", BEFORE),
        (".bashrc", f"while :; do {LONG}; done", BEFORE),
        (".bashrc", "read -r project; export project", BEFORE),
        (".bashrc", "exec tmux", BEFORE),
        (".zshenv", "exit", BEFORE),
        (".config/fish/config.fish", "exec sh", BEFORE),
        (".bash_profile", "exit 3", PROFILES),
        (".bash_profile", "exec sh", PROFILES),
        (".bash_profile", "exec python3", PROFILES),
        (".bash_profile", "echo maintenance; exit", PROFILES),
        (".bashrc", "echo hello; echo error >&2; sleep 1", ""),
        (".bash_profile", "read -r answer; echo hello", ""),
        (".bash_profile", "sleep 2", ""),
        (".bash_profile", "exec 2>&1", ""),
        (".bash_profile", "trap 'echo bye; exit 9' EXIT", ""),
        (".bash_profile", f"trap '{LONG}' EXIT", ""),
        (".bash_profile", f"{LONG} &", ""),
        (".bash_profile", "export status=5 mark=x word=y; set -- a b", ""),
        (".zshenv", "echo hello", ""),
    ],
)
def test_a_start_file_that_takes_the_shell_is_named_within_ten_seconds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file: str, text: str, told: str
) -> None:
    monkeypatch.setattr(ssh_runner, "_SHELL_SECONDS", 3.0)
    login = LoggedIn(tmp_path)
    login.shell = {".zshenv": "zsh", ".config/fish/config.fish": "fish"}.get(file, "bash")
    if shutil.which(login.shell) is None:
        pytest.skip(f"no {login.shell} here")
    (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / file).write_text(f"{text}\n")
    since = time.monotonic()
    argv = ["bash", "-c", "cat; echo problem >&2; exit 7"]
    if told:
        with pytest.raises(UnreachableError, match="E543: a start file at login1") as caught:
            SshRunner(Address(host="login1"), login).run(argv, stdin="in\n", timeout=30)
        assert told in caught.value.diagnostics[0].message
    else:
        done = SshRunner(Address(host="login1"), login).run(argv, stdin="in\n", timeout=30)
        assert (done.status, done.stdout) == (7, "in\nproblem\n" if "2>&1" in text else "in\n")
        assert done.stderr == ("" if "2>&1" in text else "problem\n")
    assert time.monotonic() - since < 10
