"""Reach a login node with the library fabric: keys, agent, ~/.ssh/config, ProxyJump; one connection per process."""

from __future__ import annotations

import os
import shutil
import signal
import sys
import threading
import time
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from paislurm.translator.errors import UnreachableError

from ..bounded_run import MAX_ANSWER, TooLongError
from . import faults
from .openssh import fingerprint

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from ..bounded_run import Enough
    from .transport import Address, Sent

CONNECT_SECONDS = 15
KEEP_ALIVE_SECONDS = 5
CHUNK = 1 << 15
BROKEN = 255
_NO_KEY = "No authentication methods available"
"""Paramiko's message if it has no key to offer. Source: paramiko/client.py, 5.1."""
KNOWN_HOSTS = ("/etc/ssh/ssh_known_hosts", "~/.ssh/known_hosts")


class FabricTransport:
    """Use one connection, which the first call opens and which is reopened if it breaks."""

    name = "fabric"

    def __init__(self, address: Address) -> None:
        self._address = address
        self._connection: Any = None

    def exchange(self, line: str, stdin: bytes, timeout: float, enough: Enough) -> tuple[bytes, bytes]:
        channel, until = self._session(), time.monotonic() + timeout
        stdout, stderr, changed = bytearray(), bytearray(), threading.Event()
        ended: list[int] = []
        try:
            channel.exec_command(line)
            for receive, into in ((channel.recv, stdout), (channel.recv_stderr, stderr)):
                _thread(_drain, channel, receive, into, ended, changed)
            _thread(_feed, channel, stdin)
            while len(ended) < 2 and time.monotonic() < until and not enough(stdout, stderr):
                changed.wait(1)
                changed.clear()
            is_broken = len(ended) == 2 and channel.recv_exit_status() < 0 and not enough(stdout, stderr)
        except Exception:  # noqa: BLE001 - paramiko raises many types
            is_broken = True
        finally:
            channel.close()
        if max(len(stdout), len(stderr)) > MAX_ANSWER:
            raise TooLongError
        if is_broken:
            self._drop()
            raise ConnectionError
        return bytes(stdout), bytes(stderr)

    def put(self, files: Sequence[Sent], timeout: float) -> None:
        channel = self._session()
        watchdog = threading.Timer(timeout, channel.close)
        watchdog.daemon = True
        watchdog.start()
        try:
            from paramiko import SFTPClient

            channel.invoke_subsystem("sftp")
            client = SFTPClient(channel)
            for each in files:
                client.put(str(each.local), each.remote, confirm=True)
                client.chmod(each.remote, each.mode)
        except Exception as error:
            if type(error) in (OSError, PermissionError, FileNotFoundError) and not channel.closed:
                # The server refuses; for a full disk its only message is `Failure`.
                raise faults.not_written(self._address, str(error)) from error
            self._drop()
            raise faults.broken(self._address, f"sftp ({str(error) or type(error).__name__})") from error
        finally:
            watchdog.cancel()
            channel.close()

    def attach(self, line: str, *, terminal: bool) -> int:
        return _run_attached(self._session(), line, terminal=terminal)

    def _session(self) -> Any:
        """Open a new channel of the connection, and reconnect once."""
        for is_last in (False, True):
            connection = self._open()
            try:
                return connection.transport.open_session(timeout=CONNECT_SECONDS)
            except Exception as error:
                self._drop()
                if is_last:
                    raise faults.not_reached(self._address, str(error)) from error
        raise AssertionError

    def _open(self) -> Any:
        if self._connection is not None and self._connection.is_connected:
            return self._connection
        connection = self._connect()
        connection.transport.set_keepalive(KEEP_ALIVE_SECONDS)
        self._connection = connection
        return connection

    def _connect(self) -> Any:
        import paramiko
        from fabric import Connection

        address = self._address
        try:
            connection = Connection(
                address.host, user=address.user or None, port=address.port, connect_timeout=CONNECT_SECONDS,
                forward_agent=False,
            )  # fmt: skip
            _check_keys(connection, address)
            connection.open()
        except UnreachableError:
            raise
        except paramiko.BadHostKeyException as error:
            raise faults.other_key(address) from error
        except Exception as error:
            if isinstance(error, paramiko.AuthenticationException) or _NO_KEY in str(error):
                raise faults.login_refused(address, str(error), command=_shared_command(address)) from error
            raise faults.not_reached(address, str(error) or type(error).__name__) from error
        return connection

    def _drop(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(Exception):
                connection.close()


def _shared_command(address: Address) -> str:
    """Return the command that opens a shared connection; without an ssh program, how it would start."""
    from .program import ProgramTransport

    try:
        return ProgramTransport(address).command
    except UnreachableError:
        return f"ssh -fNM {address.host}"


def _check_keys(connection: Any, address: Address) -> None:
    """Check the keys of a host and its jump hosts against known_hosts; fabric accepts any key."""
    import paramiko

    class Refuse(paramiko.MissingHostKeyPolicy):
        def missing_host_key(self, client: paramiko.SSHClient, hostname: str, key: paramiko.PKey) -> None:
            del client
            line = f"{hostname} {key.get_name()} {key.get_base64()}"
            raise faults.unknown_key(address, line, fingerprint(line))

    while connection is not None and not isinstance(connection, str):
        client = connection.client
        client.set_missing_host_key_policy(Refuse())
        for name in KNOWN_HOSTS:
            path = Path(name).expanduser()
            if path.is_file():
                _check_marks(path, address)
                client.load_system_host_keys(str(path))
        connection = connection.gateway


def _check_marks(path: Path, address: Address) -> None:
    """Reject a known_hosts file with revoked keys or certificate authorities, which paramiko ignores."""
    if any(line.startswith(("@revoked", "@cert-authority")) for line in path.read_text(errors="replace").splitlines()):
        words = f"{path} has @revoked or @cert-authority lines, which fabric does not support; use `transport: ssh`"
        raise faults.not_reached(address, words)


def _thread(target: Callable[..., None], *args: object) -> threading.Thread:
    thread = threading.Thread(target=target, args=args, daemon=True)
    thread.start()
    return thread


def _drain(
    channel: Any, receive: Callable[[int], bytes], into: bytearray, ended: list[int], changed: threading.Event
) -> None:
    """Receive until the end of a stream, with an event for each change; count the end in `ended`."""
    with suppress(OSError, EOFError):
        while piece := receive(CHUNK):
            into += piece
            changed.set()
            if len(into) > MAX_ANSWER:
                channel.close()
                break
    ended.append(len(into))
    changed.set()


def _feed(channel: Any, data: bytes) -> None:
    with suppress(OSError, EOFError):
        channel.sendall(data)
        channel.shutdown_write()


def _run_attached(channel: Any, line: str, *, terminal: bool) -> int:
    """Run a command with our standard streams. Return its exit status, 255 if the connection broke."""
    if terminal:
        size = shutil.get_terminal_size()
        channel.get_pty(term=os.environ.get("TERM", "vt100"), width=size.columns, height=size.lines)
    channel.exec_command(line)
    with _raw_terminal(channel) if terminal else nullcontext():
        threading.Thread(target=_send, args=(channel,), daemon=True).start()
        of_errors = threading.Thread(target=_copy, args=(channel.recv_stderr, 2), daemon=True)
        of_errors.start()
        _copy(channel.recv, 1)
        of_errors.join()
    status: int = channel.recv_exit_status()
    return BROKEN if status < 0 else status


def _copy(receive: Callable[[int], bytes], descriptor: int) -> None:
    with suppress(OSError, EOFError):
        while piece := receive(CHUNK):
            while piece:
                piece = piece[os.write(descriptor, piece) :]


def _send(channel: Any) -> None:
    with suppress(OSError, EOFError):
        while piece := os.read(0, CHUNK):
            channel.sendall(piece)
        channel.shutdown_write()


@contextmanager
def _raw_terminal(channel: Any) -> Iterator[None]:
    """Pass every key to the remote side, and every change of the window size."""
    import termios
    import tty

    def resize(*_: object) -> None:
        size = shutil.get_terminal_size()
        with suppress(Exception):
            channel.resize_pty(width=size.columns, height=size.lines)

    before = termios.tcgetattr(sys.stdin)
    handler = signal.signal(signal.SIGWINCH, resize)
    # TCSADRAIN keeps keys that were typed meanwhile.
    tty.setraw(sys.stdin, termios.TCSADRAIN)
    try:
        yield
    finally:
        termios.tcsetattr(sys.stdin, termios.TCSADRAIN, before)
        signal.signal(signal.SIGWINCH, handler)
