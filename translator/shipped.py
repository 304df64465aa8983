"""The templates and tables that are part of the program."""

from __future__ import annotations

from typing import Any

_ROOT = __file__.rpartition("/")[0].rpartition("/")[0]


def shipped_text(name: str) -> str:
    """Return the text of a file by its path in the package. Importing `importlib.resources` would take longer."""
    with open(f"{_ROOT}/{name}", encoding="utf-8") as file:  # noqa: PTH123 - pathlib, too
        return file.read()


def shipped_table(name: str) -> Any:
    """Return the content of a YAML file of the package."""
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    return yaml.load(shipped_text(name), Loader=loader)  # noqa: S506 - a safe loader, in C where there is one
