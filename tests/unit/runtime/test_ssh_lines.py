"""Command lines of ssh, scp, sftp and pdsh: OpenSSH with a real sshd must do the same as the ssh of the tasks."""

from __future__ import annotations

import getpass
import os
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import NamedTuple

import pytest

from tests import needs

from .bash import run, sourced

SSHD = shutil.which("sshd", path=f"{os.environ['PATH']}:/usr/sbin")
BEHIND = """
case $command in
  internal-sftp | *sftp-server*) command=/usr/lib/openssh/sftp-server name=sftp ;;
  *) name=$command ;;
esac
printf '%s\\n' "$name" >>reached
exec bash -c "$command"
"""
"""What runs a command for both: it records the command, then becomes it. sshd says `internal-sftp` for `Subsystem`."""


class Answer(NamedTuple):
    """What a program did: its status and output, and `HOST PORT` and the command where it arrived, a line each."""

    status: int
    output: str
    reached: str
    errors: str


class Ways:
    """Two folders of programs: OpenSSH with a real sshd (`real`), and the ssh of tasks with a shell (`ours`)."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for key in ("host", "user"):
            subprocess.run(["ssh-keygen", "-q", "-N", "", "-t", "ed25519", "-f", folder / key], check=True)
        command = "command=${SSH_ORIGINAL_COMMAND:-exec bash}"
        self._program("behind", f"#!/bin/bash\ncd {folder} || exit\n{command}{BEHIND}")
        server = f"HostKey {folder}/host\nAuthorizedKeysFile {folder}/user.pub\nStrictModes no\nUsePAM no\n"
        server += f"PidFile none\nSubsystem sftp internal-sftp\nForceCommand {folder}/behind\n"
        (folder / "sshd_config").write_text(server)
        start = f"exec {SSHD} -i -f {folder}/sshd_config"
        if os.geteuid() == 0:
            # As root, sshd insists on this folder.
            inside = f"mount -t tmpfs none /run && mkdir /run/sshd && {start}"
            start = f"exec {shlex.join(needs.unshare('--mount'))} sh -c {shlex.quote(inside)}"
        self._program("sshd", f'#!/bin/sh\necho "$@" >>{folder}/reached\n{start} 2>{folder}/log\n')
        client = f"ProxyCommand {folder}/sshd %h %p\nIdentityFile {folder}/user\nIdentitiesOnly yes\nLogLevel ERROR\n"
        client += "StrictHostKeyChecking no\nUserKnownHostsFile /dev/null\n"
        (folder / "ssh_config").write_text(client)
        self._program("real/bin/ssh", f'#!/bin/sh\nexec {shutil.which("ssh")} -F {folder}/ssh_config "$@"\n')
        stubs = f"""
        PSL_ATTEMPT_FOLDER={folder}/ours PSL_UMASK=0022
        open_attempt() {{ :; }}
        find_task() {{ [[ $1 != out.example ]] && PSL_FOUND_ROLE=$1 PSL_FOUND_SLOT=${{2:-22}}; }}
        exec_in_task() {{
          [[ $1 == dead ]] && exit 255
          [[ $3 == : ]] && exit
          cd {folder} || exit
          printf '%s\\n' "$1 $2" >>reached
          command=$3
          {BEHIND}
        }}
        """
        self._program("ours/bin/ssh", f'#!/usr/bin/env -S bash -p\nset -u\n{sourced()}\n{stubs}\nssh_main x 0 "$@"\n')
        for way in ("ours", "real"):
            for name in ("scp", "sftp", "pdsh"):
                self._program(f"{way}/bin/{name}", run("print_user_of_ssh"))

    def _program(self, name: str, text: str) -> None:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o755)

    def answer(self, way: str, line: str) -> Answer:
        """Run a command line of sh with the programs of a way."""
        reached = self.folder / "reached"
        reached.unlink(missing_ok=True)
        env = {"PATH": f"{self.folder}/{way}/bin:/usr/bin:/bin", "USER": getpass.getuser(), "HOME": str(self.folder)}
        argv = ["timeout", "30", "sh", "-c", line]
        env["PDSH_RCMD_TYPE"] = "ssh"
        done = subprocess.run(argv, env=env, cwd=self.folder, input="in\n", capture_output=True, text=True, check=False)
        return Answer(done.returncode, done.stdout, reached.read_text() if reached.exists() else "", done.stderr)


@pytest.fixture(scope="module")
def ways(tmp_path_factory: pytest.TempPathFactory) -> Ways:
    if not SSHD:
        pytest.skip("no sshd here")
    return Ways(tmp_path_factory.mktemp("ssh"))


W = "worker-0 22"


@pytest.mark.parametrize(
    ("line", "host", "command", "output", "status"),
    [
        ("ssh worker-0 echo out", W, "echo out", "out\n", 0),
        ("ssh worker-0 exit 3", W, "exit 3", "", 3),
        ("ssh worker-0 cat", W, "cat", "in\n", 0),
        ("ssh -n worker-0 cat", W, "cat", "", 0),
        ("ssh -oStdinNull=yes worker-0 cat", W, "cat", "", 0),
        ("echo pwd | ssh -T worker-0 >/dev/null", W, "exec bash", "", 0),
        ("echo 'echo out' | ssh worker-0 ''", W, "exec bash", "out\n", 0),
        ("ssh $USER@worker-0 true", W, "true", "", 0),
        ("ssh -l $USER worker-0 true", W, "true", "", 0),
        ("ssh -l$USER worker-0 true", W, "true", "", 0),
        ("ssh worker-0 -l $USER true", W, "true", "", 0),
        ("ssh -o User=$USER worker-0 true", W, "true", "", 0),
        ('ssh -o "User $USER" worker-0 true', W, "true", "", 0),
        ("ssh -p 2222 worker-0 true", "worker-0 2222", "true", "", 0),
        ("ssh -p2222 worker-0 true", "worker-0 2222", "true", "", 0),
        ("ssh -p ssh worker-0 true", W, "true", "", 0),
        ("ssh -p 02222 worker-0 true", "worker-0 2222", "true", "", 0),
        ("ssh worker-0 -p 2222 -o Port=7 true", "worker-0 2222", "true", "", 0),
        ("ssh -oPort=2222 worker-0 true", "worker-0 2222", "true", "", 0),
        ("ssh -o 'port = \"2222\" ' worker-0 true", "worker-0 2222", "true", "", 0),
        ("ssh -o 'PORT 2222' -p 7 worker-0 true", "worker-0 2222", "true", "", 0),
        ("ssh -p 0 worker-0 true", "", "", "", 255),
        ("ssh -p 70000 worker-0 true", "", "", "", 255),
        ("ssh -oPort worker-0 true", "", "", "", 255),
        ("ssh -4Aq worker-0 true", W, "true", "", 0),
        ("ssh -qp2222 worker-0 true", "worker-0 2222", "true", "", 0),
        ("ssh -46aCgkKMqvxXyY -e none worker-0 true", W, "true", "", 0),
        ("ssh -2 -a -x worker-0 true", W, "true", "", 0),
        ("ssh -1 worker-0 true", "", "", "", 255),
        ("ssh -t worker-0 true", W, "true", "", 0),
        ("ssh -o RequestTTY=no -o BatchMode=yes -o ConnectTimeout=5 worker-0 true", W, "true", "", 0),
        ("ssh -o '' -o '#x' worker-0 true", W, "true", "", 0),
        ("ssh -- worker-0 echo -p", W, "echo -p", "-p\n", 0),
        ("ssh worker-0 -- echo -p", W, "echo -p", "-p\n", 0),
        ("ssh worker-0 -q -- echo -p", W, "echo -p", "-p\n", 0),
        ("ssh -- worker-0 echo -p 7", W, "echo -p 7", "-p 7\n", 0),
        ("ssh -- worker-0 -p 7 true", W, "-p 7 true", "", 2),
        ("ssh ssh://$USER@worker-0:2222 true", "worker-0 2222", "true", "", 0),
        ("ssh ssh://worker-0 true", W, "true", "", 0),
        ("ssh ssh://worker-0/ true", W, "true", "", 0),
        ("ssh ssh://[::1]:2222 true", "", "", "", 255),
        ("ssh ssh://worker-0: true", W, "true", "", 0),
        ("ssh ssh://worker-0:2222 -p 7 true", "worker-0 2222", "true", "", 0),
        ("ssh -p 7 ssh://worker-0:2222 true", "worker-0 7", "true", "", 0),
        ("ssh ssh://worker-0/path true", "", "", "", 255),
        ("ssh ssh://worker-0:x true", "", "", "", 255),
        ("ssh @worker-0 true", "", "", "", 255),
        ("ssh -o HostName=worker-1 worker-0 true", "worker-1 22", "true", "", 0),
        ("ssh worker-0 -oHostName=worker-1 true", "worker-1 22", "true", "", 0),
        ("ssh -o RemoteCommand='echo far' worker-0", W, "echo far", "far\n", 0),
        ("ssh -o RemoteCommand='echo far' worker-0 true", "", "", "", 255),
        ("ssh -o RemoteCommand=none -o ClearAllForwardings=yes -L 1:x:1 worker-0 true", W, "true", "", 0),
        ("ssh -f worker-0 'echo out; exit 3'", W, "echo out; exit 3", "out\n", 0),
        ("ssh -f worker-0", "", "", "", 255),
        ("ssh -s worker-0", "", "", "", 255),
        ("ssh -O check worker-0", "", "", "", 255),
        ("ssh -O nonsense worker-0", "", "", "", 255),
        ("ssh -L nonsense worker-0 true", "", "", "", 255),
        ("ssh -W nonsense worker-0", "", "", "", 255),
        ("ssh -w nonsense worker-0 true", "", "", "", 255),
        ("ssh -Z worker-0 true", "", "", "", 255),
        ("ssh worker-0 -p", "", "", "", 255),
        ("ssh", "", "", "", 255),
        ("ssh -q", "", "", "", 255),
        ("ssh -V", "", "", "", 0),
        ("ssh -Q sig | grep -x ssh-ed25519", "", "", "ssh-ed25519\n", 0),
        ("ssh -G -p 2222 worker-0 | grep ^port", "", "", "port 2222\n", 0),
        ("ssh -G -N -L 8080:x:80 out.example | grep ^hostname", "", "", "hostname out.example\n", 0),
        ("ssh -o 'ProxyCommand echo' -N -J worker-0 out.example", "", "", "", 255),
        ("ssh -o SendEnv=PSSH_NODENUM -o NumberOfPasswordPrompts=1 -l $USER worker-0 true", W, "true", "", 0),
        ("ssh -x -oConnectTimeout=15 -oBatchMode=yes worker-0 true", W, "true", "", 0),
        ("ssh -o PasswordAuthentication=no worker-0 -p 2222 'true'", "worker-0 2222", "true", "", 0),
        ("scp -q sshd_config worker-0:to; cmp sshd_config to", W, "sftp", "", 0),
        ("scp -qO -P 2222 sshd_config worker-0:to", "worker-0 2222", "scp -t to", "", 0),
        ("scp -q -o Port=2222 $USER@worker-0:sshd_config to; cmp sshd_config to", "worker-0 2222", "sftp", "", 0),
        ("scp -q scp://$USER@worker-0:2222/sshd_config to; cmp sshd_config to", "worker-0 2222", "sftp", "", 0),
        ("scp -q -4 -C -l 99999 -p -r -v -B -- [::1]:sshd_config to", "::1 22", "sftp", "", 0),
        ("scp -q worker-0:nothing to", W, "sftp", "", 1),
        ("scp -Z worker-0:nothing to", "", "", "", 1),
        ("echo 'get sshd_config to' | sftp -q -b - worker-0 >/dev/null", W, "sftp", "", 0),
        ("sftp -q -P 2222 worker-0:sshd_config to >/dev/null", "worker-0 2222", "sftp", "", 0),
        ("pdsh -N -w worker-0 echo out", W, "echo out", "out\n", 0),
        ("pdsh -N -w worker-0 exit 3", W, "exit 3", "", 3),
        ("pdsh -S -f 1024 -w worker-0 'echo %n %h'", W, "echo 0 worker-0", "worker-0: 0 worker-0\n", 0),
        ("pdsh -N -l $USER -t 5 -w worker-0 true", W, "true", "", 0),
        ("PDSH_SSH_ARGS_APPEND='-q -p 2222' pdsh -N -w worker-0 true", "worker-0 2222", "true", "", 0),
        ("PDSH_SSH_ARGS='-2 -a -x -l%u %h' pdsh -N -w worker-0 true", W, "true", "", 0),
        ("PDSH_SSH_ARGS_APPEND=-1 pdsh -N -w worker-0 true", "", "", "", 255),
    ],
)  # fmt: skip
def test_a_line_does_what_openssh_does(
    ways: Ways, line: str, host: str, command: str, output: str, status: int
) -> None:
    if "pdsh " in line and not shutil.which("pdsh"):
        pytest.skip("no pdsh here")
    expected = (status, output, f"{host}\n{command}\n" if host else "")
    real, ours = (ways.answer(way, line) for way in ("real", "ours"))
    assert real[:3] == expected, real.errors
    assert ours[:3] == expected, ours.errors
    assert ours.errors or status != 255


@pytest.mark.parametrize("options", [
    "-N", "-fN", "-MNf", "-D 8080", "-L 8080:x:80", "-R8080:x:80", "-W x:80", "-w any", "-oTunnel=yes",
    "-o SessionType=none", "-o 'LocalForward 8080 x:80'", "-o DynamicForward=8080", "-o remoteforward=8080",
])  # fmt: skip
def test_an_option_that_needs_a_daemon_is_refused(ways: Ways, options: str) -> None:
    answer = ways.answer("ours", f"ssh {options} worker-0 true")
    assert answer[:3] == (255, "", "")
    assert answer.errors.endswith(" is not possible without a daemon\n")


def test_the_background_fails_if_the_task_does_not_answer(ways: Ways) -> None:
    assert ways.answer("ours", "ssh -f dead true").status == 255
