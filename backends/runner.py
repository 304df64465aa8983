"""How a program is run: the seam between what is said to Slurm and where."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NoReturn, Protocol

from msgspec import Struct

from paislurm.translator.errors import Diagnostic, UnreachableError

from .bounded_run import MAX_ANSWER, TooLongError, run_bounded
from .environment import scrubbed

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


NO_ANSWER_HINT = "see whether `{}` is a wrapper of the site's, and what it prints"


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


def become(argv: list[str], env: Mapping[str, str]) -> NoReturn:
    """Become a program: terminal, signals and exit status are those of the call."""
    os.execvpe(argv[0], argv, env)  # noqa: S606 - the words are quoted


def missing(argv: Sequence[str]) -> UnreachableError:
    """Return the error for a program that is not on PATH."""
    diagnostic = Diagnostic(
        code="E501",
        message=f"there is no `{argv[0]}` here",
        hint="run this on a login node of the cluster, or use `--backend local` to run it on this machine",
    )
    return UnreachableError(diagnostic, argv=tuple(argv))


def forbidden(argv: Sequence[str]) -> UnreachableError:
    """Return the error for a program that the user may not call."""
    diagnostic = Diagnostic(
        code="E501",
        message=f"you may not call `{argv[0]}` here: permission denied",
        hint="ask the site whether its users may call it, and from where",
    )
    return UnreachableError(diagnostic, argv=tuple(argv))


def too_long(argv: Sequence[str]) -> UnreachableError:
    """Return the error for a program that printed more than any answer has."""
    diagnostic = Diagnostic(
        code="E543",
        message=f"`{argv[0]}` printed more than {MAX_ANSWER >> 20} MB, which is no answer",
        hint=NO_ANSWER_HINT.format(argv[0]),
    )
    return UnreachableError(diagnostic, argv=tuple(argv))


def silent(argv: Sequence[str], timeout: float) -> UnreachableError:
    """Return the error for a program that gave no answer in time."""
    diagnostic = Diagnostic(
        code="E502",
        message=f"`{argv[0]}` gave no answer within {timeout:g} s; what was asked may have been done or not",
        hint="try again later: nothing is lost, and a job is not submitted twice",
    )
    return UnreachableError(diagnostic, argv=tuple(argv))
