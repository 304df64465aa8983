"""Find prerequisites and plugins by the names under which roles have them: each list of the file is read once."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from ...reading.document import Document, Path, Value

PLUGINS = "com.microsoft.pai.runtimeplugin"
Entry = tuple["Path", "Mapping[str, Value]"]
"""A prerequisite or a plugin as it stands, with its path."""


class Lookup:
    """Hold what roles select by name. It takes the values as they stand, and so does for files with faults, too.

    `named` has the prerequisites of each name: of several of one name those that do something, where any does.
    """

    def __init__(self, document: Document) -> None:
        self._document = document
        self._selected: dict[tuple[str, Value], Mapping[str, Value]] = {}
        self._plugins: dict[str | None, dict[int, Entry]] = {}
        named: dict[str, list[Entry]] = {}
        for path, value in document.mappings(("prerequisites",)):
            kind, name = value.get("type"), value.get("name")
            if isinstance(kind, str) and not isinstance(name, (dict, list)):
                self._selected.setdefault((kind, name), value)
            if isinstance(name, str):
                named.setdefault(name, []).append((path, value))
        self.named = {name: [each for each in several if acts(each[1])] or several for name, several in named.items()}
        for number, (path, value) in enumerate(document.mappings(("extras", PLUGINS))):
            chosen = value.get("taskroles")
            roles = [role for role in chosen if isinstance(role, str)] if isinstance(chosen, list) else [None]
            for role in roles if isinstance(value.get("plugin"), str) else ():
                self._plugins.setdefault(role, {})[number] = (path, value)

    def prerequisite(self, kind: str, name: Value) -> Mapping[str, Value] | None:
        """Return the first prerequisite of that type and name."""
        return None if isinstance(name, (dict, list)) else self._selected.get((kind, name))

    def plugins(self, role: str) -> list[Entry]:
        """Return the plugins of a role, in the order of the file."""
        found = self._plugins.get(None, {}) | self._plugins.get(role, {})
        return [found[number] for number in sorted(found)]

    def required(self, names: Iterable[str]) -> Iterator[str]:
        """Yield the names that a role's list stands for: those in it, and all that they require; each once.

        A name that there is not is left out. Source: PAI issue 5145, require.
        """
        seen: set[str] = set()
        stack = [*names]
        while stack:
            each = stack.pop()
            if each not in seen and each in self.named:
                seen.add(each)
                yield each
                stack += [text for _, text in self.requirements(each)]

    def requirements(self, name: str) -> list[tuple[Path, str]]:
        """Return what the prerequisites of a name require, each with its path."""
        return [item for path, _ in self.named.get(name, ()) for item in self._document.texts((*path, "require"))]


def acts(value: Mapping[str, Value]) -> bool:
    """Tell whether a prerequisite does something for a role that lists it.

    Source: PAI issue 5145: commands without a plugin are the cmd plugin's.
    """
    return value.get("type") != "dockerimage" and any(
        value.get(key) for key in ("plugin", "callbacks", "preCommands", "postCommands")
    )
