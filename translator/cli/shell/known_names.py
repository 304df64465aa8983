"""Completion of names that do not come from jobs: those of the site profile, and exit codes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from click import Command, Path
from click.types import StringParamType

from .candidates import files, items, session_of

if TYPE_CHECKING:
    from click import Context, Parameter
    from click.shell_completion import CompletionItem

    from ...app.session import Session
    from ...exit_codes.table import ExitCode
    from ...site.profile import Site


class OfSite(StringParamType):
    """Partitions, accounts or QOS of the active site profile; Slurm is not called."""

    def __init__(self, kind: Literal["partition", "account", "qos"]) -> None:
        self.name = kind

    def shell_complete(self, ctx: Context, param: Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG002
        """Return the names of the profile; none without a profile."""
        from ...app.input.sites import find_site

        site = find_site(session_of(ctx), ctx.params.get("site"), host=ctx.params.get("host"))
        return items(dict.fromkeys(self._names(site)), incomplete)

    def _names(self, site: Site) -> list[str]:
        named = {
            "partition": [*site.partitions],
            "account": [*(site.accounts or ())],
            "qos": [*(site.qos or ())],
        }
        mapped = (getattr(each, self.name) for each in site.virtual_clusters.values())
        return [*named[self.name], *filter(None, mapped)]


class CodeOrFile(Path):
    """A file, an exit code, its name, or a state of Slurm."""

    def shell_complete(self, ctx: Context, param: Parameter, incomplete: str) -> list[CompletionItem]:
        """Return matching codes and files; if no code matches, let the shell complete files."""
        from paislurm.backends.slurm.states import STATES

        codes = _codes(session_of(ctx), ctx)
        words = [*STATES, *(row.phrase for row in codes.values()), *map(str, codes)]
        found = items(words, incomplete) if incomplete else []
        return found + items(files(incomplete), incomplete) if found else super().shell_complete(ctx, param, incomplete)


class CodeCommand(Command):
    """A command whose argument can be a negative number."""

    def parse_args(self, ctx: Context, args: list[str]) -> list[str]:
        """Take negative numbers as arguments, not as options."""
        numbers = [word for word in args if word[:1] == "-" and word[1:].isdecimal()]
        if numbers and "--" not in args:
            args = [*(word for word in args if word not in numbers), "--", *numbers]
        return super().parse_args(ctx, args)

    def shell_complete(self, ctx: Context, incomplete: str) -> list[CompletionItem]:
        """Return options, and for `-` with a digit also codes."""
        found = super().shell_complete(ctx, incomplete)
        return (
            [*found, *items(map(str, _codes(session_of(ctx), ctx)), incomplete)]
            if incomplete.startswith("-")
            else found
        )


def _codes(session: Session, ctx: Context) -> dict[int, ExitCode]:
    """Return the listed exit codes, including those of the site if its profile can be read."""
    from ...app.input.sites import find_site
    from ...errors import PaislurmError
    from ...exit_codes.table import ExitTable

    try:
        rows = find_site(session, ctx.params.get("site")).exit_rows
    except PaislurmError:
        rows = ()
    return dict(ExitTable(rows).codes)
