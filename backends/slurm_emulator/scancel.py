"""Stand in for scancel: signal the steps or the batch script of a local job, or end the job."""

from __future__ import annotations

import argparse
import os
import signal
import sys
from pathlib import Path

from paislurm.translator.files.private import touch

from . import processes, records


def main(words: list[str]) -> int:
    """Signal each job or step. Return 1 if one of them does not exist."""
    arguments = _parse(words)
    found = [_signal(arguments, target) for target in arguments.targets]
    return 0 if all(found) else 1


def _parse(words: list[str]) -> argparse.Namespace:
    """Parse the command line. Source: scancel(1), --signal --batch --full."""
    parser = argparse.ArgumentParser(prog="scancel", allow_abbrev=False)
    parser.add_argument("-s", "--signal", type=_signal_number)
    parser.add_argument("-b", "--batch", action="store_true")
    parser.add_argument("-f", "--full", action="store_true")
    parser.add_argument("-Q", "--quiet", action="store_true")
    parser.add_argument("targets", nargs="+", metavar="JOB[.STEP]")
    return parser.parse_args(words)


def _signal_number(text: str) -> int:
    if text.isdigit():
        return int(text)
    name = text.upper().removeprefix("SIG")
    try:
        return signal.Signals[f"SIG{name}"].value
    except KeyError:
        raise argparse.ArgumentTypeError(f"unknown signal {text}") from None


def _signal(arguments: argparse.Namespace, target: str) -> bool:
    job_id, _, step = target.partition(".")
    job = Path(os.environ[processes.JOB_MARK]).with_name(job_id)
    state = records.read_json(job / "state.json")
    if state is None:
        return _complain(arguments, target, "Invalid job id specified")
    if "ended" in state or (step and step not in records.running_steps(job)):
        return _complain(arguments, target, "Job/step already completing or completed")
    if step:
        _signal_step(job, step, arguments.signal or signal.SIGKILL)
    elif arguments.signal is None:
        end_job(job, int(str(state["supervisor"])), int(str(state["supervisor_started"])))
    else:
        _signal_job(job, state, arguments)
    return True


def _complain(arguments: argparse.Namespace, target: str, why: str) -> bool:
    if not arguments.quiet:
        print(f"scancel: error: Kill job error on job id {target}: {why}", file=sys.stderr)
    return False


def _signal_step(job: Path, step: str, number: int) -> None:
    """Signal every process of a step, as a step's container on a node does."""
    sessions = records.sessions_of(job, step)
    processes.send(number, processes.members(processes.ProcessFilter(job, step), sessions))


def _signal_job(job: Path, state: dict[str, object], arguments: argparse.Namespace) -> None:
    """Signal all steps; with --batch only the batch script's shell, with --full its other processes too."""
    if arguments.batch:
        batch = processes.process(int(str(state["batch"])))
        processes.send(arguments.signal, [batch] if batch else [])
        return
    for step in records.running_steps(job):
        _signal_step(job, step, arguments.signal)
    if arguments.full:
        processes.send(arguments.signal, processes.members(processes.ProcessFilter(job, "")))


def end_job(job: Path, pid: int, started: int) -> None:
    """Request the end of a job from its supervisor; if the supervisor is gone, kill the job's processes."""
    touch(job / "cancelled")
    supervisor = processes.process(pid)
    if supervisor is not None and supervisor.started == started:
        processes.send(signal.SIGTERM, [supervisor])
    else:
        processes.kill_all(processes.ProcessFilter(job), records.sessions_of(job))
