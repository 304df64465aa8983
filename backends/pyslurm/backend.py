"""Run scripts with Slurm, and query pyslurm instead of Slurm's programs where it suffices."""

from __future__ import annotations

import re
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from msgspec import DecodeError, Struct, json
from msgspec.structs import replace

from paislurm.translator.errors import BackendError, Diagnostic, UnreachableError

from ..base import JobId
from ..hostlist import expand
from ..runner import Completed, credentials, environment_of_process
from ..slurm.backend import SlurmBackend, one_component
from ..slurm.commands import is_federated
from ..slurm.job_states import normalize, observed
from ..slurm.output import Row, text
from ..slurm.refusals import failure

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from ..base import Observation, RunFolders
    from ..runner import CommandRunner, Environment

T = TypeVar("T")

UNSUPPORTED = "PAISLURM_PYSLURM_UNSUPPORTED"
"""If set to 1, accept a pyslurm made for another version of Slurm, at the user's risk."""
PYTHON = "PAISLURM_PYSLURM_PYTHON"
"""The variable with the path of a Python that has pyslurm, if this one has not."""
CHILD = Path(__file__).with_name("child.py")
CALL_SECONDS = 60.0
"""If the controller is down, libslurm reports it after 10 s; with a missing `$SLURM_CONF`, after a minute."""
SLURM_ERROR = 3
"""The exit status of `child.py` for an error of Slurm."""
MAX_MESSAGE_CHARACTERS = 300


class UnusableError(UnreachableError):
    """Report that pyslurm cannot be used here at all. Slurm's programs can."""


class Installed(Struct, frozen=True):
    """Hold the installed version of pyslurm, and the configuration that it finds; "" for none."""

    pyslurm: str
    configuration: str


