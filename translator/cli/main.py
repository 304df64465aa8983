"""`paislurm`: run a command, and turn whatever goes wrong into a message and an exit code."""

from __future__ import annotations

import gc
import io
import os
import sys
from contextlib import suppress
from functools import cached_property
from itertools import takewhile
from typing import TYPE_CHECKING, NoReturn

import click

from paislurm import __version__

from ..errors import Diagnostic, PaislurmError
from .command_group import OTHER_CHANGES, LazyGroup
from .output.console import forget_what_was_told, log, log_diagnostics, print_error, tell

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..app.session import Session

INTERRUPTED = 130
BROKEN_PIPE = 141
"""As the shell shows a program that SIGPIPE ended, which is what other programs do here."""
USAGE = 2
CANNOT_WRITE = 4
MAX_WIDTH = 110
INTERNAL_ERROR = 70
"""EX_SOFTWARE of sysexits(3)."""


class OutputMode:
    """Hold the session and the words of the command line.

    `json` is a guess of the error handler's until the options are read.
    """

    def __init__(self, words: Sequence[str], *, json: bool) -> None:
        self.words = tuple(words)
        self.json = json

    @cached_property
    def session(self) -> Session:
        """The session of this call of the program."""
        from ..app.session import Session

        return Session(say=tell)


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="""\b
Examples:
  paislurm check job.yaml
  paislurm script job.yaml > job.sbatch
  paislurm submit job.yaml --follow
  paislurm status my-job

\b
Exit codes:
  0  done                            4  the site cannot run the job, or refuses it
  1  the job failed (wait, submit    5  no such job, task or log
     --wait, submit --follow)        6  the backend does not answer
  2  wrong usage                   124  the time of wait --timeout is up; the job goes on
  3  the job file is wrong         130  interrupted; a job that is waited for goes on

With --json there is one JSON document on standard output whatever happens; if something is wrong it is
{"error": TEXT, "exit_status": NUMBER, "diagnostics": [...]}. Messages for people always go to standard error.

Job folders are in $PAISLURM_HOME (default ~/.paislurm), which must be the same path on all nodes.
""",
)
@click.version_option(__version__, "-V", "--version", prog_name="paislurm", message="%(prog)s %(version)s")
def cli() -> None:
    """Compile OpenPAI job files to Slurm batch scripts, submit them and watch them."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    forget_what_was_told()
    words = list(sys.argv[1:] if argv is None else argv)
    output_mode = OutputMode(words, json=_names_json(words))
    # What a terminal cannot show is escaped; a message must never fail because of its characters.
    for stream in (sys.stdout, sys.stderr):
        if stream is not None and hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    try:
        code = _run(words, output_mode)
        if sys.stdout is not None:
            sys.stdout.flush()
    except BrokenPipeError:
        _close_output()
        return BROKEN_PIPE
    except OSError as error:
        _close_output()
        with suppress(OSError):
            log(f"error: cannot write the output: {error.strerror or error}")
        return CANNOT_WRITE
    return code


def _names_json(words: Sequence[str]) -> bool:
    """Tell whether `--json` is among the words, for errors of a command line that cannot be understood."""
    return "--json" in takewhile(lambda word: word != "--", words)


def _run(words: Sequence[str], output_mode: OutputMode) -> int:
    """Run a command; what it raises becomes words here and nowhere else.

    `cli.main` is passed by, because it has its own idea of a broken pipe; it completes words for the shell.
    """
    if "_PAISLURM_COMPLETE" in os.environ:
        from .shell.completion import complete

        click.echo(complete(cli))
        return 0
    try:
        with cli.make_context("paislurm", list(words), obj=output_mode, terminal_width=_help_width()) as context:
            code = cli.invoke(context)
    except PaislurmError as error:
        return _failed(error.diagnostics, error.exit_code, output_mode)
    except click.ClickException as error:
        # What the user typed can come from anywhere, a name that was completed for example.
        error = _explained(error)
        text = io.StringIO()
        error.show(text)
        log(text.getvalue().rstrip("\n"))
        return _told(error.format_message(), (), USAGE, output_mode)
    except click.exceptions.Exit as end:
        return end.exit_code
    except (KeyboardInterrupt, click.Abort):
        log("interrupted")
        return _told("interrupted", (), INTERRUPTED, output_mode)
    except BrokenPipeError:
        raise
    except OSError as error:
        if error.filename is None:
            raise
        diagnostic = Diagnostic(code="E500", message=f"{error.filename}: {error.strerror}")
        return _failed((diagnostic,), CANNOT_WRITE, output_mode)
    except Exception as error:  # noqa: BLE001 - the edge: a user is shown no traceback
        return _internal_error(error, output_mode)
    return code if isinstance(code, int) else 0


def _explained(error: click.ClickException) -> click.ClickException:
    """Say what stands for the `-o json` of other programs where a command has no such option, and for other wishes."""
    if not isinstance(error, click.NoSuchOption):
        return error
    if error.option_name in ("-o", "--output"):
        return click.UsageError(f"No such option '{error.option_name}'; for a JSON document there is --json", error.ctx)
    if error.ctx is not None and error.ctx.info_name == "update":
        return click.UsageError(f"{error.format_message()}\nhint: {OTHER_CHANGES}", error.ctx)
    return error


def _help_width() -> int:
    """Return how many characters a line of help has. What click asks for the same takes a sixth of the time of help."""
    columns = os.environ.get("COLUMNS", "")
    try:
        width = int(columns) if columns.isdecimal() and int(columns) else os.get_terminal_size(1).columns
    except OSError:
        width = 80
    return max(min(width or 80, MAX_WIDTH) - 2, 50)


def _failed(diagnostics: tuple[Diagnostic, ...], code: int, output_mode: OutputMode) -> int:
    log_diagnostics(diagnostics)
    return _told("; ".join(diagnostic.message for diagnostic in diagnostics), diagnostics, code, output_mode)


def _told(error: str, diagnostics: tuple[Diagnostic, ...], code: int, output_mode: OutputMode) -> int:
    """Return the exit code, after a document of the error where one is wanted."""
    if output_mode.json:
        print_error(error, diagnostics, code)
    return code


def _internal_error(error: Exception, output_mode: OutputMode) -> int:
    if os.environ.get("PAISLURM_DEBUG"):
        import traceback

        log(traceback.format_exc())
    diagnostic = Diagnostic(
        code="E599",
        message=f"internal error: {type(error).__name__}: {error}",
        hint="please report it, with what PAISLURM_DEBUG=1 prints",
    )
    return _failed((diagnostic,), INTERNAL_ERROR, output_mode)


def _close_output() -> None:
    """Let nothing more be written to an output that is gone, at the end of the program included."""
    try:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
    except (AttributeError, OSError, ValueError):
        pass


def run() -> NoReturn:
    """Be the program: `main` in a process of its own.

    Looking for garbage while modules load, and taking them apart at the end, would take a fourth of a short command's
    time. A command that waits turns the first on again; all that is written is closed or flushed before the second.
    """
    gc.disable()
    try:
        code = main()
    except KeyboardInterrupt:
        code = INTERRUPTED
    if sys.stderr is not None:
        with suppress(OSError):
            sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    from .start import keep_compiled_modules_private

    keep_compiled_modules_private()
    run()
