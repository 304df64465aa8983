"""Credentials of container registries: each becomes a secret of the job, in the form of protocol v1's `authFile`.

Source: PAI protocol v2, prerequisites, auth; PAI rest-server: all of a job's credentials are one set.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ..expressions.secrets import reveal

if TYPE_CHECKING:
    from ..expressions.command_builder import RoleContext

PREFIX = "auth@"
"""How the names of these secrets begin; no other secret has an `@` in its name."""
_KEYS = ("registryuri", "username", "password")


def registry_credentials(context: RoleContext) -> dict[str, str]:
    """Return the texts of the credentials by their names: server, user and password, a line each.

    Only of images that a role uses. Faults go to the context's collector.
    """
    document = context.document
    selected = (document.at(("taskRoles", role, "dockerImage")) for role in document.mapping(("taskRoles",)))
    used = {name for name in selected if isinstance(name, str)}
    found: dict[str, str] = {}
    for where, value in document.mappings(("prerequisites",)):
        auth, name = document.mapping((*where, "auth")), value.get("name")
        if value.get("type") != "dockerimage" or not isinstance(name, str) or name not in used or not auth:
            continue
        lines: list[str] = []
        for key in _KEYS:
            path = (*where, "auth", key)
            text = reveal(str(context.resolved(path, auth.get(key) or "")), document.at(("secrets",)))
            if re.search(r"[\r\n]", text):
                context.collector.add("E319", path, f"a line break in `{key}`", hint="a registry takes one line")
            lines.append(text)
        found[f"{PREFIX}{name}"] = "\n".join(lines) + "\n"
    return found
