"""Validation of a job file: a job, or one error with all diagnostics."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from msgspec import Struct, field
from msgspec.structs import replace

from ..errors import Diagnostic, ProtocolError, Severity, did_you_mean
from ..job import Job
from ..plural import some_of
from ..reading.unreadable import error_of_mapping
from ..slurm_options import CompatOptions
from ..validation.diagnostics import DiagnosticCollector
from ..validation.partial_model import placed
from ..validation.schema_errors import parse_model
from .expressions.command_builder import RoleContext
from .expressions.references import TextBudget
from .expressions.secrets import secret_texts, substitute_placeholders
from .overrides import apply_overrides, draft_error, is_v1
from .v2.build import build, with_v1
from .v2.extras_schema import PLUGINS
from .v2.prerequisite_index import PrerequisiteIndex
from .v2.prerequisites import registry_credentials, role_hooks
from .v2.schema import DeploymentRole, JobFile
from .v2.semantic_checks import check_semantics
from .wording import WORDING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..reading.document import Document, Path, Value
    from ..validation.strict_model import OpenModel

_IN_BACKGROUND = re.compile(r"(?<![&>\\\\])&[ \t)]*(?:disown\b[^;&|]*)?(?:[ \t]#.*)?$")
"""The end of a last line that leaves a process in the background."""
_EXTRAS = (
    "submitFrom",
    "gangAllocation",
    "storages",
    "hivedScheduler",
    "jobStatusChangeNotification",
    "tensorBoard",
    "slurm",
    PLUGINS,
)
"""The keys with a meaning under `extras`, and two of the web portal's. Source: PAI protocol v2."""
_HIVED = ("skuType", "pinnedCellId", "affinityGroupName", "skuNum")
"""The keys of a role under `hivedScheduler`. Source: PAI rest-server, hivedSchema."""
_EARLIER = {"gpuType": "skuType", "reservationId": "pinnedCellId"}
"""Keys that OpenPAI has renamed. Source: PAI rest-server, earlier revisions of hivedSchema."""
_MOST_NAMES = 8
_NO_PARAMETERS: Mapping[str, str] = {}
_NO_SECRETS: Mapping[str, Value] = {}


