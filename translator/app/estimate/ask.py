"""Query the expected start of a job and the GPUs of its partitions from Slurm, in three calls without a submission."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from paislurm.backends.slurm import estimate_commands
from paislurm.backends.slurm.backend import QUERY_SECONDS, SUBMIT_SECONDS
from paislurm.backends.slurm.commands import TIMES
from paislurm.backends.slurm.refusals import failure, is_unanswered, slurm_messages

from ...errors import BackendError, RejectedError
from ...plural import counted
from ...site.detection.nodes import GPU
from .fits import fits_now
from .gpus import UP, pools
from .start import WAITS, WAITS_FOR_NODES, Start, as_of_submit, start_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from paislurm.backends.runner import CommandRunner, Completed

    from ..session import Session
    from .gpus import Pool


class GpuQuery(NamedTuple):
    """The cluster whose GPUs are counted, "" for the default one, and the name of their GRES."""

    cluster: str = ""
    gres_name: str = GPU


ANY_GPUS = GpuQuery()


def ask_start(
    session: Session,
    runner: CommandRunner,
    script: str,
    partitions: Sequence[str],
    gpus: GpuQuery = ANY_GPUS,
    components: Sequence[Sequence[tuple[str, str | None]]] = (),
) -> tuple[Start, tuple[Pool, ...]]:
    """Return when a script would start, and the GPUs of its partitions (default: Slurm's default partition).

    `partitions` are those of each component, with commas between alternatives; `components` are the sbatch options
    of each. Raises RejectedError if Slurm would reject it or never start it, and UnreachableError without an answer.
    """
    argv = estimate_commands.sbatch_test_only()
    each = tuple(dict.fromkeys(name for names in partitions for name in names.split(",")))
    done = runner.run(argv, stdin=script, env=TIMES, timeout=SUBMIT_SECONDS)
    if done.status:
        done = replace(done, stderr=as_of_submit(done.stderr))
        error = failure(argv, done)
        if not isinstance(error, RejectedError) or not (
            WAITS_FOR_NODES.search(done.stderr) or WAITS.search(done.stderr)
        ):
            raise error
        found = _pools(session, runner, each, gpus)
        return _waits(done, found, error), found
    start = start_of(done)
    found = _pools(session, runner, each or tuple(filter(None, [start.partition])), gpus)
    start = replace(start, resources_free=fits_now(components, found))
    return _as_partitions_are(start, partitions, found), found


def ask_gpus(
    runner: CommandRunner, partitions: Sequence[str] = (), cluster: str = "", gres_name: str = GPU
) -> tuple[Pool, ...]:
    """Return the GPUs of these partitions, or of all visible ones. Raises BackendError if Slurm does not answer.

    Waiting jobs are queried only if GPUs exist.
    """
    nodes = _answer(runner, estimate_commands.sinfo_gpus(partitions, cluster))
    found = pools(nodes, gres_name=gres_name)
    with_gpus = [each.name for each in found if each.gpus.gpu_count]
    if not with_gpus:
        return found
    waiting = _answer(runner, estimate_commands.squeue_waiting(with_gpus if partitions else (), cluster))
    return pools(nodes, waiting, gres_name)


def _pools(session: Session, runner: CommandRunner, partitions: Sequence[str], gpus: GpuQuery) -> tuple[Pool, ...]:
    """Return the GPUs of a job's partitions; none, with an event, if Slurm does not answer."""
    try:
        found = ask_gpus(runner, partitions, gpus.cluster, gpus.gres_name)
    except BackendError as error:
        session.say(f"cannot query the free GPUs from Slurm: {error.diagnostics[0].message}")
        return ()
    return found if partitions else tuple(each for each in found if each.is_default)


def _answer(runner: CommandRunner, argv: Sequence[str]) -> str:
    done = runner.run(argv, timeout=QUERY_SECONDS)
    if is_unanswered(done):
        raise failure(argv, done)
    return done.stdout


def _waits(done: Completed, found: Sequence[Pool], error: BackendError) -> Start:
    """Return a start without a time if nodes are unavailable; else raise the rejection."""
    words = slurm_messages(done)
    away = [(each.name, each.gpus.unavailable_node_count, each.gpus.partition_node_count) for each in found]
    away = [each for each in away if each[1]]
    if away:
        nodes = " and ".join(f"{count} of {counted(total, 'node')} of partition {name}" for name, count, total in away)
        is_one = len(away) == 1 and away[0][1] == 1
        words += f"; {nodes} {'is' if is_one else 'are'} unavailable or reserved, and a job may wait for them"
    elif WAITS_FOR_NODES.search(done.stderr):
        raise error
    return Start(reason=words.removeprefix("Batch job submission failed: "))


def _as_partitions_are(start: Start, partitions: Sequence[str], found: Sequence[Pool]) -> Start:
    """Return the start, or the reason if a component's partitions start no jobs now; sbatch does not check this."""
    states = {each.name: each.gpus.partition_state for each in found}
    meant = [start.partition] if start.partition else partitions or list(states)
    closed = [names for names in meant if all(states.get(name, UP) != UP for name in names.split(","))]
    if start.at is None or not closed:
        return start
    words = (
        f"partition {name} is {states[name]}: it starts no jobs now" for names in closed for name in names.split(",")
    )
    return Start(reason="; ".join(dict.fromkeys(words)))
