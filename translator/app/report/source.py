"""Link the job file of a job to its script by compiling the job file again."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING

from paislurm.backends.base import LOCAL

from ...errors import PaislurmError, diagnostic_text
from ...report.links import head_of, linked
from ...report.model import RunFacts
from ...state.tidying.kept_script import HEAD
from ..results.result import result_of
from ..results.tail import open_log

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from ...report.model import LinkedSource
    from ...site.profile import Site
    from ...state.history import History
    from ...state.job_folder import JobFolder
    from ..session import Session


def read_owned(folder: JobFolder, path: Path, limit: int) -> bytes:
    """Return a file of a job; b"" if it is missing, larger than `limit`, or owned by another user."""
    try:
        with os.fdopen(open_log(path, folder.path.stat().st_uid), "rb") as file:
            data = file.read(limit + 1)
    except OSError:
        return b""
    return data if len(data) <= limit else b""


MAX_BYTES = 4 << 20
JOB_FILE = "job.yaml"


def run_facts(folder: JobFolder, known: History) -> RunFacts:
    """Return the run facts from a job's journal; without a run record, parameters come from the job file."""
    created = None
    with suppress(OSError):
        created = folder.created()
    run, sweep = (created.run, created.sweep) if created else (None, {})
    return RunFacts(
        parameters=run.parameters if run else {**parameters_of(folder), **sweep},
        group=created.group if created else "",
        sweep=sweep,
        result=result_of(folder, known.attempt, known.roles, run),
    )


def parameters_of(folder: JobFolder) -> Mapping[str, str]:
    """Return the parameters of the submitted job file; {} if it cannot be read."""
    from ...errors import ProtocolError
    from ...reading.read import read

    text = read_owned(folder, folder.path / JOB_FILE, MAX_BYTES)
    try:
        return texts(read(text, file=JOB_FILE).at(("parameters",))) if text else {}
    except ProtocolError:
        return {}


def texts(value: object) -> Mapping[str, str]:
    """Return a mapping with its values as text; {} for another type."""
    return {str(key): _text(each) for key, each in value.items()} if isinstance(value, dict) else {}


def _text(value: object) -> str:
    import json

    return value if isinstance(value, str) else json.dumps(value, default=str, ensure_ascii=False)


def linked_source(
    session: Session, folder: JobFolder, known: History, site: str | None, parameters: Mapping[str, str]
) -> LinkedSource:
    """Return the submitted job file and the head of its newest script, with links if the job file compiles."""
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
    """Return the script of an attempt, or its head after tidying; b"" if the owner has neither."""
    script = folder.script(attempt)
    return read_owned(folder, script, MAX_BYTES) or read_owned(folder, script.with_name(HEAD), MAX_BYTES)


def _linked(text: bytes, job: list[str], script: list[str], site: Site, parameters: dict[str, str]) -> LinkedSource:
    from ...pipeline import compile_job
    from ...planning.plan_text import plan_text
    from ...rendering.provenance import origins

    compiled = compile_job(text, file=JOB_FILE, site=site, parameters=parameters)
    lines = origins(compiled.plan, compiled.document)
    rows = ((origin.line, origin.job_lines, origin.rule or "") for origin in lines)
    return linked(job, script, head_of(compiled.script), rows, plan=plan_text(compiled.plan))


def _site(session: Session, known: History, site: str | None) -> Site:
    """Return the site of `--site`, or the most likely site of the submit."""
    from ...site.profile import local_site
    from ..input.sites import find_site

    kind, _, host = known.backend.partition(":")
    if kind == LOCAL and site is None:
        return local_site()
    return find_site(session, site, host=host or None)
