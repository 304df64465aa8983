"""Use cases that explain, verify and compare scripts, and explain exit codes."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from ...errors import Diagnostic, PaislurmError, UsageError
from ..input.source import STDIN, source_of
from .use_cases import UseCases

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ...pipeline import Compiled
    from ...rendering.provenance import Origin
    from ...rendering.verification import Verified
    from ..exit_meaning import ExitMeaning, Explanation
    from ..input.source import JobFile, JobFileOptions
    from ..submit.recorded import Differences
    from ..what_if.rule_text import ScenarioAnswer
    from .use_cases import AnyJob


class ScriptFile(Struct, frozen=True, kw_only=True):
    """The batch script of a job file."""

    job: str
    """The name of the job."""
    file: str | None
    """The written file; None if the script is only returned."""
    text: str
    """The script."""


class Runtime(Struct, frozen=True, kw_only=True):
    """The runtime of this version's scripts."""

    paislurm_version: str
    """The version of paislurm."""
    uses: tuple[str, ...]
    """The included parts that only some jobs need."""
    sha256: str
    """The digest of `text`."""
    text: str
    """The runtime."""


class ScriptUses(UseCases):
    """Explain, verify and compare scripts, and explain exit codes."""

    def _compiled(self, file: JobFile, options: JobFileOptions, *, quiet: bool = False) -> Compiled:
        from ..input.job_input import compile_source

        return compile_source(self._session, source_of(file, options), quiet=quiet)[1]

    def script(
        self,
        file: JobFile,
        output: str | os.PathLike[str] | None = None,
        *,
        head: bool = False,
        **options: Unpack[JobFileOptions],
    ) -> ScriptFile:
        """Return the script of a job file, with `head` only the part before the runtime; write it to `output` if given.

        An event says where sbatch expects the job's secrets. The errors are those of `compile`.

        >>> session.compiler.script("hello-world.yaml", "hello.sbatch").file
        'hello.sbatch'
        """
        from ...rendering.runtime_bundle import SEAL
        from ..paths import write_output

        compiled = self._compiled(file, options)
        script = compiled.script.partition(SEAL)[0] if head else compiled.script
        if compiled.plan.secrets:
            where = f"{compiled.plan.job_name}.secrets in the submit folder"
            names = " ".join(compiled.plan.secrets)
            self._session.say(f"before sbatch, write each secret to a file in {where}: {names}")
        if output is not None:
            write_output(Path(output), script.encode(errors="surrogateescape"), mode=0o644)
        return ScriptFile(job=compiled.job.name, file=None if output is None else os.fspath(output), text=script)

    def explain(self, file: JobFile, **options: Unpack[JobFileOptions]) -> list[Origin]:
        """Return the origin of each line of the script: lines of the job file, and rules.

        The errors are those of `compile`.

        >>> origin = session.compiler.explain("hello-world.yaml")[0]
        >>> origin.text, origin.job_lines
        ('#SBATCH --job-name=hello-world', (3,))
        """
        from ...rendering.provenance import origins

        compiled = self._compiled(file, options)
        return origins(compiled.plan, compiled.document)

    def what_if(self, file: JobFile, scenario: str, **options: Unpack[JobFileOptions]) -> ScenarioAnswer:
        """Return what decides the job in a scenario, and whether it is retried; `paislurm explain --help` lists events.

        Nothing runs. Raises UsageError for an unknown event, and the errors of `compile`.

        >>> answer = session.compiler.what_if("checkpoint.yaml", "trainer-0 exits 1")
        >>> answer.attempts[0].retry_rule
        'attempt 2 at once; retry 1 of 2'
        """
        from ..what_if.outcome import answered

        return answered(self._compiled(file, options, quiet=True), scenario, self._session.user)

    def diff(self, old: AnyJob, new: AnyJob | os.PathLike[str]) -> Differences:
        """Return the differences between two jobs, or between a job and a job file compiled with the job's options.

        Raises UsageError if the two cannot be compared.

        >>> from pathlib import Path
        >>> session.compiler.diff(run, Path("hello-world.yaml")).same
        True
        """
        from ..submit.recorded import compare

        other = os.fspath(new) if isinstance(new, os.PathLike) else self._word(new)
        return compare(self._session, self._word(old), other)

    def verify(
        self, script: AnyJob | bytes, file: JobFile | None = None, **options: Unpack[JobFileOptions]
    ) -> Verified:
        """Compare a script with the runtime of this version, and its head with that of a compiled job file.

        `script` is a file, "-" for standard input, a job (its last script), or the script as bytes. Raises
        NotFoundError for an unknown job.

        >>> found = session.compiler.verify(run)
        >>> found.genuine, found.edited
        (True, False)
        """
        from paislurm import __version__

        from ...rendering.verification import head_difference, verify

        data = script if isinstance(script, bytes) else self._script(self._word(script))
        text = data.decode(errors="surrogateescape")
        verdict = verify(text, __version__)
        if file is None:
            return verdict
        source = source_of(file, options)
        names = ("<bytes>" if isinstance(script, bytes) else self._word(script), f"compiled from {source.file}")
        return replace(verdict, difference=head_difference(text, self._compiled(source, {}).script, names))

    def _script(self, word: str) -> bytes:
        """Return the script of a file or a job as bytes."""
        from ...files.reading import MAX_SCRIPT, read_text
        from ...state.kept_script import read_script

        if word == STDIN:
            return sys.stdin.buffer.read(MAX_SCRIPT)
        if Path(word).is_file():
            return read_text(Path(word)).encode(errors="surrogateescape")
        folder = self._folder(word)
        return read_script(folder, folder.history().attempt)

    def runtime(self, *uses: str) -> Runtime:
        """Return the runtime that scripts of this version share. Raises UsageError for an unknown part.

        `uses` are parts that only some jobs need, by their names in the seal of a script.

        >>> session.compiler.runtime().paislurm_version == paislurm.__version__
        True
        """
        from paislurm import __version__

        from ...rendering.runtime_bundle import ALL_USES, digest, runtime

        wanted = tuple(sorted(set(uses)))
        if unknown := [use for use in wanted if use not in ALL_USES]:
            message = f"the runtime has no part {', '.join(unknown)}"
            raise UsageError(Diagnostic(code="E547", message=message, hint=f"use one of {', '.join(ALL_USES)}"))
        text = runtime(wanted)
        return Runtime(paislurm_version=__version__, uses=wanted, sha256=digest(text), text=str(text))

    def explain_exit(self, what: str | int) -> ExitMeaning:
        """Return the meaning of an exit code, its name, an exit status or a Slurm state. Raises NotFoundError.

        The site profile can change the meaning of codes and states.

        >>> session.compiler.explain_exit(137).meaning
        'signal KILL (9): most often too much memory, else a forced end'
        """
        return self.exit_explanation(what).record

    def exit_explanation(self, what: str | int, site: str | None = None) -> Explanation:
        """Return the row of the exit specification for the same, by this site profile, with what people need.

        >>> session.compiler.exit_explanation("OUT_OF_MEMORY").advice.remedy
        'raise `memoryMB`, use smaller batches, or use fewer worker processes'
        """
        from ...exit_codes.table import ExitTable
        from ..exit_meaning import explained
        from ..sites.find import find_site

        return explained(str(what), ExitTable(find_site(self._session, site).exit_rows))

    def is_exit(self, word: str) -> bool:
        """Return whether a word in the place of a job file means an exit code or its name: there is no such file.

        >>> session.compiler.is_exit("137"), session.compiler.is_exit("sweep.yaml")
        (True, False)
        """
        from ..exit_meaning import plain_word

        return bool(re.fullmatch(r"-?[0-9]+|\w+\+?", plain_word(word))) and not Path(word).exists()

    def exit_words(self, site: str | None = None) -> list[str]:
        """Return all words that `explain_exit` knows: Slurm's states, names and numbers of exit codes.

        The rows of a wrong site profile are left out.

        >>> "NODE_FAIL" in session.compiler.exit_words()
        True
        """
        from paislurm.backends.slurm.job_states import STATES

        from ...exit_codes.table import ExitTable
        from ..sites.find import find_site

        try:
            rows = find_site(self._session, site).exit_rows
        except PaislurmError:
            rows = ()
        codes = ExitTable(rows).codes
        return [*STATES, *(row.phrase for row in codes.values()), *map(str, codes)]
