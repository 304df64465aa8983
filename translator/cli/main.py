"""`paislurm`: run a command, and report errors as a message and an exit code."""

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
from .command_group import LazyGroup
from .output.console import forget_reported, log, log_diagnostics, print_error, tell

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..app.session import Session

INTERRUPTED = 130
BROKEN_PIPE = 141
"""The exit status of a process that SIGPIPE ended."""
USAGE = 2
CANNOT_WRITE = 4
MAX_WIDTH = 110
INTERNAL_ERROR = 70
"""EX_SOFTWARE of sysexits(3)."""


class OutputMode:
    """Hold the session and the words of the command line.

    `json` is a guess until the options are parsed.
    """

    def __init__(self, words: Sequence[str], *, json: bool) -> None:
        self.words = tuple(words)
        self.json = json

    @cached_property
    def session(self) -> Session:
        """The session of this process."""
        from ..app.session import Session

        session = Session(say=tell)
        session.argv = self.words
        return session


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
  0  done                            4  the site cannot run the job, or rejects it
  1  the job failed (wait, submit    5  job, task or log not found
     --wait, submit --follow)        6  the backend does not answer
  2  wrong usage                   124  wait --timeout has expired; the job continues
  3  the job file is wrong         130  interrupted; the job continues

--json always prints one JSON document on standard output; on an error it is
{"error": TEXT, "exit_status": NUMBER, "diagnostics": [...]}. Messages for people go to standard error.

Job folders are in $PAISLURM_HOME (default ~/.paislurm), which must be the same path on all nodes.
""",
)
@click.version_option(__version__, "-V", "--version", prog_name="paislurm", message="%(prog)s %(version)s")
def cli() -> None:
    """Compile OpenPAI job files to Slurm batch scripts, submit them and watch them."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    forget_reported()
    words = list(sys.argv[1:] if argv is None else argv)
    # For errors of a command line that cannot be parsed.
    output_mode = OutputMode(words, json="--json" in takewhile(lambda word: word != "--", words))
    # Characters that the terminal cannot show are escaped, so that printing a message never fails.
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


def _run(words: Sequence[str], output_mode: OutputMode) -> int:
    """Run a command, and turn its exceptions into messages.

    This does not call `cli.main`, because it handles a broken pipe in another way.
    """
    if "_PAISLURM_COMPLETE" in os.environ:
        from .shell.shells import complete

        click.echo(complete(cli))
        return 0
    try:
        with cli.make_context("paislurm", list(words), obj=output_mode, terminal_width=_help_width()) as context:
            code = cli.invoke(context)
    except PaislurmError as error:
        return _failed(error.diagnostics, error.exit_code, output_mode)
    except click.ClickException as error:
        # Arguments are untrusted: a completed file name can contain any character.
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
    """Add a hint to the error for an unknown option that other programs have."""
    if not isinstance(error, click.NoSuchOption):
        return error
    if error.option_name in ("-o", "--output"):
        return click.UsageError(f"No such option '{error.option_name}'; use --json for a JSON document", error.ctx)
    if error.ctx is not None and error.ctx.info_name == "update":
        from ..app.jobs.updating import OTHER_CHANGES

        return click.UsageError(f"{error.format_message()}\nhint: {OTHER_CHANGES}", error.ctx)
    return error


def _help_width() -> int:
    """Return the width of help in characters. click's own query takes a sixth of the time of `--help`."""
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
    """Return the exit code; with `--json`, print the error as a document first."""
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
        hint="please report it with the output of PAISLURM_DEBUG=1",
    )
    return _failed((diagnostic,), INTERNAL_ERROR, output_mode)


def _close_output() -> None:
    """Discard all further output, also at the exit of the program, after the reader of a pipe has gone."""
    try:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
    except (AttributeError, OSError, ValueError):
        pass


def run() -> NoReturn:
    """Run `main`, and exit with its exit code.

    The garbage collector and the teardown of modules would take a fourth of a short command's time. A command that
    waits enables the collector again; all output is closed or flushed before the exit.
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
