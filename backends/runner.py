"""Run programs on this machine and log what each call costs: the seam between command lines and their execution."""

from __future__ import annotations

import json
import math
import os
import resource
import signal
import time
from base64 import urlsafe_b64decode
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Literal, NoReturn, Protocol

from msgspec import Struct

from paislurm.translator.errors import Diagnostic, UnreachableError
from paislurm.translator.times import duration_text

from .bounded_run import MAX_ANSWER, TooLongError, run_bounded

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import TypeAlias

    CallEnd: TypeAlias = Literal["ok", "failed", "unreached"]
    """How a call ended; `unreached` if no Slurm daemon received the request."""
    LogCall: TypeAlias = Callable[[Sequence[str], float, CallEnd], None]
    Environment: TypeAlias = Callable[[], Mapping[str, str]]
    """Returns the caller's environment at the time of a call."""

OF_THE_SHELL = ("BASHOPTS", "BASH_ENV", "ENV", "PS4", "SHELLOPTS")
"""Variables that change how a shell runs a script: with `noexec` it runs nothing and succeeds.

Source: bash(1), Shell Variables; sh of POSIX, ENV.
"""

LEAKING = ("SLURM_", "SLURMD_", "SBATCH_", "SRUN_", "SALLOC_", "SQUEUE_", "SACCT_", "SCANCEL_", "PMI")
"""Prefixes of variables that change how sbatch, squeue, sacct, scancel or an inner srun works. Source: their
manuals."""

FOR_COMMANDS = "PAISLURM_BASH_ENV"
"""The variable that passes BASH_ENV on to the commands of tasks, and to no other bash before them."""

KEPT = ("SLURM_CONF",)
"""Variables that locate the cluster."""

JWT = "SLURM_JWT"
"""The variable that authenticates Slurm's clients. sbatch copies it into the job, where the runtime removes it.

Source: Slurm's page on JWT; observed on 22.05 and 24.11, not on 26.05.
"""

JWT_HINT = f"set {JWT} to another one, for example by `export $(scontrol token)`"

CLIENTS = frozenset(("sacct", "sacctmgr", "sbatch", "scancel", "scontrol", "scrontab", "sinfo", "squeue"))
"""The programs that get the token. srun and sstat cannot reach nodes with one, and srun passes it on to its step.

Source: observed on 22.05 and 24.11; 26.05: "auth/jwt is not supported for use with srun".
"""

NOT_CONNECTED = "(connect failure)"
"""The connection to the controller failed, so it did not receive the request. After "(send failure)" and "(receive
failure)" it may have.

Source: slurm_errno.h, SLURMCTLD_COMMUNICATIONS_CONNECTION_ERROR.
"""

SLEEPS = "sleeping and retrying"
"""In sbatch's message before its first pause of a second: it tries 15 times, in 120 s. Source: sbatch.c, main."""

RETRIED_HINT = "try again later: nothing is lost, and no job is submitted twice"
NO_ANSWER_HINT = "check whether `{}` is a wrapper of the site, and what it prints"


