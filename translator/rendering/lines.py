"""Lines of the head of a script, settings and srun commands, each with its origin."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from .shell import ShellWord, array, comment, number, option, our_own, quote

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from ..planning.job_plan import Plan, RolePlan
    from ..planning.settings.setting import Setting

WIDTH = 100
"""Maximum width of generated lines of the script."""
_COLUMN = 40
"""Column of the comments behind settings."""


class Line(NamedTuple):
    """Say what a line of a script is made of; one `text` may be several lines, of a value that has line breaks.

    `fields` are parts of the job file by their names in `provenance.yaml`, of the roles at these positions where they
    are a role's. `entry` names a row of that file that has the fields, and a rule, instead: its table and its key.
    `job_lines` are lines of the job file whose own text it is.
    """

    text: ShellWord
    fields: tuple[str, ...] = ()
    rule: str = ""
    entry: tuple[str, str] | None = None
    roles: tuple[int, ...] = ()
    job_lines: tuple[int, ...] = ()


def setting_lines(settings: Iterable[Setting], *, role: int | None = None) -> list[Line]:
    """Return assignments, each with its meaning behind it, or above it if the line would be too long."""
    return [line for setting in settings for line in _setting(setting, role)]


def _setting(setting: Setting, role: int | None) -> list[Line]:
    place = "" if role is None else f"[{role}]"
    text = f"PSL_{setting.name}{place}={_value(setting.value)}"
    meaning = comment(setting.meaning)
    roles = () if role is None else (role,)

    def line(words: str) -> Line:
        return Line(text=our_own([words]), fields=setting.fields, rule=setting.rule, roles=roles)

    beside = f"{text:<{_COLUMN}} # {meaning}"
    if len(beside) <= WIDTH and "\n" not in text:
        return [line(beside)]
    return [Line(text=our_own([f"# {meaning[0].upper()}{meaning[1:]}."])), line(text)]


def _value(value: str | int | tuple[str, ...]) -> ShellWord:
    if isinstance(value, tuple):
        return array(value)
    if isinstance(value, int):
        return number(value)
    return quote(value)


_EVERY_STEP = tuple(
    our_own([word])
    for word in (
        "--export=ALL",
        "--kill-on-bad-exit=0",
        "--wait=0",
        "--distribution=arbitrary",
        '--chdir="$PSL_ATTEMPT_FOLDER"',
    )
)
"""A failed task does not end the others, and the host file places each task. Source: srun(1)."""


def started_by(role: RolePlan) -> int:
    """Return the position of the role whose srun starts this one: the first of its MPI world, or itself."""
    return role.mpi_world.roles[0] if role.mpi_world else role.position


def srun(role: RolePlan, plan: Plan) -> list[ShellWord]:
    """Return the lines of the srun that starts a role and those of its MPI world, as bash reads them."""
    together = [plan.roles[position] for position in role.mpi_world.roles] if role.mpi_world else [role]
    if plan.layout.kind == "het" and role.mpi_world:
        parts = [list(_words(each, [each], together, plan)) for each in together]
        words = parts[0] + [word for part in parts[1:] for word in (our_own([":"]), *part)]
        return _wrapped(our_own(["exec srun"]), words)
    start = our_own([f'SLURM_HOSTFILE="$PSL_SCRATCH/hosts.{role.position}" exec srun'])
    return _wrapped(start, list(_words(role, together, together, plan)))


def _words(
    role: RolePlan, counted: Sequence[RolePlan], together: Sequence[RolePlan], plan: Plan
) -> Iterator[ShellWord]:
    """Yield the words for one role's part of the allocation, those that differ between roles first."""
    if plan.layout.kind == "het":
        yield option("het-group", str(role.position))
    yield option("job-name", "-".join(each.name for each in together))
    yield option("ntasks", str(sum(each.slots * max(each.ranks, 1) for each in counted)))
    for name, value in role.step_options:
        yield option(name, value)
    yield option("mpi", role.mpi_world.plugin if role.mpi_world else "none")
    if plan.layout.kind == "het" and role.mpi_world:
        yield our_own([f'--nodelist="$PSL_SCRATCH/hosts.{role.position}"'])
    if plan.layout.kind == "het" and len(together) > 1:
        yield our_own(["--input=none"])
    yield from _EVERY_STEP
    yield our_own([f'bash -p "$PSL_SCRIPT" --task "$PSL_FOLDER" "$PSL_ATTEMPT" {started_by(role)}'])


def _wrapped(start: ShellWord, words: Sequence[ShellWord]) -> list[ShellWord]:
    """Return lines of a command in a function, wrapped at `WIDTH`."""
    lines, line = [], f"  {start}"
    for word in words:
        if len(line) + 1 + len(word) + 2 > WIDTH:
            lines.append(f"{line} \\")
            line = f"    {word}"
        else:
            line += f" {word}"
    return [our_own([each]) for each in (*lines, line)]
