"""`paislurm explain-exit`: the meaning and the consequences of an exit code or a Slurm state."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ...options import examples, json_option, pass_session
from ...output.console import print_json, print_result
from ...shell.known_names import Exit, ExitCommand

if TYPE_CHECKING:
    from ....app.exit_meaning import Explanation
    from ....app.session import Session


@click.command(
    cls=ExitCommand,
    context_settings={"ignore_unknown_options": True},
    epilog=examples(
        "paislurm explain-exit 137",
        "paislurm explain-exit -1001",
        "paislurm explain-exit NODE_FAIL --json",
    ),
)
@click.argument("what", metavar="CODE|STATE", type=Exit())
@click.option("--site", metavar="FILE", help="The site profile, which can change the meaning of codes and states.")
@json_option
@pass_session
def command(session: Session, what: str, site: str | None, *, as_json: bool) -> int:
    """Explain an exit code or a Slurm state, and whether a job that ends with it is retried.

    CODE is OpenPAI's exit code of a job or task, the name of that code, or the exit status of a command. STATE is the
    long or short name of a Slurm state.
    """
    from ....app.exit_meaning import explain_exit

    explanation = explain_exit(session, what, site)
    if as_json:
        print_json(explanation.record)
    else:
        print_result(_as_text(explanation))
    return 0


def _as_text(explanation: Explanation) -> str:
    from ....exit_codes.advice import retry_rule
    from ....exit_codes.table import conditions
    from ....terminal_text import pairs_text

    row, said = explanation.row, explanation.advice
    if row is None or said is None:
        return f"{explanation.state}  {explanation.meaning}"
    listed = row if explanation.is_listed else None
    rows = [
        ("state", f"{explanation.state}: {explanation.meaning}" if explanation.state else ""),
        ("code", str(row.code)),
        ("phrase", row.phrase),
        ("exit status", explanation.as_status),
        ("usually", said.meaning),
        ("look at", said.look),
        ("try", said.remedy),
        ("behaviour", f"{row.behaviour}: {retry_rule(row)}" if row.code else retry_rule(row)),
        ("node", "left out of the next attempts" if row.exclude_node else ""),
        ("type", listed.type if listed else ""),
        ("reported by", listed.reported_by if listed else ""),
        ("caused by", listed.caused_by if listed else ""),
        ("when", listed.stage if listed else ""),
        ("states", ", ".join(row.states)),
        *(("found by", condition) for condition in conditions(row.code)),
    ]
    return pairs_text(rows)
