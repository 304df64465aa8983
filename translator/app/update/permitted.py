"""Whether the site lets a job have what it is to be changed to: its job file is compiled as a submit would do it."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import TYPE_CHECKING

from msgspec.structs import replace

from ...errors import PaislurmError, PlanError
from ...state.changes import changed_options
from ...state.records import Created
from ..input.job_input import compile_source
from ..input.sites import read_at_most
from ..input.source import SLURM_OPTIONS
from ..input.typed_options import hint_with_options, typed_options
from ..runs.again import source_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ...errors import Diagnostic
    from ...monitor.poll import View
    from ..input.source import Source
    from ..session import Session


_STAND_IN = """protocolVersion: 2
type: job
name: stand-in
prerequisites: [{{type: dockerimage, name: image, uri: none}}]
taskRoles: {{task: {{dockerImage: image, resourcePerInstance: {{cpu: 1, memoryMB: 1, gpu: 0}}, commands: ["true"]}}}}
defaults: {{virtualCluster: {}}}
"""
"""A job of which only the virtual cluster counts: with it, locks and names are checked where a job file cannot be."""


def check_permitted(session: Session, view: View, values: Mapping[str, str]) -> None:
    """Raise PlanError where the site locks what is to be changed, or has no room for it.

    What was wrong before, as by a profile of today, does not keep a job from being changed: then, and where its job
    file is gone, the locks and names of the site are checked with what the journal knows, and Slurm checks the rest.
    """
    wanted = {name: value for name, value in values.items() if name in SLURM_OPTIONS}
    if not wanted:
        return
    known = view.history
    # Of a journal whose beginning is damaged, its end has these.
    created = view.folder.created() or Created(
        happened_at=0, job=known.job, user=known.user, backend=known.backend, roles=()
    )
    before = {name: value for name, value in changed_options(known.changes).items() if name in SLURM_OPTIONS}
    base = source_of(session, created)
    source = replace(base, typed=typed_options((), tuple(wanted.items()), ""))
    why = "its job file is not known any more"
    if created.run is not None:
        with suppress(OSError):
            text = read_at_most(view.folder.path / "job.yaml")
            refused = _check(session, replace(source, file=created.run.job_file.file, text=text), before, wanted)
            if not refused:
                return
            why = refused[0].message
    stand_in = _STAND_IN.format(json.dumps(created.virtual_cluster or "default")).encode()
    _check(session, replace(source, text=stand_in, parameters=(), suffix=""), before, wanted)
    session.say(
        f"warning: {view.folder.name} could not be submitted today: {why}; Slurm alone checks whether the change fits"
    )


def _check(
    session: Session, source: Source, before: Mapping[str, str], wanted: Mapping[str, str]
) -> Sequence[Diagnostic]:
    """Return what keeps a job from being submitted with or without a change; PlanError for what the change brings."""
    now = {**dict(source.slurm), **before}
    refused = _refusals(session, source, {**now, **wanted})
    if not refused:
        return ()
    known = _refusals(session, source, now)
    new = [diagnostic for diagnostic in refused if diagnostic not in known]
    if new:
        raise PlanError(_of_update(each, wanted) for each in new)
    return refused


def _of_update(diagnostic: Diagnostic, wanted: Mapping[str, str]) -> Diagnostic:
    """Return a diagnostic that is about the job file, which stays, as one about the options that were typed."""
    if diagnostic.location is None and not diagnostic.path:
        return diagnostic
    given = " ".join(f"--{name} {value}" for name, value in wanted.items())
    hint = hint_with_options(diagnostic.hint)
    if hint == diagnostic.hint:
        hint = "the job file stays as it was submitted: give other options, or submit a changed one"
    return replace(diagnostic, message=f"{given}: {diagnostic.message}", location=None, path="", hint=hint)


def _refusals(session: Session, source: Source, slurm: Mapping[str, str]) -> Sequence[Diagnostic]:
    try:
        compile_source(session, replace(source, slurm=tuple(slurm.items())), quiet=True)
    except PaislurmError as error:
        return error.diagnostics
    return ()
