"""What a job saves: keep it apart from that of real runs, and judge from it whether a second attempt continued."""

from __future__ import annotations

import re
from fnmatch import fnmatch
from itertools import chain, pairwise
from typing import TYPE_CHECKING, Literal

from msgspec import Struct
from msgspec.structs import replace

from ...errors import Diagnostic, UsageError
from .provoking import Fault

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from ...slurm_options import SlurmOptions

Verdict = Literal["continued", "went back", "began again", "skipped work", "not retried", "not tried", "unknown"]


class Resuming(Struct, frozen=True, kw_only=True):
    """Whether the second attempt continued, and the evidence for it, as a sentence."""

    verdict: Verdict
    """`continued`, `went back` behind its last checkpoints, `began again`, `skipped work`, `not retried`, `not tried`
    or `unknown`."""
    shown_by: str
    """What shows it."""


def progress(pattern: re.Pattern[str], lines: Iterable[str]) -> list[float]:
    """Return the numbers of the progress in the lines of a log."""
    found = []
    for line in lines:
        match = pattern.search(line)
        try:
            found += [float(match[1])] if match else []
        except (TypeError, ValueError):
            continue
    return found


def judge_log(
    pattern: re.Pattern[str], first: Sequence[str], second: Sequence[str], saved: Sequence[float] = ()
) -> Resuming | None:
    """Judge by the log; None if the second attempt has not printed enough yet.

    With a group, the pattern finds the progress: the second attempt has to start after the beginning, and not beyond
    what the first one reached, plus a step that was saved but not printed. `saved` is the progress printed when each
    checkpoint appeared: the second has to start after the last but one. Without a group, the pattern finds a line that
    only a continuing attempt prints.
    """
    if not pattern.groups:
        if any(map(pattern.search, first)):
            return Resuming(verdict="unknown", shown_by="the first attempt prints the line of `resumes.log`, too")
        line = next(filter(pattern.search, second), None)
        return Resuming(verdict="continued", shown_by=f"it printed: {line}") if line is not None else None
    before, after = progress(pattern, first), progress(pattern, second)
    if not after:
        return None
    begin, reached, start = before[0], max(before), after[0]
    step = max((later - earlier for earlier, later in pairwise(before)), default=0)
    said = f"the first attempt went from {begin:g} to {reached:g}, the second one began at {start:g}"
    if start <= begin:
        return Resuming(verdict="began again", shown_by=said)
    if saved[-2:-1] and start < saved[-2]:
        return Resuming(verdict="went back", shown_by=f"{said}; the last checkpoint but one was saved at {saved[-2]:g}")
    return Resuming(verdict="continued" if start <= reached + 2 * step else "skipped work", shown_by=said)


_WORST: tuple[Verdict, ...] = ("began again", "went back", "skipped work", "unknown", "continued")


def judge_tasks(
    pattern: re.Pattern[str],
    first: Mapping[str, Sequence[str]],
    second: Mapping[str, Sequence[str]],
    saved: Sequence[float] = (),
    *,
    ended: bool = False,
) -> Resuming | None:
    """Judge each task by its log, and return the worst; None while one may still print. Lines are by task.

    With a group in the pattern, each task counts that printed progress in both attempts, and if the second one has
    not `ended`, each of the first one. Without a group, the tasks count together.
    """
    if not pattern.groups:
        return judge_log(pattern, [*chain(*first.values())], [*chain(*second.values())])
    printed = {task: lines for task, lines in first.items() if progress(pattern, lines)}
    found = {task: judge_log(pattern, lines, second.get(task, ()), saved) for task, lines in printed.items()}
    known = [(task, each) for task, each in found.items() if each is not None]
    worst = min(known, key=lambda pair: _WORST.index(pair[1].verdict), default=None)
    if worst is None or (len(known) < len(found) and not ended and worst[1].verdict == "continued"):
        return None
    task, resuming = worst
    return resuming if len(found) == 1 else replace(resuming, shown_by=f"{task}: {resuming.shown_by}")