def scrubbed(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the environment without variables that change how Slurm's programs or a shell work."""
    start_file = environment.get("BASH_ENV")
    kept = {
        name: value
        for name, value in environment.items()
        if name in KEPT or not (name.startswith(LEAKING) or name in OF_THE_SHELL)
    }
    return kept | ({FOR_COMMANDS: start_file} if start_file else {})


def without_token(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the environment for a program that is no client of Slurm."""
    return {name: value for name, value in environment.items() if name != JWT}


def token_expiry(environment: Mapping[str, str]) -> float:
    """Return when the token expires, in seconds since 1970: infinity without a token, or if it does not tell.

    Source: RFC 7519, section 4.1.4.
    """
    with suppress(ValueError, LookupError, TypeError):
        return float(json.loads(urlsafe_b64decode(environment[JWT].split(".")[1] + "=="))["exp"])
    return math.inf


def has_expired(environment: Mapping[str, str]) -> bool:
    """Return whether the token has expired."""
    return token_expiry(environment) <= time.time()


def credentials(argv: Sequence[str], environment: Mapping[str, str]) -> dict[str, str]:
    """Return the token as a variable, nothing without one. Raises UnreachableError if it has expired."""
    if has_expired(environment):
        ago = duration_text(int(time.time() - token_expiry(environment)))
        raise _error(argv, "E506", f"{JWT} expired {ago} ago, so `{argv[0]}` was not called", JWT_HINT)
    return {JWT: environment[JWT]} if environment.get(JWT) else {}


class Completed(Struct, frozen=True, kw_only=True):
    """Hold the output and exit status of a program; a signal is a negative status."""

    status: int
    stdout: str
    stderr: str


class CommandRunner(Protocol):
    """Run programs. Raises UnreachableError if a program cannot be started or does not finish in time."""

    def run(
        self,
        argv: Sequence[str],
        *,
        stdin: str | None = None,
        env: Mapping[str, str] | None = None,
        base: Mapping[str, str] | None = None,
        timeout: float,
    ) -> Completed:
        """Run a program to its end, within `timeout` seconds, or until sbatch waits to try again (`SLEEPS`).

        The environment is `base` (by default the caller's) without variables of Slurm and MPI, plus `env`, and for
        Slurm's clients the caller's token. Without `stdin`, the input is empty.
        """
        ...


def environment_of_process() -> Mapping[str, str]:
    """Return the environment of this process, the default for callers without a session."""
    return os.environ


class LocalRunner:
    """Run programs on this machine."""

    def __init__(self, environment: Environment = environment_of_process) -> None:
        self._environment = environment

    def run(
        self,
        argv: Sequence[str],
        *,
        stdin: str | None = None,
        env: Mapping[str, str] | None = None,
        base: Mapping[str, str] | None = None,
        timeout: float,
    ) -> Completed:
        """Run a program; see CommandRunner."""
        caller = self._environment()
        variables = scrubbed(caller if base is None else base) | dict(env or {})
        if argv[0] in CLIENTS:
            variables |= credentials(argv, caller)
        try:
            done = run_bounded(
                argv,
                (stdin or "").encode(errors="surrogateescape"),
                timeout=timeout,
                enough=lambda _, errors: SLEEPS.encode() in errors,
                env=variables,
                start_new_session=True,
            )
        except FileNotFoundError:
            raise missing(argv) from None
        except PermissionError:
            raise forbidden(argv) from None
        except TooLongError:
            raise too_long(argv) from None
        except BlockingIOError as error:
            raise crowded(argv, error) from None
        stdout, stderr = done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace")
        if done.status is None and SLEEPS not in stderr:
            raise silent(argv, timeout)
        return Completed(status=-signal.SIGKILL if done.status is None else done.status, stdout=stdout, stderr=stderr)


def call_end(status: int | None, stderr: str) -> CallEnd:
    """Return how a call ended, by its exit status and standard error."""
    if status == 0:
        return "ok"
    return "unreached" if NOT_CONNECTED in stderr else "failed"


class LoggingRunner:
    """Run programs by another runner. Call `log_call` for each with its arguments, CPU seconds and end."""

    def __init__(self, runner: CommandRunner, log_call: LogCall) -> None:
        self._runner = runner
        self._log_call = log_call

    def run(self, argv: Sequence[str], **options: Any) -> Completed:
        """Run a program; see CommandRunner. A call that fails or times out is charged too."""
        before, end = _children_cpu_seconds(), call_end(None, "")
        try:
            done = self._runner.run(argv, **options)
            end = call_end(done.status, done.stderr)
            return done
        finally:
            self._log_call(argv, _children_cpu_seconds() - before, end)


def _children_cpu_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def become(argv: list[str], env: Mapping[str, str]) -> NoReturn:
    """Replace this process by a program, which inherits terminal and signals."""
    os.execvpe(argv[0], argv, env)  # noqa: S606 - the words are quoted


def missing(argv: Sequence[str]) -> UnreachableError:
    """Return the error for a program that is not on PATH."""
    hint = "run this on a login node of the cluster, or use `--backend local` to run it on this machine"
    return _error(argv, "E501", f"`{argv[0]}` is not on PATH", hint)


def forbidden(argv: Sequence[str]) -> UnreachableError:
    """Return the error for a program that the user may not execute."""
    message = f"`{argv[0]}` cannot be executed: permission denied"
    return _error(argv, "E501", message, "ask the site which users may run it, and on which machines")


def crowded(argv: Sequence[str], error: OSError) -> UnreachableError:
    """Return the error for a program that cannot be started beside so many processes."""
    message = f"`{argv[0]}` cannot be started: {error.strerror}; the user has too many processes on this machine"
    return _error(argv, "E501", message, "end some, or raise `ulimit -u`, the limit on a user's processes")


def too_long(argv: Sequence[str]) -> UnreachableError:
    """Return the error for a program whose output was too long."""
    message = f"`{argv[0]}` printed more than {MAX_ANSWER >> 20} MB"
    return _error(argv, "E543", message, NO_ANSWER_HINT.format(argv[0]))


def silent(argv: Sequence[str], timeout: float) -> UnreachableError:
    """Return the error for a program that timed out."""
    message = f"`{argv[0]}` timed out after {timeout:g} s; it may or may not have done its work"
    return _error(argv, "E502", message, RETRIED_HINT)


def _error(argv: Sequence[str], code: str, message: str, hint: str) -> UnreachableError:
    return UnreachableError(Diagnostic(code=code, message=message, hint=hint), argv=tuple(argv))
