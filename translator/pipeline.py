"""The compiler as one call: read, validate, plan, and render on demand."""

from __future__ import annotations

from functools import cached_property
from pathlib import PurePath
from typing import TYPE_CHECKING

from msgspec import Struct, field
from msgspec.structs import replace

from paislurm import __version__

from .errors import Diagnostic, PlanError
from .planning.planner import plan
from .protocol.overrides import is_v1, with_most_tasks, with_slurm_options
from .protocol.validate import validate
from .reading.document import path_of
from .reading.read import read
from .site.profile import Site

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from .job import Job
    from .planning.job_plan import Plan
    from .planning.placement.place import JobPlacement
    from .protocol.validate import Checked
    from .reading.document import Document, Value

_NO_PARAMETERS: Mapping[str, str] = {}
_NO_SECRETS: Mapping[str, Value] = {}
_UNKNOWN_SITE = Site.of()


class Compiled(Struct, frozen=True, kw_only=True, dict=True):
    """The result of each stage for one job file and one site, and all warnings in the order of the stages."""

    document: Document
    site: Site
    job: Job
    plan: Plan
    warnings: tuple[Diagnostic, ...]
    secrets: Mapping[str, str] = field(default_factory=dict)
    """The secrets that the script needs, by name. Apart from the document, no other field contains them."""
    templates: Path | None = None
    """The folder that caches compiled templates."""

    def __repr__(self) -> str:
        """Name the job; hide its secrets."""
        return f"Compiled(job={self.job.name!r})"

    @cached_property
    def script(self) -> str:
        """The batch script. The first access renders it: many commands need only the plan."""
        from .rendering.engine import template_cache
        from .rendering.render import render

        return render(self.plan, template_cache(self.templates) if self.templates else None)

    @cached_property
    def placement(self) -> JobPlacement:
        """The tasks on each node, as far as the nodes are known."""
        from .planning.placement.place import placement

        return placement(self.plan, self.job, self.site)


def compile_job(
    text: str | bytes,
    *,
    file: str = "job.yaml",
    site: Site = _UNKNOWN_SITE,
    parameters: Mapping[str, str] = _NO_PARAMETERS,
    suffix: str = "",
    secrets: Mapping[str, Value] = _NO_SECRETS,
    slurm: Mapping[str, str] = _NO_PARAMETERS,
    most_tasks: int | None = None,
    version: str = __version__,
    templates: Path | None = None,
) -> Compiled:
    """Compile a job file. The same arguments give the same script, byte for byte.

    `file` is the name in messages and in the script. `parameters` and `secrets` override those of the file.
    `suffix` is appended to the job's name. `slurm` contains keys of `extras.slurm` from the command line, with their
    values. `most_tasks` limits the tasks of each role. `version` is the version that the script names. `templates` is a
    folder that only the user can write to, for compiled templates. Raises `ProtocolError` for a faulty file, and
    `PlanError` for a job that the site cannot run, or that sets what the site locks. Each has all errors that its stage
    finds.
    """
    document = with_most_tasks(with_slurm_options(read(text, file=file), slurm), most_tasks)
    checked = _checked(document, site, parameters, suffix, secrets)
    if site.locked:
        _check_locks(document, site, checked.job)
    try:
        planned = plan(checked.job, site, source=PurePath(file).name, version=version)
    except PlanError as error:
        refused = [_placed(diagnostic, document) for diagnostic in error.diagnostics]
        raise PlanError(refused, warnings=checked.warnings) from None
    planned = replace(planned, warnings=tuple(_placed(diagnostic, document) for diagnostic in planned.warnings))
    return Compiled(
        document=document,
        site=site,
        job=checked.job,
        plan=planned,
        warnings=(*checked.warnings, *planned.warnings),
        secrets={name: checked.secrets[name] for name in planned.secrets},
        templates=templates,
    )


def load_job(
    text: str | bytes,
    *,
    file: str = "job.yaml",
    site: Site = _UNKNOWN_SITE,
    parameters: Mapping[str, str] = _NO_PARAMETERS,
    suffix: str = "",
    secrets: Mapping[str, Value] = _NO_SECRETS,
    slurm: Mapping[str, str] = _NO_PARAMETERS,
) -> Job:
    """Return the job of a file, even if the site cannot run it. Only the `compat` options of the site have an effect.

    The arguments are those of `compile_job`. Raises `ProtocolError` for a faulty file.
    """
    return _checked(with_slurm_options(read(text, file=file), slurm), site, parameters, suffix, secrets).job


def _checked(
    document: Document, site: Site, parameters: Mapping[str, str], suffix: str, secrets: Mapping[str, Value]
) -> Checked:
    name = _name(document, suffix)
    return validate(document, parameters=parameters, name=name, secrets=secrets, defaults=site.compat_options)


def _check_locks(document: Document, site: Site, job: Job) -> None:
    from .site.layers import locked_options

    if refused := locked_options(document, site, job.virtual_cluster):
        raise PlanError(refused)


def _name(document: Document, suffix: str) -> str | None:
    """Return the job's name with the suffix, or None without a suffix or a name."""
    name = document.at(("jobName" if is_v1(document) else "name",))
    return f"{name}{suffix}" if suffix and isinstance(name, str) else None


def _placed(diagnostic: Diagnostic, document: Document) -> Diagnostic:
    """Return the planner's diagnostic with a location; the planner knows only paths."""
    if diagnostic.location is not None or not diagnostic.path.startswith("$."):
        return diagnostic
    return replace(diagnostic, location=document.place(path_of(diagnostic.path), key=True))
