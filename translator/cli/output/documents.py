"""The documents of `--json` by command. This imports every use case; only `paislurm schema` and the docs need it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from paislurm import JobPlacement, Plan, Verified

from ...app.exit_meaning import ExitMeaning
from ...app.jobs.cancelling import CancelledJob, CancelledJobs
from ...app.jobs.logs.targets import LogFiles
from ...app.jobs.removing import Removal
from ...app.jobs.updating import UpdatedJob, UpdatedJobs
from ...app.json_documents import DIALECT, CommandError, json_schema
from ...app.monitor_run import SlurmCalls, Worked
from ...app.rehearsal.resuming import Rehearsals
from ...app.reports.gather import WrittenReport
from ...app.sites.checked import CheckedJobs, CheckedProfile
from ...app.sites.detecting import DetectedSite, SiteInForce
from ...app.submit.forecast import LayoutStarts, StartEstimate
from ...app.submit.recorded import Differences
from ...app.submit.submission import EndedSubmission, SubmittedJob
from ...app.submit.sweep import EndedSweep, SubmittedSweep
from ...app.tasks.attaching import TaskCall
from ...app.tasks.port_forwarding import PortForward
from ...app.use_cases.compiler_uses import CheckedFiles, CheckedJob, Converted
from ...app.use_cases.script_uses import Runtime, ScriptFile
from ...app.use_cases.site_uses import NodeList
from ...app.what_if.rule_text import ScenarioAnswer
from ...view.jobs import Jobs, JobView
from ...view.line import JobLine, Listing
from ..shell.shells import ShellCompletion
from .explained import ExplainedScript

if TYPE_CHECKING:
    from collections.abc import Sequence

    from msgspec import Struct

ERROR, SCHEMA = "error", "schema"
COMMANDS: dict[str, tuple[type[Struct], ...]] = {
    "check": (CheckedJob, CheckedFiles),
    "plan": (Plan, JobPlacement, LayoutStarts),
    "script": (ScriptFile,),
    "explain": (ExplainedScript, ScenarioAnswer, ExitMeaning),
    "convert": (Converted,),
    "diff": (Differences,),
    "verify": (Verified, Runtime),
    "submit": (SubmittedJob, EndedSubmission, StartEstimate, SubmittedSweep, EndedSweep),
    "wait": (JobView, Jobs),
    "exec": (TaskCall,),
    "port-forward": (PortForward,),
    "update": (UpdatedJob, UpdatedJobs),
    "cancel": (CancelledJob, CancelledJobs),
    "remove": (Removal,),
    "monitor": (Worked, SlurmCalls),
    "list": (Listing,),
    "status": (JobView, Jobs),
    "logs": (LogFiles,),
    "watch": (JobLine,),
    "rehearse": (Rehearsals,),
    "nodes": (NodeList,),
    "nodes add": (NodeList,),
    "nodes remove": (NodeList,),
    "report": (WrittenReport,),
    "site detect": (DetectedSite,),
    "site show": (SiteInForce,),
    "site check": (CheckedJobs, CheckedProfile),
    "completion": (ShellCompletion,),
    SCHEMA: (),
    ERROR: (CommandError,),
}
"""The documents by command; on an error, each command prints a CommandError instead."""


def output_schema(commands: Sequence[str] = ()) -> dict[str, Any]:
    """Return the schema of the documents of these commands; default: all."""
    names = [*(commands or COMMANDS), ERROR]
    documents = dict.fromkeys(document for name in names for document in COMMANDS[name])
    title = f"paislurm {commands[0]} --json" if len(commands) == 1 else "paislurm --json"
    found = json_schema(list(documents), title)
    if SCHEMA in names:
        found["anyOf"].append(
            {"type": "object", "required": ["$schema"], "properties": {"$schema": {"const": DIALECT}}}
        )
    return found
