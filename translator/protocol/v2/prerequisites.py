"""The hooks of a role from its prerequisites and plugins, and the credentials of its image.

Source: PAI protocol v2, prerequisites and extras; PAI issue 5145; PAI runtime, plugins.
"""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING

from msgspec.structs import replace

from ...errors import Severity
from ...job import Hooks, Lines, Prerequisite, Script
from ...validation.diagnostics import DiagnosticCollector
from ...validation.partial_model import placed
from ..expressions.references import TOO_LONG
from ..expressions.secrets import reveal, revealed_length
from .extras_schema import PLUGINS, Plugin
from .plugins import PLUGIN_NAMES, PluginUse, scripts
from .schema import DockerImage, Plugged

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ...errors import Diagnostic
    from ...reading.document import Path, Value
    from ..expressions.command_builder import RoleContext
    from .prerequisite_index import PrerequisiteIndex
    from .schema import JobFile


PREFIX = PLUGINS + "."
_COMMAND_KEYS = ("callbacks", "preCommands", "postCommands")
_NOT_PARAMETERS = ("plugin", "failurePolicy", "type")
"""The keys of a prerequisite that are not parameters of its plugin. Source: PAI runtime, initializer."""
_OWN = re.compile(r"\bthis\.parameters\.((?:(?!\s*%>)[^.\[])+)")


def role_hooks(role: str, file: JobFile, index: PrerequisiteIndex, context: RoleContext) -> Hooks:
    """Return the hooks of a role; faults go to the context's collector."""
    listed = tuple(dict.fromkeys(name for _, name in placed((), file.task_roles[role].prerequisites)))
    known: list[Prerequisite] = []
    for name in index.required(listed):
        path, each = index.named[name][-1]
        if not isinstance(each, DockerImage):
            stated = context.collector.document.mapping(path)
            parameters = {key: value for key, value in stated.items() if key not in _NOT_PARAMETERS}
            use = PluginUse(path=path, parameters=parameters, role=role, file=file, context=context)
            inherited = partial(index.inherited, name, document=context.collector.document)
            known.append(_prerequisite(name, path, each, replace(use, inherited=inherited)))
    plugins: list[Prerequisite] = []
    for path, plugin in index.plugins(role):
        inside, given = (*path, "parameters"), plugin.parameters or {}
        use = PluginUse(path=inside, parameters=given, role=role, file=file, context=context)
        plugins.append(_with_hooks(plugin.plugin, plugin.plugin, path, plugin, use))
    return Hooks(requested=listed, resolved=tuple(known), plugins=tuple(plugins))


def _prerequisite(name: str, path: Path, each: Plugged, use: PluginUse) -> Prerequisite:
    plugin = each.plugin or (PREFIX + "cmd" if each.acts else "")
    if plugin and not plugin.startswith(PREFIX):
        message = f"`{plugin}` is not a runtime plugin, so `{name}` runs nothing"
        near = plugin if plugin in PLUGIN_NAMES else "cmd"
        use.collector.add("W311", (*path, "plugin"), message, hint=f"write `plugin: {PREFIX}{near}`")
        plugin = ""
    return _with_hooks(name, plugin.removeprefix(PREFIX), path, each, use)


def _with_hooks(name: str, plugin: str, path: Path, each: Plugged | Plugin, use: PluginUse) -> Prerequisite:
    """Return the hooks of a prerequisite or a plugin."""
    ignore = _ignores_failure(path, each.failure_policy, use.collector)
    found: tuple[Script, ...] = ()
    if plugin and plugin not in PLUGIN_NAMES:
        message = f"`{plugin}` is not a plugin of OpenPAI"
        use.collector.add("E317", (*path, "plugin"), message, near=(plugin, PLUGIN_NAMES))
    elif plugin:
        inside = DiagnosticCollector(use.collector.document)
        context = replace(use.context.of(_own_parameters(use)), collector=inside)
        found = scripts(plugin, replace(use, context=context))
        faults = inside.of(Severity.ERROR)
        if ignore and any(fault.code in _IGNORED for fault in faults):
            found, faults = (), tuple(_ignored(fault) for fault in faults)
        use.collector.extend((*faults, *inside.of(Severity.WARNING)))
    span = use.collector.document.spans[path]
    return Prerequisite(
        name=name,
        kind="plugin" if isinstance(each, Plugin) else "prerequisite",
        scripts=found,
        lines=Lines(first=span.line, last=max(span.line, span.last_line)),
        requires=() if isinstance(each, Plugin) else tuple(text for _, text in placed((), each.require)),
        ignore_failure=ignore,
    )


_IGNORED = ("E202", "E203", "E316")
"""Faults that made the preparation of a plugin fail, which `failurePolicy: ignore` covers; not those of references."""


def _ignored(fault: Diagnostic) -> Diagnostic:
    if fault.code not in _IGNORED:
        return fault
    return replace(fault, code="W310", message=f"the plugin does nothing: {fault.message}")


def _ignores_failure(path: Path, policy: object, collector: DiagnosticCollector) -> bool:
    policy = policy.lower() if isinstance(policy, str) else policy
    if policy not in (None, "fail", "ignore"):
        message = "`failurePolicy` is neither `fail` nor `ignore` and counts as `fail`"
        collector.add("W312", (*path, "failurePolicy"), message, hint="write `failurePolicy: fail`")
    return policy == "ignore"


def _own_parameters(use: PluginUse) -> Mapping[str, Value]:
    """Return `this.parameters`: the own parameters, and the inherited ones that are used.

    References in the used parameters are resolved.
    """
    used: set[str] = set()
    todo: list[Value] = list(use.parameters.values())
    while todo:
        value = todo.pop()
        if isinstance(value, str):
            if "this.parameters." in value:
                used.update(_OWN.findall(value))
        elif isinstance(value, dict):
            todo += value.values()
        elif isinstance(value, list):
            todo += value
    own = {
        key: use.context.resolved((*use.path, key), value) if key in used and key not in _COMMAND_KEYS else value
        for key, value in use.parameters.items()
    }
    taken = ((key, use.inherited(key)) for key in sorted(used - own.keys()))
    return own | {key: use.context.resolved(*found) for key, found in taken if found is not None}


AUTH_PREFIX = "auth@"
"""The prefix of the names of these secrets; no other secret has an `@` in its name."""
_KEYS = ("registryuri", "username", "password")


def registry_credentials(file: JobFile, context: RoleContext) -> dict[str, str]:
    """Return the registry credentials of the images that roles use, by name: server, user and password, one per line.

    Faults go to the context's collector.
    """
    used = {role.docker_image for role in file.task_roles.values()}
    found: dict[str, str] = {}
    for where, image in placed(("prerequisites",), file.prerequisites):
        if not isinstance(image, DockerImage) or image.name not in used or not image.auth:
            continue
        lines: list[str] = []
        for key in _KEYS:
            path = (*where, "auth", key)
            text = str(context.resolved(path, image.auth.get(key) or ""))
            if not context.budget.take(revealed_length(text, context.roots["secrets"])):
                context.collector.add("E321", path, TOO_LONG, hint="use shorter credentials")
                continue
            text = reveal(text, context.roots["secrets"])
            if re.search(r"[\r\n]", text):
                context.collector.add("E319", path, f"`{key}` contains a line break", hint="write it on one line")
            lines.append(text)
        found[f"{AUTH_PREFIX}{image.name}"] = "\n".join(lines) + "\n"
    return found
