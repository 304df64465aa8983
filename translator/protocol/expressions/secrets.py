"""References to secrets: marks inside the compiler, and references again in the script.

The task replaces `<% $secrets.token %>` in a script by the value from a separate file. The planner and the renderer
never see a value. Source: PAI protocol v2, secrets; this project's docs, secrets.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote

from msgspec.structs import replace

from .texts import js_string

if TYPE_CHECKING:
    from ...job import Job, Role, Script
    from ...reading.document import Value

TAG = "<% $secrets."
"""The beginning of a reference in a script; it ends with ` %>`. A reference without a name means these characters."""
_PLACEHOLDER = re.compile("\0([^\0]*)\0")
"""Texts of a job file contain no NUL."""


def placeholder(steps: list[str]) -> str:
    """Return the mark of a reference to a secret; its name has letters, digits and `_.-~%`."""
    return f"\0{quote('.'.join(steps), safe='')}\0"


def secret_texts(names: tuple[str, ...], secrets: Value) -> dict[str, str]:
    """Return the text of each secret by its name; all names must exist."""
    found: dict[str, str] = {}
    for name in names:
        value = secrets
        for step in unquote(name).split("."):
            value = value[step] if isinstance(value, Mapping) else value[int(step)] if isinstance(value, list) else None
        found[name] = js_string(value) or ""
    return found


def reveal(text: str, secrets: Value) -> str:
    """Return a text with the secrets in place of their marks."""
    return _PLACEHOLDER.sub(lambda match: secret_texts((match[1],), secrets)[match[1]], text)


def revealed_length(text: str, secrets: Value) -> int:
    """Return how many characters the secrets add to a text."""
    names = Counter(_PLACEHOLDER.findall(text))
    texts = secret_texts(tuple(names), secrets)
    return sum(count * len(texts[name]) for name, count in names.items())


def substitute_placeholders(job: Job) -> Job:
    """Return the job with references in place of marks, and the names of the secrets that it uses."""
    texts = [role.command.text for role in job.roles]
    texts += [text for role in job.roles for script in role.hooks.scripts for text in _texts(script)]
    names = tuple(dict.fromkeys(name for text in texts for name in _PLACEHOLDER.findall(text)))
    if not names:
        return job
    return replace(job, roles=tuple(map(_role, job.roles)), secrets=names)


def without_secrets(text: str) -> str:
    """Return a text with a word in place of each secret, for a syntax check by bash."""
    return re.sub(re.escape(TAG) + r"\S* %>", "secret", text)


def _texts(script: Script) -> tuple[str, ...]:
    return (script.text, *(value for _, value in script.settings))


def _role(role: Role) -> Role:
    known, plugins = (
        tuple(replace(each, scripts=tuple(map(_script, each.scripts))) for each in group)
        for group in (role.hooks.resolved, role.hooks.plugins)
    )
    hooks = replace(role.hooks, resolved=known, plugins=plugins)
    return replace(role, command=replace(role.command, text=_with_tags(role.command.text)), hooks=hooks)


def _script(script: Script) -> Script:
    settings = tuple((name, _with_tags(value)) for name, value in script.settings)
    return replace(script, text=_with_tags(script.text), settings=settings)


def _with_tags(text: str) -> str:
    """Return a text with its marks as references; literal text that looks like a reference is escaped."""
    plain, *rest = _PLACEHOLDER.split(text.replace(TAG, f"{TAG} %>"))
    return plain + "".join(f"{TAG}{name} %>{after}" for name, after in zip(rest[::2], rest[1::2], strict=True))
