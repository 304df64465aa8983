"""What `submit --test-only` prints: when the job would start, and the GPUs of its partitions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from paislurm.backends.registry import SSH, is_elsewhere

from ...app.estimate.ask import ask_gpus, ask_start
from ...app.estimate.start import Start
from ...app.input.sites import find_site
from ...app.submit.after import text_of
from ...app.submit.prepare import prepare
from ...app.submit.refusal_location import located
from ...app.submit.submit import described
from ...errors import Diagnostic, NotFoundError, RejectedError
from .console import log, print_json, print_result
from .estimate_words import GPU_COLUMNS, gpu_rows, gpus_text, start_text
from .tables import print_table

if TYPE_CHECKING:
    from ...app.estimate.gpus import Pool
    from ...app.input.source import Source
    from ...app.session import Session
    from ...app.submit.submit import Submitted
    from ...pipeline import Compiled
    from ...state.records import Dependency

LOCAL = "local"


def show_start(session: Session, source: Source, after: tuple[Dependency, ...] = (), *, as_json: bool) -> int:
    """Print when a job would start, whatever has its name or its folder's room now. BackendError as a submit has it."""
    (prepared,) = prepare(session, [source], keep=False, after=after)
    submitted = described(session, prepared, None)
    compiled, components = submitted.compiled, len(submitted.compiled.plan.components)
    partitions = _partitions(compiled)
    start, found = _asked(session, submitted, source, partitions)
    now = session.now()
    if as_json:
        print_json(_document(submitted, start, found, components, now))
        return 0
    if submitted.backend == LOCAL:
        print_result(f"{submitted.job} would start at once on this machine: the backend local has no queue")
    else:
        named = partitions or tuple(each.partition for each in found)
        print_result(start_text(submitted.job, start, named, components=components, now=now))
        for pool in found:
            if pool.total:
                print_result(gpus_text(pool))
    if submitted.after:
        log(f"it waits first: it is submitted after {text_of(submitted.after)}")
    return 0


def show_gpus(session: Session, partitions: tuple[str, ...], host: str | None, *, as_json: bool) -> int:
    """Print the GPUs of partitions, all of them without a name. BackendError if Slurm does not answer.

    It is asked at the login node `host`, or at that of the site profile.
    """
    site = find_site(session, None)
    runner = session.slurm_runner(f"{SSH}{host or site.host}" if host or site.host else "slurm")
    found = ask_gpus(runner, partitions, site.cluster, site.gpus.gres)
    missing = [name for name in partitions if name not in [pool.partition for pool in found]]
    if missing:
        message = f"Slurm shows no partition '{missing[0]}', or no node of it"
        raise NotFoundError(Diagnostic(code="E630", message=message, hint="`paislurm site gpus` shows all of them"))
    if as_json:
        print_json({"partitions": [pool.as_dict() for pool in found]})
        return 0
    rows = [row for pool in found for row in gpu_rows(pool)]
    if rows:
        print_table(GPU_COLUMNS, rows)
    else:
        log("Slurm shows no GPUs")
    return 0


def _asked(
    session: Session, submitted: Submitted, source: Source, partitions: tuple[str, ...]
) -> tuple[Start, tuple[Pool, ...]]:
    if submitted.backend == LOCAL:
        return Start(at=session.now(), resources_free=True), ()
    compiled = submitted.compiled
    runner = session.slurm_runner(submitted.backend if is_elsewhere(submitted.backend) else "slurm")
    try:
        return ask_start(
            session,
            runner,
            compiled.script,
            partitions,
            compiled.plan.slurm.cluster,
            compiled.site.gpus.gres,
            _options(compiled),
        )
    except RejectedError as error:
        raise located(session, error, compiled, replace(source, backend=submitted.backend)) from None


def _partitions(compiled: Compiled) -> tuple[str, ...]:
    """Return the partitions of each component, each once, `a,b` for one that may go to either.

    There are none if one goes to Slurm's default partition, which nobody has named.
    """
    default = compiled.site.default_partition or ""
    named = [dict(component.directives).get("partition") or default for component in compiled.plan.components]
    return tuple(dict.fromkeys(named)) if all(named) else ()


def _options(compiled: Compiled) -> list[tuple[tuple[str, str | None], ...]]:
    """Return the sbatch options of each component, with the partition that the profile has for those without."""
    default = compiled.site.default_partition
    first = (("partition", default),) if default else ()
    return [(*first, *component.directives) for component in compiled.plan.components]


def _document(
    submitted: Submitted, start: Start, found: tuple[Pool, ...], components: int, now: int
) -> dict[str, object]:
    """Return the record for `--json`."""
    whole = submitted.as_dict()
    seconds = start.seconds_from(now)
    return {
        **{key: whole[key] for key in ("job", "user", "name", "backend", "task_count", "dependencies", "diagnostics")},
        "expected_start_at": start.at,
        "expected_wait": seconds,
        "at_once": seconds == 0,
        "resources_free": start.resources_free,
        "reason": start.reason,
        "expected_nodes": start.nodes or None,
        "expected_partition": start.partition or None,
        "preempted_jobs": list(start.preempts),
        "component_count": components,
        "partitions": [pool.as_dict() for pool in found],
    }
