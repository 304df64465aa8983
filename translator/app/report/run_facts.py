"""The first record of a journal as it is written: the parameters of a job, its group, and what that varies."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from ...report.model import RunFacts
from ..jobs.logs.result import result_of
from .owned import read_owned

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ...state.history import History
    from ...state.job_folder import JobFolder

MAX_BYTES = 4 << 20
JOB_FILE = "job.yaml"


def run_facts(folder: JobFolder, known: History) -> RunFacts:
    """Return what the journal of a job says of its run; the parameters are the job file's where it names none."""
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
    """Return the parameters of the job file as it was submitted; none where it cannot be read."""
    from ...errors import ProtocolError
    from ...reading.read import read

    text = read_owned(folder, folder.path / JOB_FILE, MAX_BYTES)
    try:
        return texts(read(text, file=JOB_FILE).at(("parameters",))) if text else {}
    except ProtocolError:
        return {}


def texts(value: object) -> Mapping[str, str]:
    """Return a mapping with its values as people write them; an empty one for what is none."""
    return {str(key): _text(each) for key, each in value.items()} if isinstance(value, dict) else {}


def _text(value: object) -> str:
    import json

    return value if isinstance(value, str) else json.dumps(value, default=str, ensure_ascii=False)
