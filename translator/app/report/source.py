"""The job file and the script of a job, with their links: the job file is compiled again to know them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...errors import PaislurmError, diagnostic_text
from ...report.links import head_of, linked
from ...state.tidying.kept_script import HEAD
from .owned import read_owned
from .run_facts import JOB_FILE, MAX_BYTES, parameters_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ...report.model import LinkedSource
    from ...site.profile import Site
    from ...state.history import History
    from ...state.job_folder import JobFolder
    from ..session import Session


def linked_source(
    session: Session, folder: JobFolder, known: History, site: str | None, parameters: Mapping[str, str]
) -> LinkedSource:
    """Return the job file as submitted and the head of its newest script, with the links that can be known now."""
    text = read_owned(folder, folder.path / JOB_FILE, MAX_BYTES)
    scripts = (_script(folder, attempt) for attempt in range(known.attempt, -1, -1))
    script = head_of(next(filter(None, scripts), b"").decode(errors="replace"))
    job = text.decode(errors="replace").removeprefix("\ufeff").splitlines()
    if not text or not script:
        return linked(job, script, note="the job file or the script cannot be read")
    own = parameters_of(folder)
    changed = {name: value for name, value in parameters.items() if own.get(name) != value}
    try:
        return _linked(text, job, script, _site(session, known, site), changed)
    except PaislurmError as error:
        why = diagnostic_text(error.diagnostics[0]).splitlines()[0]
        return linked(job, script, note=f"the job file cannot be compiled here, so there are no links: {why}")


def _script(folder: JobFolder, attempt: int) -> bytes:
    """Return the script of an attempt, of one that was tidied its head; nothing where there is none of the owner's."""
    script = folder.script(attempt)
    return read_owned(folder, script, MAX_BYTES) or read_owned(folder, script.with_name(HEAD), MAX_BYTES)


def _linked(text: bytes, job: list[str], script: list[str], site: Site, parameters: dict[str, str]) -> LinkedSource:
    from ...pipeline import compile_job
    from ...planning.plan_text import plan_text
    from ...rendering.provenance import origins

    compiled = compile_job(text, file=JOB_FILE, site=site, parameters=parameters)
    found = origins(compiled.plan, compiled.document)
    rows = ((origin.line, origin.job_lines, origin.rule) for origin in found)
    return linked(job, script, head_of(compiled.script), rows, plan=plan_text(compiled.plan))


def _site(session: Session, known: History, site: str | None) -> Site:
    """Return the site that a job was submitted for, as far as that can be known."""
    from ...site.profile import local_site
    from ..input.sites import find_site

    kind, _, host = known.backend.partition(":")
    if kind == "local" and site is None:
        return local_site()
    return find_site(session, site, host=host or None)
