"""Use cases that check, plan and compile job files, and submit nothing."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from ...errors import Diagnostic, PlanError, ProtocolError
from ..input.source import source_of
from .script_uses import ScriptUses

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from typing_extensions import Unpack

    from ...job import Job
    from ...pipeline import Compiled
    from ...reading.document import Value
    from ..input.source import JobFile, JobFileOptions


class CheckedFile(Struct, frozen=True, kw_only=True):
    """The result of checking one job file."""

    file: str
    """The name of the job file."""
    job: str | None = None
    """The name of the job; None for a file with errors."""
    exit_status: int = 0
    """The exit code of `paislurm check` for this file; 0 if the job can be submitted."""
    diagnostics: tuple[Diagnostic, ...] = ()
    """The errors, or the warnings of a file without errors."""


class CheckedJob(Struct, frozen=True, kw_only=True):
    """The result of checking the only given job file."""

    job: str
    """The name of the job."""
    diagnostics: tuple[Diagnostic, ...]
    """Warnings."""


class CheckedFiles(Struct, frozen=True, kw_only=True):
    """The results of checking several job files."""

    checked: tuple[CheckedFile, ...]
    """The job files."""


class Converted(Struct, frozen=True, kw_only=True):
    """A job file converted from protocol v1 to protocol v2."""

    job: str
    """The name of the job."""
    text: str
    """The job file."""
    diagnostics: tuple[Diagnostic, ...]
    """Warnings about changes in behaviour."""
    file: str | None
    """The written file; None if the text is only returned."""


class PlannedJob(NamedTuple):
    """A compiled job, and the bad nodes that it would avoid now."""

    compiled: Compiled
    avoided: tuple[str, ...]

    @property
    def text(self) -> str:
        """The plan, for a person."""
        from ...planning.plan_text import plan_text

        return plan_text(self.compiled.plan, self.avoided)

    @property
    def placement_text(self) -> str:
        """The nodes of the tasks, for a person."""
        from ...planning.placement.text import placement_text

        return placement_text(self.compiled.placement)


class CompilerUses(ScriptUses):
    """Check, compile and compare job files."""

    def load(self, file: JobFile, **options: Unpack[JobFileOptions]) -> Job:
        """Return the parsed job of a job file, of protocol v1 or v2, with all defaults filled in.

        Raises ProtocolError with all errors of the file.

        >>> job = session.compiler.load("hello-world.yaml", suffix="-a")
        >>> job.name, job.task_count
        ('hello-world-a', 2)
        """
        from ...pipeline import load_job
        from ..input.job_input import arguments_of, options_named, site_of, text_of

        source = source_of(file, options)
        with options_named(source.typed):
            return load_job(text_of(source), site=site_of(self._session, source), **arguments_of(source))

    def check(self, file: JobFile, **options: Unpack[JobFileOptions]) -> list[Diagnostic]:
        """Return the errors and warnings of a job file on this site, [] without any; bash checks the commands' syntax.

        Raises SiteError for a wrong site profile.

        >>> for problem in session.compiler.check("hello-world.yaml"):
        ...     print(problem.code, problem.message)
        W402 the container image is not used: ...
        """
        try:
            return list(self.check_job(file, **options).diagnostics)
        except (ProtocolError, PlanError) as error:
            return list(error.diagnostics)

    def check_job(self, file: JobFile, **options: Unpack[JobFileOptions]) -> CheckedJob:
        """Return the name and the warnings of a job file. Raises the errors of `compile`.

        >>> session.compiler.check_job("hello-world.yaml").job
        'hello-world'
        """
        from ..input.job_input import check_source

        compiled, warnings = check_source(self._session, source_of(file, options))
        return CheckedJob(job=compiled.job.name, diagnostics=tuple(warnings))

    def check_each(self, files: Iterable[JobFile]) -> Iterator[CheckedFile]:
        """Yield the result for each job file as soon as it is checked. Raises SiteError for a wrong site profile.

        >>> for checked in session.compiler.check_each(["hello-world.yaml", "sweep.yaml"]):
        ...     print(checked.file, checked.exit_status)
        hello-world.yaml 0
        sweep.yaml 0
        """
        for source in (source_of(file, {}) for file in files):
            try:
                checked = self.check_job(source)
            except (ProtocolError, PlanError) as error:  # noqa: PERF203 - the others are checked, too
                yield CheckedFile(file=source.name, exit_status=error.exit_code, diagnostics=error.diagnostics)
            else:
                yield CheckedFile(file=source.name, job=checked.job, diagnostics=checked.diagnostics)

    def compile(self, file: JobFile, **options: Unpack[JobFileOptions]) -> Compiled:
        """Compile a job file for the site, and return `job`, `plan`, `script` and `warnings`.

        Raises ProtocolError, SiteError, and PlanError for a job that the site cannot run. The same file, options and
        profile give the same script, byte for byte.

        >>> compiled = session.compiler.compile("sweep.yaml", parameters={"lr": 0.01}, slurm={"time": "10"})
        >>> "#SBATCH --time=00:10:00" in compiled.script
        True
        """
        return self._compiled(file, options)

    def plan(self, file: JobFile, **options: Unpack[JobFileOptions]) -> PlannedJob:
        """Return the request to Slurm with options of the shell's environment, and the bad nodes to avoid now.

        The errors are those of `compile`.

        >>> print(session.compiler.plan("hello-world.yaml").text)
        job         hello-world (hello-world.yaml, PAI protocol v2)
        layout      plain: a job of one role
        tasks       2 in 1 role, all at once
        ...
        """
        from ..input.job_input import site_of
        from ..input.submit_host import with_shell_options
        from ..submit.prepare import nodes_to_avoid

        session, source = self._session, source_of(file, options)
        compiled = self.compile(with_shell_options(session, source, site_of(session, source)))
        return PlannedJob(compiled, nodes_to_avoid(session, compiled, source.backend))

    def convert(self, file: JobFile, output: str | os.PathLike[str] | None = None) -> Converted:
        """Convert a job file of protocol v1 (JSON) to protocol v2 (YAML), and write it to `output` if given.

        Comments are lost. Raises ProtocolError for a wrong file, and for a file of protocol v2.

        >>> print(session.compiler.convert("v1.json").text)
        # Converted from v1.json, a job file of PAI protocol v1.
        protocolVersion: 2
        name: v1
        ...
        """
        from pathlib import Path, PurePath

        from ...conversion import converted
        from ...protocol.overrides import is_v1
        from ...protocol.validate import validate
        from ...reading.document import path_of
        from ...reading.read import read
        from ..input.job_input import text_of
        from ..paths import write_output

        source = source_of(file, {})
        document = read(text_of(source), file=source.name)
        if not is_v1(document):
            message, hint = "this is not a job file of protocol v1", "use a file of protocol v2 without conversion"
            location = document.location((), key=True)
            raise ProtocolError(Diagnostic(code="E310", message=message, location=location, hint=hint))
        checked = validate(document)
        text, changed = converted(checked.job, document.mapping(("extras",)), source=PurePath(source.name).name)
        located = (replace(each, location=document.location(path_of(each.path), key=True)) for each in changed)
        if output is not None:
            write_output(Path(output), text.encode())
        written = None if output is None else os.fspath(output)
        return Converted(job=checked.job.name, text=text, diagnostics=(*checked.warnings, *located), file=written)

    def parameters(self, file: str) -> Mapping[str, Value]:
        """Return the parameters that a job file declares, with their values. Raises ProtocolError.

        >>> session.compiler.parameters("sweep.yaml")
        {'lr': 0.1, 'seed': 1}
        """
        from ...reading.read import read
        from ..input.job_input import read_source

        found = read(read_source(file), file=file).mapping(("parameters",))
        return {str(name): value for name, value in found.items()}

    def schema(self, what: str) -> dict[str, Any]:
        """Return the JSON Schema of job files of protocol `v1` or `v2`, or of a `site` profile.

        >>> session.compiler.schema("v2")["title"]
        'OpenPAI job, protocol v2'
        """
        from ...validation.json_schema import json_schema

        if what == "v1":
            from ...protocol.v1.schema import JobFileV1

            return json_schema(JobFileV1, "OpenPAI job, protocol v1")
        if what == "site":
            from ...site.profile import Site

            return json_schema(Site, "Site profile of paislurm")
        from ...protocol.v2.schema import JobFile

        return json_schema(JobFile, "OpenPAI job, protocol v2")
