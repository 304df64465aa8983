"""The process that imports pyslurm: started on first use, queried by lines of JSON, killed after a time-out."""

from __future__ import annotations

import atexit
import os
import select
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import IO, TYPE_CHECKING, TypeVar, cast

from msgspec import DecodeError, Raw, Struct, json

from paislurm.translator.errors import Diagnostic, UnreachableError

from ..runner import Completed, environment_of_process, scrubbed
from ..slurm.refusals import failure

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..runner import Environment, LogCall

PYTHON = "PAISLURM_PYSLURM_PYTHON"
"""The variable with the path of a Python that has pyslurm, if this one has not."""
CHILD = Path(__file__).with_name("child.py")
CALL_SECONDS = 60.0
"""If the controller is down, libslurm reports it after 10 s; with a missing `$SLURM_CONF`, after a minute."""
MAX_MESSAGE_CHARACTERS = 300

T = TypeVar("T")


class UnusableError(UnreachableError):
    """Report that pyslurm cannot be used here at all. Slurm's programs can."""


class Reply(Struct, frozen=True):
    """Hold an answer of `child.py`: the value, or the kind of an error and its message; and the CPU seconds used."""

    cpu: float
    answer: Raw = Raw(b"null")
    error: str = ""
    message: str = ""


class Process:
    """Query a process that imports pyslurm. `log_call` logs each call, as for `LoggingRunner`."""

    def __init__(
        self,
        log_call: LogCall = lambda _, __, ___: None,
        *,
        argv: Sequence[str] = (),
        timeout: float = CALL_SECONDS,
        environment: Environment = environment_of_process,
    ) -> None:
        self._log_call = log_call
        self._environment = environment
        self._argv = tuple(argv) or (environment().get(PYTHON) or sys.executable, str(CHILD))
        self._timeout = timeout
        self._child: subprocess.Popen[bytes] | None = None
        self._stderr: IO[bytes] | None = None

    @property
    def python(self) -> str:
        """The Python that must have pyslurm."""
        return self._argv[0]

    def call(self, name: str, kind: type[T], **arguments: object) -> T:
        """Return the answer to a call of `child.py`, decoded as `kind`.

        Raises UnusableError if the process exits or cannot be started, UnreachableError after a time-out. For an
        error of Slurm, raises the same error as Slurm's programs with that message.
        """
        cpu, failed = 0.0, True
        try:
            line = self._ask({"call": name, **arguments})
            try:
                found = json.decode(line, type=Reply)
                answer = None if found.error else json.decode(found.answer, type=kind)
            except (DecodeError, RecursionError):
                self.close()
                raise unusable(f"its process printed invalid output: {line[:MAX_MESSAGE_CHARACTERS]!r}") from None
            cpu, failed = found.cpu, bool(found.error)
        finally:
            if name != "begin":
                self._log_call(("pyslurm", name), cpu, "failed" if failed else "ok")
        if not failed:
            return cast("T", answer)
        if found.error == "unusable":
            raise unusable(found.message)
        raise failure(("pyslurm", name), Completed(status=1, stdout="", stderr=found.message))

    def close(self) -> None:
        """End the process, if it runs."""
        child, self._child = self._child, None
        if child is None:
            return
        atexit.unregister(self.close)
        child.kill()
        child.wait()
        for stream in (child.stdin, child.stdout, self._stderr):
            if stream is not None:
                stream.close()

    def _ask(self, request: dict[str, object]) -> bytes:
        child = self._started()
        assert child.stdin is not None
        try:
            child.stdin.write(json.encode(request) + b"\n")
            child.stdin.flush()
            return self._read_line(child)
        except BrokenPipeError:
            words = self._last_error(child)
            self.close()
            raise unusable(f"its process ended: {words}") from None
        except TimeoutError:
            self.close()
            diagnostic = Diagnostic(
                code="E502",
                message=f"pyslurm timed out after {self._timeout:g} s; it may or may not have done its work",
                hint="try again later: nothing is lost",
            )
            raise UnreachableError(diagnostic, argv=self._argv) from None
        except BaseException:
            # A late answer would be read as that of the next call.
            self.close()
            raise

    def _started(self) -> subprocess.Popen[bytes]:
        if self._child is None:
            self._stderr = tempfile.TemporaryFile()  # noqa: SIM115 - open while the process runs
            try:
                # A new session: Ctrl-C is for the caller only.
                self._child = subprocess.Popen(
                    self._argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._stderr,
                    env=scrubbed(self._environment()), start_new_session=True,
                )  # fmt: skip
            except OSError as error:
                self._stderr.close()
                hint = f"set {PYTHON} to a Python that has pyslurm"
                raise unusable(f"{self.python} cannot be started ({error.strerror})", hint) from None
            atexit.register(self.close)
        return self._child

    def _read_line(self, child: subprocess.Popen[bytes]) -> bytes:
        """Return the next line of the process. Raises TimeoutError."""
        assert child.stdout is not None
        until, found = time.monotonic() + self._timeout, b""
        while not found.endswith(b"\n"):
            left = until - time.monotonic()
            if left <= 0 or not select.select([child.stdout], [], [], left)[0]:
                raise TimeoutError
            part = os.read(child.stdout.fileno(), 1 << 20)
            if not part:
                raise unusable(f"its process ended: {self._last_error(child)}")
            found += part
        return found

    def _last_error(self, child: subprocess.Popen[bytes]) -> str:
        status = child.wait()
        assert self._stderr is not None
        self._stderr.seek(0)
        lines = self._stderr.read().decode(errors="replace").split("\n")
        last = next((line.strip() for line in reversed(lines) if line.strip()), "without a message")[
            :MAX_MESSAGE_CHARACTERS
        ]
        return f"{last} (by signal {-status})" if status < 0 else last


def unusable(message: str, hint: str = "use `--backend slurm`, which calls Slurm's programs") -> UnusableError:
    return UnusableError(Diagnostic(code="E509", message=f"pyslurm cannot be used: {message}", hint=hint))
