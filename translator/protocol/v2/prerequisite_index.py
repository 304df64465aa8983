"""The prerequisites of a job file by name and type, and its plugins by role.

Source: PAI protocol v2, prerequisites; PAI issue 5145 for `require`.
"""

from __future__ import annotations

from operator import itemgetter
from typing import TYPE_CHECKING

from ...validation.partial_model import placed
from .extras_schema import PLUGINS
from .schema import DockerImage

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ...reading.document import Document, Path, Value
    from .extras_schema import Plugin
    from .schema import JobFile, Prerequisite

NOT_INHERITED = (
    *("name", "type", "plugin", "require", "failurePolicy", "callbacks", "preCommands", "postCommands"),
    *("protocolVersion", "version", "contributor", "description"),
)
"""Keys that describe a prerequisite itself."""
Placed = tuple["Path", "Prerequisite"]
"""A prerequisite and its path."""


class PrerequisiteIndex:
    """The prerequisites of a file by name; the file may be partial."""

    def __init__(self, file: JobFile) -> None:
        self.all: list[Placed] = list(placed(("prerequisites",), file.prerequisites))
        self._of_name: dict[str, list[Placed]] = {}
        for path, each in self.all:
            if isinstance(each.name, str):
                self._of_name.setdefault(each.name, []).append((path, each))
        self.named = {
            name: [each for each in several if each[1].acts] or several for name, several in self._of_name.items()
        }
        """By name; if some prerequisites of a name act, only those."""
        self._of_all: list[tuple[int, Path, Plugin]] = []
        self._of_role: dict[str, list[tuple[int, Path, Plugin]]] = {}
        for place, (path, plugin) in enumerate(placed(("extras", PLUGINS), file.extras.plugins)):
            roles = None if plugin.taskroles is None else dict.fromkeys(plugin.taskroles)
            for where in [self._of_all] if roles is None else [self._of_role.setdefault(role, []) for role in roles]:
                where.append((place, path, plugin))

    def plugins(self, role: str) -> Iterator[tuple[Path, Plugin]]:
        """Yield the runtime plugins that apply to a role, in their order, with their paths."""
        for _, path, plugin in sorted(self._of_all + self._of_role.get(role, []), key=itemgetter(0)):
            yield path, plugin

    def find(self, kind: str, name: str | None) -> Placed | None:
        """Return the first prerequisite of a type and a name."""
        for each in self._of_name.get(name or "", ()):
            if each[1].type == kind:
                return each
        return None

    def required(self, names: Iterable[str]) -> Iterator[str]:
        """Yield the names of a role's list and all names that they require, each once.

        Unknown names are skipped.
        """
        seen: set[str] = set()
        stack = [*names]
        while stack:
            each = stack.pop()
            if each not in seen and each in self.named:
                seen.add(each)
                yield each
                stack += [name for _, name in self.requirements(each)]

    def inherited(self, name: str, key: str, document: Document) -> tuple[Path, Value] | None:
        """Return the value that a prerequisite inherits from those that it requires, and the path of the value.

        The search is depth-first, in the order of the lists. Source: PAI issue 5145, `require`.
        """
        seen: set[str] = set()
        stack = [name]
        while stack and key not in NOT_INHERITED:
            each = stack.pop()
            if each in seen:
                continue
            for path, _ in self.named.get(each, ()) if seen else ():
                if key in document.mapping(path):
                    return (*path, key), document.at((*path, key))
            seen.add(each)
            stack += reversed([wanted for _, wanted in self.requirements(each)])
        return None

    def requirements(self, name: str) -> list[tuple[Path, str]]:
        """Return the names that the prerequisites of a name require, with their paths."""
        return [
            found
            for path, each in self.named.get(name, ())
            if not isinstance(each, DockerImage)
            for found in placed((*path, "require"), each.require)
        ]
