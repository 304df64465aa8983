"""Credentials of container registries: each becomes a secret of the job, in the form of protocol v1's `authFile`.

Source: PAI protocol v2, prerequisites, auth; PAI rest-server: all of a job's credentials are one set.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ...validation.partial_model import placed
from ..expressions.references import TOO_LONG
from ..expressions.secrets import reveal, revealed_length
from .schema import DockerImage

if TYPE_CHECKING:
    from ..expressions.command_builder import RoleContext
    from .schema import JobFile

PREFIX = "auth@"
"""How the names of these secrets begin; no other secret has an `@` in its name."""
_KEYS = ("registryuri", "username", "password")


def registry_credentials(file: JobFile, context: RoleContext) -> dict[str, str]:
    """Return the texts of the credentials by their names: server, user and password, a line each.

    Only of images that a role uses. Faults go to the context's collector.
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
                context.collector.add("E321", path, TOO_LONG, hint="a registry takes short ones")
                continue
            text = reveal(text, context.roots["secrets"])
            if re.search(r"[\r\n]", text):
                context.collector.add("E319", path, f"a line break in `{key}`", hint="a registry takes one line")
            lines.append(text)
        found[f"{PREFIX}{image.name}"] = "\n".join(lines) + "\n"
    return found
