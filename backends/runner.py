"""How a program is run: the seam between what is said to Slurm and where, and what each call costs."""

from __future__ import annotations

import os
import resource
from typing import TYPE_CHECKING, Literal, NoReturn, Protocol

from msgspec import Struct

from paislurm.translator.errors import Diagnostic, UnreachableError

from .bounded_run import MAX_ANSWER, TooLongError, run_bounded

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import TypeAlias

    CallEnd: TypeAlias = Literal["ok", "failed", "unreached"]
    """How a call of a program ended; `unreached` where no daemon of Slurm got the request."""
    Charge: TypeAlias = Callable[[Sequence[str], float, CallEnd], None]

OF_THE_SHELL = ("BASHOPTS", "BASH_ENV", "ENV", "PS4", "SHELLOPTS")
"""Variables by which a shell changes what the next one makes of a script: with `noexec` it runs nothing, and succeeds.

Source: bash(1), Shell Variables; sh of POSIX, ENV.
"""

LEAKING = ("SLURM_", "SLURMD_", "SBATCH_", "SRUN_", "SALLOC_", "SQUEUE_", "SACCT_", "SCANCEL_", "PMI")
"""Variables that change what sbatch, squeue, sacct, scancel or an inner srun does. Source: their manuals."""

FOR_COMMANDS = "PAISLURM_BASH_ENV"
"""What keeps the value of BASH_ENV for the commands, and for no other bash on the way to them."""

KEPT = ("SLURM_CONF",)
"""Variables that say where the cluster is."""

NOT_CONNECTED = "(connect failure)"
"""No connection to the controller, so that it cannot have got the request; "(send failure)" and "(receive failure)"
are other cases. Source: slurm_errno.h, SLURMCTLD_COMMUNICATIONS_CONNECTION_ERROR."""

RETRIED_HINT = "try again later: nothing is lost, and a job is not submitted twice"
NO_ANSWER_HINT = "see whether `{}` is a wrapper of the site's, and what it prints"


def scrubbed(environment: Mapping[str, str]) -> dict[str, str]:
    """Return an environment in which nothing speaks for the user but the command line."""
    start_file = environment.get("BASH_ENV")
    kept = {
        name: value
        for name, value in environment.items()
        if name in KEPT or not (name.startswith(LEAKING) or name in OF_THE_SHELL)
    }
    return kept | ({FOR_COMMANDS: start_file} if start_file else {})


class Completed(Struct, frozen=True, kw_only=True):
    """Hold how a program ended: `status` is negative for a signal."""

    status: int
    stdout: str
    stderr: str


class CommandRunner(Protocol):
    """Run programs somewhere; UnreachableError when one cannot be started or does not answer in time."""

    def run(
        self,
        argv: Sequence[str],
        *,
        stdin: str | None = None,
        env: Mapping[str, str] | None = None,
        base: Mapping[str, str] | None = None,
        timeout: float,
    ) -> Completed:
        """Run a program to its end, within `timeout` seconds.

        `env` is added to the environment `base`, by default the caller's, without what Slurm and MPI left there.
        Without `stdin` it reads nothing.
        """
        ...


class LocalRunner:
    """Run programs on this machine."""

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
        variables = scrubbed(os.environ if base is None else base) | dict(env or {})
        try:
            done = run_bounded(argv, (stdin or "").encode(errors="surrogateescape"), timeout=timeout, env=variables)
        except FileNotFoundError:
            raise missing(argv) from None
        except PermissionError:
            raise forbidden(argv) from None
        except TooLongError:
            raise too_long(argv) from None
        if done.status is None:
            raise silent(argv, timeout)
        stdout, stderr = done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace")
        return Completed(status=done.status, stdout=stdout, stderr=stderr)


def call_end(status: int | None, stderr: str) -> CallEnd:
    """Return how a call ended by its exit status and the words on its standard error."""
    if status == 0:
        return "ok"
    return "unreached" if NOT_CONNECTED in stderr else "failed"


class BilledRunner:
    """Run programs by another runner. `charge` is called for each: its arguments, its CPU seconds, how it ended."""

    def __init__(self, runner: CommandRunner, charge: Charge) -> None:
        self._runner = runner
        self._charge = charge

    def run(
        self,
        argv: Sequence[str],
        *,
        stdin: str | None = None,
        env: Mapping[str, str] | None = None,
        base: Mapping[str, str] | None = None,
        timeout: float,
    ) -> Completed:
        """Run a program; see CommandRunner. What was not answered has been asked all the same."""
        before, end = _children(), call_end(None, "")
        try:
            done = self._runner.run(argv, stdin=stdin, env=env, base=base, timeout=timeout)
            end = call_end(done.status, done.stderr)
            return done
        finally:
            self._charge(argv, _children() - before, end)


def _children() -> float:
    """Return the CPU seconds of all children that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def become(argv: list[str], env: Mapping[str, str]) -> NoReturn:
    """Become a program: terminal, signals and exit status are those of the call."""
    os.execvpe(argv[0], argv, env)  # noqa: S606 - the words are quoted


def missing(argv: Sequence[str]) -> UnreachableError:
    """Return the error for a program that is not on PATH."""
    hint = "run this on a login node of the cluster, or use `--backend local` to run it on this machine"
    return _error(argv, "E501", f"there is no `{argv[0]}` here", hint)


def forbidden(argv: Sequence[str]) -> UnreachableError:
    """Return the error for a program that the user may not call."""
    message = f"you may not call `{argv[0]}` here: permission denied"
    return _error(argv, "E501", message, "ask the site whether its users may call it, and from where")


def too_long(argv: Sequence[str]) -> UnreachableError:
    """Return the error for a program that printed more than any answer has."""
    message = f"`{argv[0]}` printed more than {MAX_ANSWER >> 20} MB, which is no answer"
    return _error(argv, "E543", message, NO_ANSWER_HINT.format(argv[0]))


def silent(argv: Sequence[str], timeout: float) -> UnreachableError:
    """Return the error for a program that gave no answer in time."""
    message = f"`{argv[0]}` gave no answer within {timeout:g} s; what was asked may have been done or not"
    return _error(argv, "E502", message, RETRIED_HINT)


def _error(argv: Sequence[str], code: str, message: str, hint: str) -> UnreachableError:
    return UnreachableError(Diagnostic(code=code, message=message, hint=hint), argv=tuple(argv))