def text_order_shows(names: Sequence[str]) -> bool:
    """Return whether these checkpoints, the oldest first, tell whether names are sorted as text: `step-9`, `step-10`.

    Three of them have to sort before an older one, so that a continuing attempt differs. Steps of equal size get there
    with their twelfth name. Names without numbers, and with leading zeros, never differ.
    """
    numbers = [re.findall(r"[0-9]+", name) for name in names]
    if len(names) >= 12 or len(set(names)) < len(names) or not all(numbers):
        return True
    if any(part[0] == "0" and len(part) > 1 for part in chain(*numbers)):
        return True
    return sum(name < max(names[:place], default="") for place, name in enumerate(names)) >= 3


def judge_files(first: Mapping[str, int], second: Mapping[str, int]) -> Resuming | None:
    """Judge by the checkpoints at the fault and now, with their times in nanoseconds; None if there is no new one.

    A continuing attempt writes new files; one that began again writes those of the beginning anew. A job that always
    writes the same file shows nothing.
    """
    changed = sorted(name for name, time in second.items() if first.get(name) != time)
    if not changed:
        return None
    newest = max(first, key=lambda name: first[name])
    again = [name for name in changed if name in first and name != newest]
    if again:
        return Resuming(verdict="began again", shown_by=f"it wrote {again[0]} anew, which is older than {newest}")
    if set(changed) == {newest}:
        return Resuming(verdict="unknown", shown_by=f"both attempts write {newest}: name a line by `resumes.log`")
    new = next(name for name in changed if name != newest)
    return Resuming(verdict="continued", shown_by=f"after {newest} it wrote {new}")


class Rehearsal(Struct, frozen=True, kw_only=True):
    """What one fault did to a job."""

    fault: Fault
    """`term`, `kill`, `node` or `stall`."""
    first_end: str | None
    """How the first attempt ended; None if nothing could be broken."""
    retry_rule: str | None
    """Why there was a second attempt; None without one."""
    resuming: Resuming
    """Whether the second attempt continued."""
    remark: str | None
    """How the fault differs from the real one; None if it does not, or was not tried."""


class Rehearsals(Struct, frozen=True, kw_only=True):
    """The rehearsals of a job."""

    rehearsals: tuple[Rehearsal, ...]
    """One for each fault."""

    @property
    def all_continued(self) -> bool:
        """Whether there was a second attempt, and each one continued."""
        verdicts = {each.resuming.verdict for each in self.rehearsals}
        return "continued" in verdicts and verdicts <= {"continued", "not retried", "not tried"}


def check_resumes(options: SlurmOptions) -> None:
    """Refuse a job that does not say how it resumes, or whose checkpoints are those of real runs."""
    if options.checkpoints.startswith("/"):
        message = f"the checkpoints {options.checkpoints} may be those of real runs: a rehearsal would overwrite them"
        hint = "name them by `./` and a path below the submit folder: each rehearsal has a folder of its own"
        raise UsageError([Diagnostic(code="E547", message=message, path="$.extras.slurm.resumes.file", hint=hint)])
    if not options.checkpoints and not re.compile(options.progress_pattern).groups:
        message = "the job does not say how it continues after a failure"
        hint = 'add `extras: {slurm: {resumes: {file: "./run/*.pt", log: "step ([0-9]+)"}}}`'
        raise UsageError([Diagnostic(code="E547", message=message, path="$.extras.slurm.resumes", hint=hint)])


def link_entries(current: Path, here: Path, checkpoints: str) -> None:
    """Link the entries of the submit folder, except those in which the checkpoints are."""
    first = checkpoints.removeprefix("./").partition("/")[0]
    for entry in current.iterdir():
        if not (first and fnmatch(entry.name, first)):
            (here / entry.name).symlink_to(entry)
