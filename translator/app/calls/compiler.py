"""Calls that only read job files and scripts."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from ...errors import Diagnostic, PlanError, ProtocolError
from ..input.source import source_of
from .base import Calls

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ...job import Job
    from ...pipeline import Compiled
    from ...rendering.provenance import Origin
    from ...rendering.verify import Verified
    from ..checking import Converted
    from ..client import JobRun
    from ..exit_meaning import ExitMeaning
    from ..input.source import JobFile, Parameter
    from ..runs.comparing import Differences
    from ..scripts import Runtime


class CompilerCalls(Calls):
    """Check, compile and compare job files."""

    def load(
        self,
        file: JobFile,
        *,
        parameters: Mapping[str, Parameter] | None = None,
        suffix: str = "",
        secrets: str | os.PathLike[str] | None = None,
        slurm: Mapping[str, str] | None = None,
    ) -> Job:
        """Return the parsed job of a job file, of protocol v1 or v2, with all defaults filled in.

        `file` is a path, or the text as bytes. `parameters` override those of the file; `suffix` is appended to the
        job's name; `secrets` is a file of mode 0600 or 0400; `slurm` contains keys of `extras.slurm`: time, partition,
        account, qos. Raises ProtocolError with all errors of the file.
        """
        from ..input.job_input import load_source

        with self._call():
            return load_source(self, source_of(file, parameters, suffix, secrets, slurm))

    def check(
        self,
        file: JobFile,
        *,
        parameters: Mapping[str, Parameter] | None = None,
        suffix: str = "",
        secrets: str | os.PathLike[str] | None = None,
        slurm: Mapping[str, str] | None = None,
    ) -> list[Diagnostic]:
        """Return the errors and warnings of a job file on this site, [] without any; bash checks the commands' syntax.

        The arguments are those of `load`. Raises SiteError for a wrong site profile.
        """
        from ..input.job_input import check_source

        with self._call():
            try:
                return check_source(self, source_of(file, parameters, suffix, secrets, slurm), quiet=True)[1]
            except (ProtocolError, PlanError) as error:
                return list(error.diagnostics)

    def compile(
        self,
        file: JobFile,
        *,
        parameters: Mapping[str, Parameter] | None = None,
        suffix: str = "",
        secrets: str | os.PathLike[str] | None = None,
        slurm: Mapping[str, str] | None = None,
    ) -> Compiled:
        """Compile a job file for the site, and return `job`, `plan`, `script` and `warnings`.

        The arguments are those of `load`. Raises ProtocolError, SiteError, and PlanError for a job that the site cannot
        run. The same file, arguments and profile give the same script, byte for byte.
        """
        from ..input.job_input import compile_source

        with self._call():
            return compile_source(self, source_of(file, parameters, suffix, secrets, slurm), quiet=True)[1]

    def convert(self, file: JobFile) -> Converted:
        """Convert a job file of protocol v1 (JSON) to protocol v2 (YAML), and return `text` and warnings.

        Raises ProtocolError for a wrong file, and for a file of protocol v2.
        """
        from ..checking import convert

        with self._call():
            return convert(source_of(file))

    def explain(
        self,
        file: JobFile,
        *,
        parameters: Mapping[str, Parameter] | None = None,
        suffix: str = "",
        secrets: str | os.PathLike[str] | None = None,
        slurm: Mapping[str, str] | None = None,
    ) -> list[Origin]:
        """Return the origin of each line of the script: lines of the job file, and rules.

        The arguments and errors are those of `compile`.
        """
        from ..scripts import explain

        with self._call():
            return explain(self, source_of(file, parameters, suffix, secrets, slurm))

    def diff(self, old: JobRun | str, new: JobRun | str) -> Differences:
        """Return the differences between two jobs, or between a job and a job file compiled with the job's options.

        Raises UsageError if the two cannot be compared.
        """
        from ..runs.comparing import compare

        with self._call():
            first, second = self._words(
                [each if not isinstance(each, os.PathLike) else str(each) for each in (old, new)]
            )
            return compare(self, first, second)

    def verify(self, script: JobRun | str | bytes, file: JobFile | None = None) -> Verified:
        """Compare a script with the runtime of this version, and its head with that of a compiled job file.

        `script` is a file, a job (its last script), or the script as bytes. Raises NotFoundError for an unknown job.
        """
        from ..scripts import verify_script

        with self._call():
            which = script if isinstance(script, bytes) else self._words([script])[0]
            return verify_script(self, which, None if file is None else source_of(file))

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
        from ..exit_meaning import explain_exit

        with self._call():
            return explain_exit(self, what).record
