"""What runs around the commands of a role: the prerequisites that it lists, and the runtime plugins.

Source: PAI protocol v2, prerequisites and extras; PAI issue 5145; PAI runtime, plugins.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ...job import Hooks, Lines, Prerequisite, Script
from .lookup import PLUGINS, acts
from .plugins import PLUGIN_NAMES, scripts

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Literal

    from ...reading.document import Path, Value
    from ..expressions.command_builder import RoleContext
    from .lookup import Lookup

PREFIX = PLUGINS + "."
_COMMAND_KEYS = ("callbacks", "preCommands", "postCommands")
_NOT_PARAMETERS = ("plugin", "failurePolicy", "type")
"""The keys of a prerequisite that its plugin does not see. Source: PAI runtime, initializer."""
_OWN = re.compile(r"\bthis\.parameters\.((?:(?!\s*%>)[^.\[])+)")


def role_hooks(role: str, context: RoleContext, lookup: Lookup) -> Hooks:
    """Return what runs around the commands of a role; faults go to the context's collector."""
    listed = tuple(dict.fromkeys(name for _, name in context.document.texts(("taskRoles", role, "prerequisites"))))
    known: list[Prerequisite] = []
    for name in lookup.required(listed):
        path, value = lookup.named[name][-1]
        if value.get("type") != "dockerimage":
            known.append(_prerequisite(name, path, value, role, context))
    plugins = tuple(_plugin(path, value, role, context) for path, value in lookup.plugins(role))
    return Hooks(requested=listed, resolved=tuple(known), plugins=plugins)


def _prerequisite(name: str, path: Path, value: Mapping[str, Value], role: str, context: RoleContext) -> Prerequisite:
    plugin = str(value.get("plugin") or "")
    if not plugin and acts(value):
        plugin = PREFIX + "cmd"
    if plugin and not plugin.startswith(PREFIX):
        message = f"`{plugin}` is no runtime plugin, so `{name}` runs nothing"
        near = next((each for each in PLUGIN_NAMES if each == plugin), "cmd")
        context.collector.add("W311", (*path, "plugin"), message, hint=f"write `plugin: {PREFIX}{near}`")
        plugin = ""
    parameters = {key: inner for key, inner in value.items() if key not in _NOT_PARAMETERS}
    requires = tuple(text for _, text in context.document.texts((*path, "require")))
    return _made(
        name, "prerequisite", plugin.removeprefix(PREFIX), path, path, value, parameters, requires, role, context
    )


def _plugin(path: Path, value: Mapping[str, Value], role: str, context: RoleContext) -> Prerequisite:
    name, parameters = str(value.get("plugin")), context.document.mapping((*path, "parameters"))
    return _made(name, "plugin", name, path, (*path, "parameters"), value, parameters, (), role, context)


def _made(
    name: str,
    kind: Literal["prerequisite", "plugin"],
    plugin: str,
    path: Path,
    inside: Path,
    value: Mapping[str, Value],
    parameters: Mapping[str, Value],
    requires: tuple[str, ...],
    role: str,
    context: RoleContext,
) -> Prerequisite:
    """Return what a prerequisite or a plugin runs; `inside` is where its parameters stand."""
    ignore = _ignores_failure(path, value, context)
    found: tuple[Script, ...] = ()
    if plugin and plugin not in PLUGIN_NAMES:
        message = f"`{plugin}` is no plugin of OpenPAI"
        if ignore:
            context.collector.add(
                "W310", (*path, "plugin"), f"{message}, so it does nothing", near=(plugin, PLUGIN_NAMES)
            )
        else:
            context.collector.add("E317", (*path, "plugin"), message, near=(plugin, PLUGIN_NAMES))
    elif plugin:
        own = context.of(_own_parameters(inside, parameters, context))
        found = scripts(plugin, inside, parameters, role, own)
    span = context.document.spans[path]
    return Prerequisite(
        name=name,
        kind=kind,
        scripts=found,
        lines=Lines(first=span.line, last=max(span.line, span.last_line)),
        requires=requires,
        ignore_failure=ignore,
    )


def _ignores_failure(path: Path, value: Mapping[str, Value], context: RoleContext) -> bool:
    policy = value.get("failurePolicy")
    policy = policy.lower() if isinstance(policy, str) else policy
    if policy not in (None, "fail", "ignore"):
        message = "`failurePolicy` is `fail` or `ignore`; anything else counts as `fail`"
        context.collector.add("W312", (*path, "failurePolicy"), message)
    return policy == "ignore"


def _own_parameters(inside: Path, parameters: Mapping[str, Value], context: RoleContext) -> Mapping[str, Value]:
    """Return the values behind `this.parameters`; of those that are used, references in them are resolved."""
    used: set[str] = set()
    todo: list[Value] = list(parameters.values())
    while todo:
        value = todo.pop()
        if isinstance(value, str):
            used.update(_OWN.findall(value))
        elif isinstance(value, dict):
            todo += value.values()
        elif isinstance(value, list):
            todo += value
    return {
        key: context.resolved((*inside, key), value) if key in used and key not in _COMMAND_KEYS else value
        for key, value in parameters.items()
    }