class Checked(Struct, frozen=True, kw_only=True):
    """A job, and the warnings about its file in the order of the file."""

    job: Job
    warnings: tuple[Diagnostic, ...]
    secrets: Mapping[str, str] = field(default_factory=dict)
    """The texts of the secrets that the job uses, by name."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.job!r})"


def validate(
    document: Document,
    *,
    parameters: Mapping[str, str] = _NO_PARAMETERS,
    name: str | None = None,
    secrets: Mapping[str, Value] = _NO_SECRETS,
    defaults: CompatOptions | None = None,
) -> Checked:
    """Return the job of a document.

    `parameters`, `name` and `secrets` override those of the file; a parameter's value is parsed as YAML would
    read it in the file. `defaults` are the site's compat options, which `extras.slurm.compat` overrides.
    Raises `ProtocolError` with all errors. Source: PAI protocol, v1 and v2.
    """
    if error := draft_error(document) or error_of_mapping(document.root, document.file):
        raise ProtocolError(error)
    document, diagnostics = apply_overrides(document, parameters=parameters, name=name, secrets=secrets)
    collector = DiagnosticCollector(document)
    collector.extend([*document.warnings, *diagnostics])
    if is_v1(document):
        from .v1.build import validate_v1

        job = validate_v1(collector, defaults or CompatOptions())
        return Checked(job=job, warnings=collector.of(Severity.WARNING))
    file = parse_model(JobFile, collector, wording=WORDING)
    index = PrerequisiteIndex(file)
    check_semantics(file, index, collector)
    switches = defaults or CompatOptions()
    if file.extras.slurm:
        switches = file.extras.slurm.compat.over(switches)
    keep, budget = switches.unresolved == "keep", TextBudget()
    contexts = {
        role: RoleContext(collector=collector, roots=_roots(role, file, index, document), keep=keep, budget=budget)
        for role in file.task_roles
    }
    commands = {role: context.commands(_commands(role, file)) for role, context in contexts.items()}
    hooks_by_role = {role: role_hooks(role, file, index, context) for role, context in contexts.items()}
    of_secrets: dict[str, Value] = {"secrets": document.at(("secrets",))}
    found = registry_credentials(file, RoleContext(collector=collector, roots=of_secrets, keep=keep, budget=budget))
    collector.refuse()
    job = build(file, index, commands, hooks_by_role, switches, collector)
    job = replace(substitute_placeholders(job), logins=tuple(found))
    if file.extras.slurm:
        job = with_v1(job, file.extras.slurm.v1, collector)
    collector.refuse()
    _warn_likely_mistakes(file, collector)
    _warn_unused_slots(file, collector)
    _warn_of_background(file, switches, collector)
    texts = {**secret_texts(job.secrets, document.at(("secrets",))), **found}
    return Checked(job=job, warnings=collector.of(Severity.WARNING), secrets=texts)


def _roots(role: str, file: JobFile, index: PrerequisiteIndex, document: Document) -> dict[str, Value]:
    """Return the values for references in the texts of a role, as written in the file."""
    roots = {root: document.at((root,)) for root in ("parameters", "secrets")}
    for _, kind, name in file.task_roles[role].selections:
        if kind != "dockerimage":
            selected = index.find(kind, name)
            roots[kind] = document.at(selected[0]) if selected else None
    return roots


def _commands(role: str, file: JobFile) -> list[tuple[Path, str]]:
    """Return the commands of a role with their paths, between those of the active deployment."""
    own = placed(("taskRoles", role, "commands"), file.task_roles[role].commands)
    active = file.defaults.deployment
    for where, each in placed(("deployments",), file.deployments):
        if active and each.name == active:
            around = each.task_roles.get(role, DeploymentRole())
            path: Path = (*where, "taskRoles", role)
            before, after = (*path, "preCommands"), (*path, "postCommands")
            return [*placed(before, around.pre_commands), *own, *placed(after, around.post_commands)]
    return [*own]


def _warn_likely_mistakes(file: JobFile, collector: DiagnosticCollector) -> None:
    """Warn of valid settings that are probably mistakes."""
    slurm = file.extras.slurm
    silent = [role for role, each in file.task_roles.items() if each.completion.min_succeeded_instances is None]
    if len(file.task_roles) > 1 and silent and not (slurm and slurm.compat.min_succeeded):
        names = some_of([f"`{role}`" for role in silent], _MOST_NAMES)
        # A threshold above the number of instances is never reached (W203).
        able = [
            f"`{role}`"
            for role, each in file.task_roles.items()
            if 0 < (each.completion.min_succeeded_instances or 0) <= each.instances
        ]
        rule = f"by the threshold of {some_of(able, _MOST_NAMES)}, or" if able else "only"
        message = (
            f"no `minSucceededInstances` for {names}: the job succeeds {rule} when all tasks of all roles have ended"
        )
        hint = (
            "write `minSucceededInstances: -1` to make this explicit; to end the job with the first role that "
            "succeeds, as on OpenPAI from 2020 on, write `slurm: {compat: {minSucceeded: instances}}` "
            "under `extras`"
        )
        collector.add("W202", ("taskRoles", silent[0]), message, hint=hint, key=True)
    if file.deployments and not file.defaults.deployment:
        message = "no deployment is selected, so no commands of a deployment run"
        collector.add("W302", ("deployments",), message, hint="select one: `defaults: {deployment: NAME}`", key=True)
    hived: Path = ("extras", "hivedScheduler", "taskRoles")
    roles = file.extras.hived_scheduler.task_roles if file.extras.hived_scheduler else {}
    _warn_misspelt(("extras",), file.extras, _EXTRAS, collector)
    for role, each in roles.items():
        _warn_misspelt((*hived, role), each, _HIVED, collector)


def _warn_misspelt(path: Path, table: OpenModel, known: tuple[str, ...], collector: DiagnosticCollector) -> None:
    """Warn of unknown keys that are like known ones, or their earlier names."""
    for key in table.model_extra or {}:
        near = did_you_mean(_EARLIER.get(key, key), known)
        if key not in known and near:
            message = f"`{key}` has no effect under `{'.'.join(map(str, path))}`"
            collector.add("W307", (*path, key), message, hint=near, key=True)


def _warn_unused_slots(file: JobFile, collector: DiagnosticCollector) -> None:
    slurm = file.extras.slurm
    if slurm is None or not file.extras.gang_allocation:
        return
    table: Path = ("extras", "slurm")
    of_roles = (((*table, "taskRoles", role), each) for role, each in slurm.task_roles.items())
    for path, each in ((table, slurm), *of_roles):
        if each.slots is not None:
            message = "`slots` has no effect while all tasks of the job start together"
            hint = "write `gangAllocation: false` under `extras`"
            collector.add("W308", (*path, "slots"), message, hint=hint)


def _warn_of_background(file: JobFile, switches: CompatOptions, collector: DiagnosticCollector) -> None:
    """Warn of commands whose last line leaves a process in the background."""
    for role in file.task_roles:
        path, text = _commands(role, file)[-1]
        line = text.strip().rpartition("\n")[2].strip()
        if not _IN_BACKGROUND.search(line):
            continue
        hint = "add the command `wait`, and the task ends with the process"
        if switches.background == "wait":
            effect = "the task succeeds only when it ends, as on OpenPAI"
            hint += "; or end both at once by `compat: {background: stop}` under `extras.slurm`"
        else:
            effect = "the task ends and stops it (`background: stop`)"
        collector.add("W316", path, f"`{line}` leaves a process in the background: {effect}", hint=hint)
