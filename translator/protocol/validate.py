"""Validate a job file: what it says becomes a job, or all that is wrong with it becomes one error."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from ..errors import Diagnostic, ProtocolError, Severity
from ..job import Job
from ..slurm_options import CompatOptions
from ..validation.diagnostics import DiagnosticCollector, near_hint
from ..validation.schema_errors import parse_model
from .expressions.command_builder import RoleContext
from .expressions.secrets import secret_texts, substitute_placeholders
from .v2.build import build
from .v2.lookup import Lookup
from .v2.overrides import apply_overrides
from .v2.prerequisites import role_hooks
from .v2.registry_credentials import registry_credentials
from .v2.schema import JobFile
from .v2.semantic_checks import check_semantics
from .v2.v1_extras import with_v1
from .versions import draft_error, is_v1

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..reading.document import Document, Path, Value
    from .expressions.command_builder import BuiltCommand

_EXTRAS = (
    "submitFrom",
    "gangAllocation",
    "storages",
    "hivedScheduler",
    "jobStatusChangeNotification",
    "tensorBoard",
    "slurm",
)
"""The keys under `extras` that mean something, and two of the web portal's. Source: PAI protocol v2."""
_NO_PARAMETERS: Mapping[str, str] = {}
_NO_SECRETS: Mapping[str, Value] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """Hold a job and the warnings about its file, in the order of the file."""

    job: Job
    warnings: tuple[Diagnostic, ...]
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)
    """The texts of the secrets that the job uses, by name."""


def validate(
    document: Document,
    *,
    parameters: Mapping[str, str] = _NO_PARAMETERS,
    name: str | None = None,
    secrets: Mapping[str, Value] = _NO_SECRETS,
    defaults: CompatOptions | None = None,
) -> Checked:
    """Return the job that a document means.

    `parameters`, `name` and `secrets` take the place of the file's own; a parameter's value is read as YAML would
    read it there. `defaults` are the site's choices, which `extras.slurm.compat` overrules.
    Raises `ProtocolError` with all that is wrong. Source: PAI protocol, v1 and v2.
    """
    draft = draft_error(document)
    if draft:
        raise ProtocolError(draft)
    document, diagnostics = apply_overrides(document, parameters=parameters, name=name, secrets=secrets)
    collector = DiagnosticCollector(document)
    collector.extend([*document.warnings, *diagnostics])
    if is_v1(document):
        from .v1.build import validate_v1

        job = validate_v1(collector, defaults or CompatOptions())
        return Checked(job=job, warnings=collector.of(Severity.WARNING))
    file = parse_model(JobFile, collector)
    lookup = Lookup(document)
    check_semantics(collector, lookup)
    switches = defaults or CompatOptions()
    keep = _keeps_unresolved(document, switches)
    contexts = {role: _context(role, collector, lookup, keep=keep) for role in document.mapping(("taskRoles",))}
    commands = {role: _command(role, context) for role, context in contexts.items()}
    hooks_by_role = {role: role_hooks(role, context, lookup) for role, context in contexts.items()}
    found = registry_credentials(
        RoleContext(collector=collector, roots={"secrets": document.at(("secrets",))}, keep=keep)
    )
    errors = collector.of(Severity.ERROR)
    if errors or file is None:
        raise ProtocolError(errors)
    if file.extras.slurm:
        switches = file.extras.slurm.compat.over(switches)
    job = replace(
        substitute_placeholders(build(file, commands, hooks_by_role, switches, collector, lookup)), logins=tuple(found)
    )
    if file.extras.slurm:
        job = with_v1(job, file.extras.slurm.v1, collector)
    if errors := collector.of(Severity.ERROR):
        raise ProtocolError(errors)
    _warn_likely_mistakes(file, collector)
    _warn_unused_slots(file, collector)
    texts = {**secret_texts(job.secrets, document.at(("secrets",))), **found}
    return Checked(job=job, warnings=collector.of(Severity.WARNING), secrets=texts)


def _keeps_unresolved(document: Document, defaults: CompatOptions) -> bool:
    """Tell whether references to nothing are kept; looked up before it is known that the file is valid."""
    own = document.at(("extras", "slurm", "compat", "unresolved"))
    return own == "keep" or (own is None and defaults.unresolved == "keep")


def _context(role: str, collector: DiagnosticCollector, lookup: Lookup, *, keep: bool) -> RoleContext:
    """Return what the texts of a role may refer to."""
    document = collector.document
    roots = {root: document.at((root,)) for root in ("parameters", "secrets")}
    for kind in ("script", "output", "data"):
        roots[kind] = lookup.prerequisite(kind, document.at(("taskRoles", role, kind)))
    return RoleContext(collector=collector, roots=roots, keep=keep)


def _command(role: str, context: RoleContext) -> BuiltCommand:
    """Return the command of a role, with that of the active deployment around it."""
    document = context.document
    items = document.texts(("taskRoles", role, "commands"))
    active = document.at(("defaults", "deployment"))
    for where, value in document.mappings(("deployments",)):
        if value.get("name") == active:
            path: Path = (*where, "taskRoles", role)
            items = [
                *document.texts((*path, "preCommands")),
                *items,
                *document.texts((*path, "postCommands")),
            ]
            break
    return context.commands(items)


def _warn_likely_mistakes(file: JobFile, collector: DiagnosticCollector) -> None:
    """Warn of what is allowed but hardly meant."""
    document = collector.document
    silent = [role for role, each in file.task_roles.items() if each.completion.min_succeeded_instances is None]
    if len(file.task_roles) > 1 and silent and document.at(("extras", "slurm", "compat", "minSucceeded")) is None:
        names = ", ".join(f"`{role}`" for role in silent)
        message = f"no `minSucceededInstances` for {names}: the job ends when all tasks of all roles have ended"
        hint = (
            "write `minSucceededInstances: -1` to say so; for the job to end with the first role that "
            "succeeds, as on OpenPAI from 2020 on, write `slurm: {compat: {minSucceeded: instances}}` "
            "under `extras`"
        )
        collector.add("W202", ("taskRoles", silent[0]), message, hint=hint, key=True)
    if file.deployments and not file.defaults.deployment:
        message = "no deployment is active: the commands of none are run"
        collector.add("W302", ("deployments",), message, hint="name one: `defaults: {deployment: ...}`", key=True)
    known = [*_EXTRAS, "com.microsoft.pai.runtimeplugin"]
    for key in document.mapping(("extras",)):
        near = near_hint(key, known)
        if key not in known and near.startswith("did you mean"):
            collector.add("W307", ("extras", key), f"`{key}` has no effect under `extras`", hint=near, key=True)


def _warn_unused_slots(file: JobFile, collector: DiagnosticCollector) -> None:
    """Warn of slots where they do nothing."""
    slurm = file.extras.slurm
    if slurm is None or not file.extras.gang_allocation:
        return
    for path in [("extras", "slurm"), *(("extras", "slurm", "taskRoles", role) for role in slurm.task_roles)]:
        if collector.document.at((*path, "slots")) is not None:
            message = "`slots` has no effect while all tasks of the job start together"
            hint = "write `gangAllocation: false` under `extras`"
            collector.add("W308", (*path, "slots"), message, hint=hint)
