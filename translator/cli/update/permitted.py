"""Whether the site lets a job have what it is to be changed to: its job file is compiled as a submit would do it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ...errors import PaislurmError, PlanError
from ...state.changes import changed_options
from ..input.job_input import SLURM_OPTIONS, compile_source
from ..input.sites import read_at_most
from ..input.typed_options import hint_with_options, typed_options
from ..output.console import log
from ..runs.again import source_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ...errors import Diagnostic
    from ...monitor.poll import View
    from ..input.job_input import Source


def check_permitted(view: View, values: Mapping[str, str]) -> None:
    """Raise PlanError where the site locks what is to be changed, or has no room for it.

    What was wrong before, as by a profile of today, does not keep a job from being changed. A job of which it is not
    known any more what it was submitted with is left to Slurm's own checks.
    """
    wanted = {name: value for name, value in values.items() if name in SLURM_OPTIONS}
    created = view.folder.created() if wanted else None
    if created is None or created.run is None:
        return
    try:
        text = read_at_most(view.folder.path / "job.yaml")
    except OSError:
        return
    typed = typed_options((), tuple(wanted.items()), "")
    source = replace(source_of(created, created.run), file=created.run.job_file.file, text=text, typed=typed)
    earlier = {name: value for name, value in changed_options(view.history.changes).items() if name in SLURM_OPTIONS}
    now = {**dict(source.slurm), **earlier}
    refused = _refusals(source, {**now, **wanted})
    if not refused:
        return
    before = _refusals(source, now)
    new = [diagnostic for diagnostic in refused if diagnostic not in before]
    if new:
        raise PlanError(_of_update(each, wanted) for each in new)
    log(
        f"warning: {view.folder.name} could not be submitted today: {refused[0].message}; Slurm alone checks the change"
    )


def _of_update(diagnostic: Diagnostic, wanted: Mapping[str, str]) -> Diagnostic:
    """Return a diagnostic that is about the job file, which stays, as one about the options that were typed."""
    if diagnostic.location is None and not diagnostic.path:
        return diagnostic
    given = " ".join(f"--{name} {value}" for name, value in wanted.items())
    hint = hint_with_options(diagnostic.hint)
    if hint == diagnostic.hint:
        hint = "the job file stays as it was submitted: give other options, or submit a changed one"
    return replace(diagnostic, message=f"{given}: {diagnostic.message}", location=None, path="", hint=hint)


def _refusals(source: Source, slurm: Mapping[str, str]) -> Sequence[Diagnostic]:
    try:
        compile_source(replace(source, slurm=tuple(slurm.items())), quiet=True)
    except PaislurmError as error:
        return error.diagnostics
    return ()