class PyslurmBackend(SlurmBackend):
    """Observe by pyslurm; submit, find, cancel and change by Slurm's programs.

    If pyslurm is unusable, `say` reports this once and Slurm's programs take over: jobs submitted with pyslurm stay
    readable. The programs also supply exit codes from which pyslurm loses 128. `helper` runs `child.py`, which imports
    pyslurm, once for each query.
    """

    name = "pyslurm"

    def __init__(
        self,
        runner: CommandRunner,
        helper: CommandRunner,
        components: Callable[[JobId], int] = one_component,
        say: Callable[[str], None] = lambda _: None,
        environment: Environment = environment_of_process,
        run_folders: RunFolders = lambda _, __: (),
    ) -> None:
        super().__init__(runner, components, environment, run_folders)
        self._helper = helper
        self._say = say
        self._is_checked = False
        self._is_unusable = False

    def check(self) -> None:
        """Raise UnusableError unless pyslurm is installed, matches this Slurm, and finds a configuration."""
        if self._is_checked:
            return
        found = self._call("begin", Installed)
        if not found.configuration:
            named = self._environment().get("SLURM_CONF")
            problem = f"$SLURM_CONF is {named}, which does not exist" if named else "no slurm.conf was found"
            raise _unusable(problem, "set SLURM_CONF to the slurm.conf of the cluster, or run this on a login node")
        version = self.version().strip()
        slurm = _release(version)
        wanted = f"'pyslurm=={slurm[0]}.{slurm[1]}.*'" if slurm else "the pyslurm of Slurm's version"
        if not found.pyslurm:
            hint = f"install {wanted}, or set {PYTHON}: see docs/how-to/cluster/pyslurm.md"
            raise _unusable(f"it is not installed for {self._python()}", hint)
        if _release(found.pyslurm) != slurm and self._environment().get(UNSUPPORTED) != "1":
            message = f"its version {found.pyslurm} does not match {version}"
            raise _unusable(message, f"install {wanted}: see docs/how-to/cluster/pyslurm.md")
        self._is_checked = True

    def _python(self) -> str:
        """Return the Python that must have pyslurm."""
        return self._environment().get(PYTHON) or sys.executable

    def observe(self, ids: Collection[JobId]) -> Mapping[JobId, Observation]:
        """Return the observations of jobs; only the programs know jobs of other clusters in a federation."""
        programs = partial(super().observe, ids)
        if not ids or any(is_federated(job_id) for job_id in ids):
            return programs()
        ask = partial(observed, ids, self._queue_rows, self._account_rows, self._components, self.unaccounted)
        return self._with_fallback(ask, programs)

    def unavailable_nodes(self, nodes: str) -> Mapping[str, str]:
        """Return the nodes that are down, drained, failing or not responding, each with Slurm's reason."""
        try:
            names = expand(nodes)
        except ValueError:
            return {}
        ask = partial(self._ask, "nodes", dict[str, str], names=names)
        return self._with_fallback(ask, partial(super().unavailable_nodes, nodes))

    def _with_fallback(self, ask: Callable[[], T], instead: Callable[[], T]) -> T:
        """Return the answer of pyslurm, or of the programs if pyslurm is unusable."""
        if not self._is_unusable:
            try:
                return ask()
            except UnusableError as error:
                self._is_unusable = True
                self._say(f"{error.diagnostics[0].message}; using Slurm's programs instead")
        return instead()

    def _ask(self, name: str, kind: type[T], **arguments: object) -> T:
        """Return the answer to a query, after a check that pyslurm matches this Slurm."""
        self.check()
        return self._call(name, kind, **arguments)

    def _call(self, name: str, kind: type[T], **arguments: object) -> T:
        """Return the answer of `child.py`. Raises UnusableError, and for an error of Slurm that of its programs."""
        argv = (self._python(), str(CHILD), name)
        try:
            token = credentials(("pyslurm",), self._environment())
            done = self._helper.run(argv, stdin=json.encode(arguments).decode(), env=token, timeout=CALL_SECONDS)
        except UnreachableError as error:
            if error.diagnostics[0].code != "E501":
                raise
            raise _unusable(f"{argv[0]} cannot be started", f"set {PYTHON} to a Python that has pyslurm") from None
        if done.status == SLURM_ERROR:
            raise failure(("pyslurm", name), Completed(status=1, stdout="", stderr=done.stdout))
        if done.status:
            last = (done.stderr.strip() or "without a message").splitlines()[-1].strip()[:MAX_MESSAGE_CHARACTERS]
            raise _unusable(f"its process ended: {last}" + (f" (by signal {-done.status})" if done.status < 0 else ""))
        try:
            return json.decode(done.stdout, type=kind)
        except (DecodeError, RecursionError):
            raise _unusable(f"its process printed invalid output: {done.stdout[:MAX_MESSAGE_CHARACTERS]!r}") from None

    def _rows(self, name: str, ids: Sequence[JobId]) -> list[Row]:
        found = self._ask(name, list[Row], ids=[int(job_id) for job_id in ids])
        return [
            replace(row, state=normalize(row.state), reason=text(row.reason), nodes=text(row.nodes)) for row in found
        ]

    def _queue_rows(self, ids: Sequence[JobId]) -> list[Row]:
        return self._rows("queue", ids)

    def _account_rows(self, ids: Sequence[JobId], must: bool) -> list[Row] | None:
        """Return the accounting rows of jobs. If the accounts do not answer, sacct tells whether the site keeps any."""
        try:
            return [self._with_true_exit(row) for row in self._rows("accounts", ids)]
        except UnusableError:
            raise
        except BackendError:
            return self.accounts(ids, must)

    def _with_true_exit(self, row: Row) -> Row:
        """Return a row with the controller's exit status, None if the controller has forgotten the job.

        pyslurm reports 137 as 9, and 128 as 0. If Slurm itself ended the job, or the job did not fail, 0 is correct.
        """
        if row.offset or row.status is None or row.signal or (row.state != "FAILED" and row.status == 0):
            return row
        status, signal = self.exit_of(row.leader)
        return replace(row, status=status, signal=signal)


def _release(version: str) -> tuple[int, int] | None:
    """Return the first two numbers of a version, which must match between pyslurm and Slurm."""
    found = re.search(r"(\d+)\.(\d+)", version)
    return (int(found[1]), int(found[2])) if found else None


def _unusable(message: str, hint: str = "use `--backend slurm`, which calls Slurm's programs") -> UnusableError:
    return UnusableError(Diagnostic(code="E509", message=f"pyslurm cannot be used: {message}", hint=hint))
