"""Names that words of the command line can become and that no job has: those of the site profile, codes of exits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from click import Command
from click.types import StringParamType

from .candidates import items, session_of

if TYPE_CHECKING:
    from click import Context, Parameter
    from click.shell_completion import CompletionItem

    from ...app.session import Session
    from ...exit_codes.table import ExitCode
    from ...site.profile import Site


class OfSite(StringParamType):
    """Partitions, accounts or QOS, as the site profile in force has them; Slurm is not asked."""

    def __init__(self, kind: Literal["partition", "account", "qos"]) -> None:
        self.name = kind

    def shell_complete(self, ctx: Context, param: Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG002
        """Return the names of the profile; there are none where no profile is, or none is known."""
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


class Exit(StringParamType):
    """Codes of exits, their names, and Slurm's words for states."""

    name = "exit"

    def shell_complete(self, ctx: Context, param: Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG002
        """Return those that begin with what is typed, in small letters if it is."""
        from paislurm.backends.slurm.states import STATES

        codes = _codes(session_of(ctx), ctx)
        words = [*STATES, *(row.phrase for row in codes.values()), *map(str, codes)]
        return items(words, incomplete) or items(map(str.lower, words), incomplete)


class ExitCommand(Command):
    """A command whose first word can be a negative number."""

    def shell_complete(self, ctx: Context, incomplete: str) -> list[CompletionItem]:
        """Return options, and codes behind a `-` with a number."""
        found = super().shell_complete(ctx, incomplete)
        return (
            [*found, *items(map(str, _codes(session_of(ctx), ctx)), incomplete)]
            if incomplete.startswith("-")
            else found
        )


def _codes(session: Session, ctx: Context) -> dict[int, ExitCode]:
    """Return the codes that have rows of their own, with those of the site if its profile can be read."""
    from ...app.input.sites import find_site
    from ...errors import PaislurmError
    from ...exit_codes.table import ExitTable

    try:
        rows = find_site(session, ctx.params.get("site")).exit_rows
    except PaislurmError:
        rows = ()
    return dict(ExitTable(rows).codes)
