"""The process that asks pyslurm: started when it is first needed, asked in lines of JSON, ended when it hangs."""

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

from ..runner import Completed, scrubbed
from ..slurm.refusals import failure

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..runner import Charge

PYTHON = "PAISLURM_PYSLURM_PYTHON"
"""Names the Python that has pyslurm, where this one has not."""
CHILD = Path(__file__).with_name("child.py")
CALL_SECONDS = 60.0
"""A controller that is away costs libslurm 10 s before it says so; one whose `$SLURM_CONF` is gone, a minute."""
MAX_WORDS = 300

T = TypeVar("T")


class UnusableError(UnreachableError):
    """Report that pyslurm cannot be used here, now or later: Slurm's programs can."""


class Reply(Struct, frozen=True):
    """Hold what `child.py` answers: what was asked for, or the kind of an error and its words; and what it cost."""

    cpu: float
    answer: Raw = Raw(b"null")
    error: str = ""
    message: str = ""


class Process:
    """Ask a process that imports pyslurm. `charge` is told of each call, as by `BilledRunner`."""

    def __init__(
        self,
        charge: Charge = lambda _, __, ___: None,
        *,
        argv: Sequence[str] = (),
        timeout: float = CALL_SECONDS,
    ) -> None:
        self._charge = charge
        self._argv = tuple(argv) or (os.environ.get(PYTHON) or sys.executable, str(CHILD))
        self._timeout = timeout
        self._child: subprocess.Popen[bytes] | None = None
        self._said: IO[bytes] | None = None

    @property
    def python(self) -> str:
        """The Python that is to have pyslurm."""
        return self._argv[0]

    def call(self, name: str, kind: type[T], **arguments: object) -> T:
        """Return the answer to a call of `child.py`, which is of a `kind`.

        Raises UnusableError where it ends or cannot be started, UnreachableError where it does not respond in time, and
        else what Slurm's own programs would be told by the same words of Slurm.
        """
        cpu, failed = 0.0, True
        try:
            line = self._ask({"call": name, **arguments})
            try:
                found = json.decode(line, type=Reply)
                answer = None if found.error else json.decode(found.answer, type=kind)
            except (DecodeError, RecursionError):
                self.close()
                raise unusable(f"its process printed what is no answer: {line[:MAX_WORDS]!r}") from None
            cpu, failed = found.cpu, bool(found.error)
        finally:
            if name != "begin":
                self._charge(("pyslurm", name), cpu, "failed" if failed else "ok")
        if not failed:
            return cast("T", answer)
        if found.error == "unusable":
            raise unusable(found.message)
        raise failure(("pyslurm", name), Completed(status=1, stdout="", stderr=found.message))

    def close(self) -> None:
        """End the process, if there is one."""
        child, self._child = self._child, None
        if child is None:
            return
        atexit.unregister(self.close)
        child.kill()
        child.wait()
        for stream in (child.stdin, child.stdout, self._said):
            if stream is not None:
                stream.close()

    def _ask(self, request: dict[str, object]) -> bytes:
        child = self._started()
        assert child.stdin is not None
        try:
            child.stdin.write(json.encode(request) + b"\n")
            child.stdin.flush()
            return self._line(child)
        except BrokenPipeError:
            words = self._last_words(child)
            self.close()
            raise unusable(f"its process ended: {words}") from None
        except TimeoutError:
            self.close()
            diagnostic = Diagnostic(
                code="E502",
                message=f"pyslurm gave no answer within {self._timeout:g} s; what was asked may have been done or not",
                hint="try again later: nothing is lost",
            )
            raise UnreachableError(diagnostic, argv=self._argv) from None
        except BaseException:
            # An answer that comes after an interrupt would be taken for that of the next call.
            self.close()
            raise

    def _started(self) -> subprocess.Popen[bytes]:
        if self._child is None:
            self._said = tempfile.TemporaryFile()  # noqa: SIM115 - it is open as long as the process is there
            try:
                # Ctrl-C is for who asks.
                self._child = subprocess.Popen(
                    self._argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._said,
                    env=scrubbed(os.environ), start_new_session=True,
                )  # fmt: skip
            except OSError as error:
                self._said.close()
                hint = f"{PYTHON} is to name a Python that has pyslurm"
                raise unusable(f"{self.python} cannot be started ({error.strerror})", hint) from None
            atexit.register(self.close)
        return self._child

    def _line(self, child: subprocess.Popen[bytes]) -> bytes:
        """Return the next line of the process; TimeoutError where it takes too long."""
        assert child.stdout is not None
        until, found = time.monotonic() + self._timeout, b""
        while not found.endswith(b"\n"):
            left = until - time.monotonic()
            if left <= 0 or not select.select([child.stdout], [], [], left)[0]:
                raise TimeoutError
            part = os.read(child.stdout.fileno(), 1 << 20)
            if not part:
                raise unusable(f"its process ended: {self._last_words(child)}")
            found += part
        return found

    def _last_words(self, child: subprocess.Popen[bytes]) -> str:
        status = child.wait()
        assert self._said is not None
        self._said.seek(0)
        lines = self._said.read().decode(errors="replace").split("\n")
        said = next((line.strip() for line in reversed(lines) if line.strip()), "without a word")
        return f"{said[:MAX_WORDS]} (by signal {-status})" if status < 0 else said[:MAX_WORDS]


def unusable(message: str, hint: str = "`--backend slurm` asks Slurm's programs") -> UnusableError:
    """Return the error for a pyslurm that cannot be used."""
    return UnusableError(Diagnostic(code="E509", message=f"pyslurm cannot be used: {message}", hint=hint))
