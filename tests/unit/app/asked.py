"""Call use cases as commands do, each of a session of its own: what they return, or what they raise, and all events."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

from paislurm.translator.app.json_documents import plain
from paislurm.translator.app.session import Event, Session
from paislurm.translator.app.submit.submission import Submitted
from paislurm.translator.app.submit.sweep import Sweep
from paislurm.translator.app.use_cases.compiler_uses import PlannedJob
from paislurm.translator.app.use_cases.run import JobRun
from paislurm.translator.app.use_cases.script_uses import ScriptFile
from paislurm.translator.errors import PaislurmError, diagnostic_text
from paislurm.translator.view.jobs import JobView
from tests.clock import clock


@dataclass(frozen=True)
class Answer:
    """Hold what a use case returned, the exit code of its error, and the text of its events, warnings and errors."""

    value: Any
    code: int
    err: str

    def ends(self, code: int, *words: str) -> None:
        """Hold that the exit code is this one, and that the events and errors have these words."""
        assert (self.code, [word for word in words if word not in self.err]) == (code, []), self.err

    @property
    def one(self) -> Any:
        """The only job or line that was returned."""
        [value] = self.value
        return value

    @property
    def submitted(self) -> Submitted:
        """The submission of a job."""
        assert isinstance(self.value, JobRun), self.err
        assert self.value.submitted is not None
        return self.value.submitted

    @property
    def document(self) -> Any:
        """The result as it is in JSON."""
        if isinstance(self.value, JobRun):
            return plain(self.submitted)
        if isinstance(self.value, Sweep):
            return plain(self.value.printed(dry_run=False))
        return [plain(each) for each in self.value] if isinstance(self.value, list | tuple) else plain(self.value)

    @property
    def out(self) -> str:
        """The result in words: a submission, a script, what became of each job, or the facts of the only one."""
        match self.value:
            case None:
                return ""
            case JobRun():
                return f"{self.submitted.text}\n"
            case ScriptFile() | PlannedJob():
                return str(self.value.text)
            case [JobView() as view]:
                return "".join(f"{name:<16} {text}\n" for name, text in view.facts(clock()) if text)
            case lines:
                return "".join(f"{line.message}\n" for line in lines)


class _Thing:
    def __init__(self, thing: str) -> None:
        self._thing = thing

    def __getattr__(self, name: str) -> partial[Answer]:
        return partial(_answer, self._thing, name)


class Asked:
    """The use cases of sessions: `asked.jobs.submit(file)` is what a command that submits would call."""

    def call(self, name: str, *arguments: Any, **options: Any) -> Answer:
        """Call a use case by its name: `jobs.submit`."""
        return _answer(*name.split("."), *arguments, **options)

    compiler, jobs, logs, sweeps, sites, tasks = map(_Thing, ("compiler", "jobs", "logs", "sweeps", "sites", "tasks"))


def _answer(thing: str, name: str, *arguments: Any, **options: Any) -> Answer:
    events: list[Event] = []
    session = Session(say=events.append)
    try:
        value, code = getattr(getattr(session, thing), name)(*arguments, **options), 0
        events += getattr(value, "diagnostics", ())
    except PaislurmError as error:
        value, code = None, error.exit_code
        events += error.diagnostics
    text = "\n".join(each if isinstance(each, str) else diagnostic_text(each) for each in events)
    return Answer(value, code, f"{text}\n" if text else "")
