"""Use cases that read job files and scripts, and submit nothing."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from ...errors import PlanError, ProtocolError
from ..input.source import source_of
from .use_cases import UseCases

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from typing_extensions import Unpack

    from ...errors import Diagnostic
    from ...job import Job
    from ...pipeline import Compiled
    from ...reading.document import Value
    from ...rendering.provenance import Origin
    from ...rendering.verification import Verified
    from ..checking import CheckedFile, CheckedJob, Converted, PlannedJob
    from ..exit_meaning import ExitMeaning, Explanation
    from ..input.source import JobFile, JobFileOptions
    from ..scripts import Runtime, ScriptFile
    from ..submit.recorded import Differences
    from ..what_if.answer import ScenarioAnswer
    from .use_cases import AnyJob


class CompilerUses(UseCases):
    """Check, compile and compare job files."""

    def load(self, file: JobFile, **options: Unpack[JobFileOptions]) -> Job:
        """Return the parsed job of a job file, of protocol v1 or v2, with all defaults filled in.

        Raises ProtocolError with all errors of the file.
        """
        from ..input.job_input import load_source

        return load_source(self._session, source_of(file, options))

    def check(self, file: JobFile, **options: Unpack[JobFileOptions]) -> list[Diagnostic]:
        """Return the errors and warnings of a job file on this site, [] without any; bash checks the commands' syntax.

        Raises SiteError for a wrong site profile.
        """
        try:
            return list(self.check_job(file, **options).diagnostics)
        except (ProtocolError, PlanError) as error:
            return list(error.diagnostics)

    def check_job(self, file: JobFile, **options: Unpack[JobFileOptions]) -> CheckedJob:
        """Return the name and the warnings of a job file. Raises the errors of `compile`."""
        from ..checking import check

        return check(self._session, source_of(file, options))

    def check_each(self, files: Iterable[JobFile]) -> Iterator[CheckedFile]:
        """Yield the result for each job file as soon as it is checked. Raises SiteError for a wrong site profile."""
        from ..checking import check_each

        yield from check_each(self._session, (source_of(file, {}) for file in files))

    def compile(self, file: JobFile, **options: Unpack[JobFileOptions]) -> Compiled:
        """Compile a job file for the site, and return `job`, `plan`, `script` and `warnings`.

        Raises ProtocolError, SiteError, and PlanError for a job that the site cannot run. The same file, options and
        profile give the same script, byte for byte.
        """
        from ..input.job_input import compile_source

        return compile_source(self._session, source_of(file, options))[1]

    def plan(self, file: JobFile, **options: Unpack[JobFileOptions]) -> PlannedJob:
        """Return the request to Slurm with options of the shell's environment, and the bad nodes to avoid now.

        The errors are those of `compile`.
        """
        from ..checking import planned

        return planned(self._session, source_of(file, options))

    def script(
        self,
        file: JobFile,
        output: str | os.PathLike[str] | None = None,
        *,
        head: bool = False,
        **options: Unpack[JobFileOptions],
    ) -> ScriptFile:
        """Return the script of a job file, with `head` only the part before the runtime; write it to `output` if given.

        The errors are those of `compile`.
        """
        from ..scripts import script_of

        return script_of(self._session, source_of(file, options), output, head=head)

    def convert(self, file: JobFile, output: str | os.PathLike[str] | None = None) -> Converted:
        """Convert a job file of protocol v1 (JSON) to protocol v2 (YAML), and write it to `output` if given.

        Raises ProtocolError for a wrong file, and for a file of protocol v2.
        """
        from ..checking import convert

        return convert(source_of(file, {}), output)

    def explain(self, file: JobFile, **options: Unpack[JobFileOptions]) -> list[Origin]:
        """Return the origin of each line of the script: lines of the job file, and rules.

        The errors are those of `compile`.
        """
        from ..scripts import explain

        return explain(self._session, source_of(file, options))

    def what_if(self, file: JobFile, scenario: str, **options: Unpack[JobFileOptions]) -> ScenarioAnswer:
        """Return what decides the job in a scenario, and whether it is retried; `paislurm explain --help` lists events.

        Raises UsageError for an unknown event, and the errors of `compile`.
        """
        from ..what_if.outcome import explain_scenario

        return explain_scenario(self._session, source_of(file, options), scenario)

    def diff(self, old: AnyJob, new: AnyJob | os.PathLike[str]) -> Differences:
        """Return the differences between two jobs, or between a job and a job file compiled with the job's options.

        Raises UsageError if the two cannot be compared.
        """
        from ..submit.recorded import compare

        return compare(
            self._session, self._word(old), os.fspath(new) if isinstance(new, os.PathLike) else self._word(new)
        )

    def verify(
        self, script: AnyJob | bytes, file: JobFile | None = None, **options: Unpack[JobFileOptions]
    ) -> Verified:
        """Compare a script with the runtime of this version, and its head with that of a compiled job file.

        `script` is a file, a job (its last script), or the script as bytes. Raises NotFoundError for an unknown job.
        """
        from ..scripts import verify_script

        which = script if isinstance(script, bytes) else self._word(script)
        return verify_script(self._session, which, None if file is None else source_of(file, options))

    def _word(self, job: AnyJob) -> str:
        return job if isinstance(job, str) else self._folder(job).name

    def runtime(self, *uses: str) -> Runtime:
        """Return the runtime that scripts of this version share. Raises UsageError for an unknown part.

        `uses` are parts that only some jobs need, by their names in the seal of a script.
        """
        from ..scripts import runtime_of

        return runtime_of(uses)

    def explain_exit(self, what: str | int) -> ExitMeaning:
        """Return the meaning of an exit code, its name, an exit status or a Slurm state. Raises NotFoundError.

        The site profile can change the meaning of codes and states.
        """
        return self.exit_explanation(what).record

    def exit_explanation(self, what: str | int, site: str | None = None) -> Explanation:
        """Return the row of the exit specification for the same, by this site profile, with what people need."""
        from ..exit_meaning import explain_exit

        return explain_exit(self._session, what, site)

    def is_exit(self, word: str) -> bool:
        """Return whether a word in the place of a job file means an exit code or its name: there is no such file."""
        from ..exit_meaning import is_exit

        return is_exit(word)

    def exit_words(self, site: str | None = None) -> list[str]:
        """Return all words that `explain_exit` knows: Slurm's states, names and numbers of exit codes."""
        from ..exit_meaning import exit_words

        return exit_words(self._session, site)

    def parameters(self, file: str) -> Mapping[str, Value]:
        """Return the parameters that a job file declares, with their values. Raises ProtocolError."""
        from ..checking import declared_parameters

        return declared_parameters(file)

    def schema(self, what: str) -> dict[str, Any]:
        """Return the JSON Schema of job files of protocol `v1` or `v2`, or of a `site` profile."""
        from ..checking import schema_of

        return schema_of(what)
