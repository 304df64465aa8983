"""Run scripts with Slurm, and ask pyslurm in the place of Slurm's programs for what it can answer."""

from __future__ import annotations

import os
import re
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from paislurm.translator.errors import BackendError

from ..base import JobId
from ..hostlist import expand
from ..slurm.backend import SlurmBackend, one_component
from ..slurm.commands import is_federated
from ..slurm.observation import observed
from ..slurm.output import Row, is_out_of_order, text
from ..slurm.states import normalize
from .process import PYTHON, UnusableError, unusable

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from ..base import Observation
    from ..runner import CommandRunner
    from .process import Process

T = TypeVar("T")

UNSUPPORTED = "PAISLURM_PYSLURM_UNSUPPORTED"
"""Set to 1, a pyslurm is asked that was made for another Slurm, at the risk of who sets it."""


class Installed(Struct, frozen=True):
    """Hold which pyslurm there is, and the configuration that it finds; "" for none."""

    pyslurm: str
    configuration: str


class Component(Struct, frozen=True, kw_only=True):
    """Hold what the queue or the accounts have of a component of a job; `by` is the number of who cancelled it."""

    leader: int
    offset: int | None
    state: str
    nodes: str | None
    submitted: int | None
    started: int | None
    ended: int | None
    reason: str | None = None
    status: int | None = None
    signal: int | None = None
    by: int | None = None

    def row(self) -> Row:
        """Return it as a row of Slurm's programs, of which who cancelled a job stands in the raw state."""
        return Row(
            leader=JobId(str(self.leader)),
            offset=self.offset,
            state=normalize(self.state),
            raw_state=self.state if self.by is None else f"{self.state} by {self.by}",
            status=self.status,
            signal=self.signal,
            reason=text(self.reason or ""),
            nodes=text(self.nodes or ""),
            submitted=self.submitted,
            started=self.started,
            ended=self.ended,
        )


class Node(Struct, frozen=True):
    """Hold how a node is: its state with all that is true of it (`MIXED+NOT_RESPONDING`), and the reason given."""

    name: str
    state: str
    reason: str | None


class PyslurmBackend(SlurmBackend):
    """Observe and cancel by pyslurm; submit, find and change by Slurm's programs.

    Where pyslurm cannot be used, `say` reports that once, and the programs answer: a job that was submitted with it
    stays readable. They are asked, too, for the exit codes of which pyslurm loses 128.
    """

    name = "pyslurm"

    def __init__(
        self,
        runner: CommandRunner,
        process: Process,
        components: Callable[[JobId], int] = one_component,
        say: Callable[[str], None] = lambda _: None,
    ) -> None:
        super().__init__(runner, components)
        self._process = process
        self._say = say
        self._is_checked = False
        self._is_gone = False

    def check(self) -> None:
        """Raise UnusableError unless pyslurm is installed, is for this Slurm, and finds a configuration."""
        if self._is_checked:
            return
        found = self._process.call("begin", Installed)
        if not found.configuration:
            named = os.environ.get("SLURM_CONF")
            where = f"$SLURM_CONF is {named}, which is not there" if named else "there is no slurm.conf"
            hint = "set SLURM_CONF to the slurm.conf of the cluster, or run this on a login node"
            raise unusable(where, hint)
        version = self.version().strip()
        slurm = _release(version)
        if not found.pyslurm:
            message = f"it is not installed for {self._process.python}"
            hint = f"install {_wanted(slurm)}, or set {PYTHON}: docs/administrator/pyslurm.md has how"
            raise unusable(message, hint)
        if _release(found.pyslurm) != slurm and os.environ.get(UNSUPPORTED) != "1":
            message = f"it is {found.pyslurm}, and {version} needs one of its own version"
            raise unusable(message, f"install {_wanted(slurm)}: docs/administrator/pyslurm.md has how")
        self._is_checked = True

    def observe(self, ids: Collection[JobId]) -> Mapping[JobId, Observation]:
        """Return what is known of jobs; of other clusters of a federation only the programs know."""
        if not ids:
            return {}
        programs = partial(super().observe, ids)
        if any(is_federated(job_id) for job_id in ids):
            return programs()
        ask = partial(observed, ids, self._asked_queue, self._asked_accounts, self._components, self.unaccounted)
        return self._either(ask, programs)

    def unavailable_nodes(self, nodes: str) -> Mapping[str, str]:
        """Return those of a host list that are down, drained or failing now, or do not respond, and Slurm's reason."""
        return self._either(partial(self._asked_nodes, nodes), partial(super().unavailable_nodes, nodes))

    def cancel(self, *job_ids: JobId) -> None:
        """Cancel jobs with all their components, of another cluster by the programs; one that has ended is no error."""
        far = [job_id for job_id in job_ids if is_federated(job_id)]
        if far:
            super().cancel(*far)
        for job_id in job_ids:
            if job_id not in far:
                ask = partial(self._ask, "cancel", type(None), job_id=int(job_id))
                self._either(ask, partial(super().cancel, job_id))

    def close(self) -> None:
        """Leave nothing open."""
        self._process.close()

    def _either(self, ask: Callable[[], T], instead: Callable[[], T]) -> T:
        """Return what pyslurm says, or where it cannot be asked, the programs."""
        if not self._is_gone:
            try:
                return ask()
            except UnusableError as error:
                self._is_gone = True
                self.close()
                self._say(f"{error.diagnostics[0].message}; Slurm's programs are asked instead")
        return instead()

    def _ask(self, name: str, kind: type[T], **arguments: object) -> T:
        """Return the answer to a call; one of another Slurm is never asked."""
        self.check()
        return self._process.call(name, kind, **arguments)

    def _asked_queue(self, ids: Sequence[JobId]) -> list[Row]:
        """Return what the controller knows of jobs."""
        return [each.row() for each in self._ask("queue", list[Component], ids=[int(job_id) for job_id in ids])]

    def _asked_accounts(self, ids: Sequence[JobId], must: bool) -> list[Row] | None:
        """Return the accounts of jobs. Where they do not answer, sacct tells whether the site keeps any."""
        try:
            found = self._ask("accounts", list[Component], ids=[int(job_id) for job_id in ids])
        except UnusableError:
            raise
        except BackendError:
            return self.accounts(ids, must)
        return [self._right(each.row()) for each in found]

    def _right(self, row: Row) -> Row:
        """Return a row with the exit status that the controller has; none where that does not know it any more."""
        if row.offset or not _is_doubtful(row):
            return row
        status, signal = self.exit_of(row.leader)
        return replace(row, status=status, signal=signal)

    def _asked_nodes(self, nodes: str) -> dict[str, str]:
        try:
            names = expand(nodes)
        except ValueError:
            return {}
        found = sorted(self._ask("nodes", list[Node], names=names), key=lambda node: node.name)
        return {node.name: node.reason or "" for node in found if is_out_of_order(node.state.split("+"))}


def _is_doubtful(row: Row) -> bool:
    """Tell whether the exit status of a row may lack 128: by pyslurm a script that ended with 137 did so with 9.

    It is 0 for 128. Of what Slurm ends itself, or did not fail, the status is 0, and right.
    """
    return row.status is not None and not row.signal and (row.state == "FAILED" or row.status != 0)


def _release(text: str) -> tuple[int, int] | None:
    """Return the first two numbers of a version, by which pyslurm and Slurm belong together."""
    found = re.search(r"(\d+)\.(\d+)", text)
    return (int(found[1]), int(found[2])) if found else None


def _wanted(release: tuple[int, int] | None) -> str:
    return f"'pyslurm=={release[0]}.{release[1]}.*'" if release else "the pyslurm of Slurm's version"
