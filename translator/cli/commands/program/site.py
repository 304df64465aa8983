"""`paislurm site`: the site profile, as Slurm has it and as it is in force."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ...options import examples, json_option, pass_session
from ...output.console import log, log_diagnostics, print_file, print_json, print_result
from ...shell.known_names import OfSite

if TYPE_CHECKING:
    from ....app.session import Session
    from ....app.site.profile_file import Written


@click.group(
    name="site",
    epilog=examples(
        "paislurm site detect",
        "paislurm site detect --output ~/.config/paislurm/site.yaml",
        "paislurm site show --json",
        "paislurm site check jobs/*.yaml",
        "paislurm site gpus",
    ),
)
def command() -> None:
    """Write a site profile by what Slurm says, show the one in force, check jobs against it; show free GPUs."""


@command.command(
    epilog=examples(
        "paislurm site detect",
        "paislurm site detect --probe --partition gpu",
        "paislurm site detect --host login1 --output ~/.config/paislurm/site.yaml",
        "paislurm site detect --output ~/.config/paislurm/site.yaml",
        "paislurm site detect --output ~/.config/paislurm/site.yaml --force",
    )
)
@click.option("-o", "--output", metavar="FILE", help="Write the profile there instead of to standard output.")
@click.option("--force", is_flag=True, help="Write over a FILE that says something else, and keep it as FILE.old.")
@click.option("--host", metavar="HOST", help="Ask at this login node, by SSH, instead of on this machine.")
@click.option("--probe", is_flag=True, help="Look at one node, too, by a job of a second or so.")
@click.option(
    "--partition",
    default="",
    metavar="NAME",
    type=OfSite("partition"),
    help="With --probe: of which partition the node is.",
)
@click.option(
    "--account", default="", metavar="NAME", type=OfSite("account"), help="With --probe: the account of the job."
)
@click.option("--sysfs", default="/sys/class", metavar="DIR", help="With --probe: where nodes have infiniband and net.")
@json_option
@pass_session
def detect(
    session: Session,
    output: str | None,
    *,
    force: bool,
    host: str | None,
    probe: bool,
    partition: str,
    account: str,
    sysfs: str,
    as_json: bool,
) -> int:
    """Write a site profile by what Slurm says. It has comments, and a list of what could not be learnt.

    It asks Slurm seven questions: scontrol four, sacctmgr two and srun one. No job is submitted, and no node is
    looked at, but with --probe: then a job of one task tells of a node's InfiniBand, networks, container runtimes,
    ports, limits and shared folders.

    A FILE that has other values for these keys stays as it is, because you may have changed it: what differs is
    printed, and the exit code is 1. Your comments and other keys are no difference.
    """
    from pathlib import Path

    from ....app.site.ask import ProbeOptions, detect_at, detect_from_here
    from ....app.site.profile_file import Written, write_profile
    from ....site.detection.profile_text import profile_text

    if probe and host is not None:
        raise click.UsageError("--probe looks at files that this machine and a node share: call it at the login node")
    look = ProbeOptions(partition=partition, account=account, sysfs=sysfs) if probe else None
    found = detect_from_here(session, look) if host is None else detect_at(session, host)
    text = profile_text(found)
    done = write_profile(Path(output), text, force=force) if output else Written(written=False)
    if as_json:
        print_json(
            {
                "file": output,
                "text": text,
                "written": done.written,
                "difference": done.difference,
                "kept_as": done.kept_as or None,
                "not_learnt": [{"setting": gap.key, "reason": gap.reason, "ask": gap.command} for gap in found.gaps],
            }
        )
    else:
        print_file(text if output is None else done.difference)
    if output is not None:
        log(_became(output, done))
    return 1 if done.difference and not done.written else 0


@command.command(epilog=examples("paislurm site show", "paislurm site show --json"))
@click.option(
    "--site",
    metavar="FILE",
    help="The site profile. Default: $PAISLURM_SITE, ~/.config/paislurm/site.yaml, /etc/paislurm/site.yaml.",
)
@json_option
@pass_session
def show(session: Session, site: str | None, *, as_json: bool) -> int:
    """Show the site profile in force. Each setting has the place that it comes from.

    That is a line of a profile, whose origin is user, system, detected, named or extended, or the default of paislurm;
    `locked` stands behind what a user's profile and jobs cannot change. A key without a default that the profile
    leaves out is not shown: `paislurm schema site` has all of them.
    """
    from ....app.input.sites import found_by, origin_of, profile_layers, site_path
    from ....site.layers import layered
    from ....site.load import load_layers
    from ....site.settings import settings
    from ...output.tables import print_table

    path, layers = site_path(session, site), profile_layers(session, site)
    if layers:
        load_layers(layers)
    found = settings(layered(layers)[0] if layers else None)
    origins = {layer.file: origin_of(session, site, layer.file) for layer in layers} | {"": "default"}
    if as_json:
        rows = [
            {
                "setting": each.key,
                "value": each.value,
                "origin": origins[each.file],
                "file": each.file or None,
                "line": each.line or None,
                "locked": each.locked,
            }
            for each in found
        ]
        print_json({"file": str(path) if path else None, "found_by": found_by(session, site) or None, "in_force": rows})
        return 0
    extended = [layer.file for layer in reversed(profile_layers(session, site, alone=True)[:-1])]
    held = [layer.file for layer in reversed(layers[:-1]) if layer.file not in extended]
    adds = f"; it adds to {', then '.join(extended)}" if extended else ""
    adds += f"; what {' and '.join(held)} locks holds" if held else ""
    log(f"the profile is {path}, {found_by(session, site)}{adds}" if path else "there is no profile: all is default")
    print_table(
        ("SETTING", "VALUE", "ORIGIN", "FROM"),
        [
            (
                each.key,
                each.value,
                f"{origins[each.file]}{', locked' if each.locked else ''}",
                f"{each.file}:{each.line}" if each.line else "",
            )
            for each in found
        ],
    )
    return 0


@command.command(
    epilog=examples("paislurm site check", "paislurm site check jobs/*.yaml", "paislurm site check job.yaml --json")
)
@click.argument("jobs", metavar="[JOB]...", nargs=-1)
@click.option(
    "--site",
    metavar="FILE",
    help="The site profile. Default: $PAISLURM_SITE, ~/.config/paislurm/site.yaml, /etc/paislurm/site.yaml.",
)
@json_option
@pass_session
def check(session: Session, jobs: tuple[str, ...], site: str | None, *, as_json: bool) -> int:
    """Say of job files what they would have here, or why they can never start.

    Each JOB is a job file, or - for standard input. Nothing is submitted: the profile tells, and without one Slurm is
    asked for it. The exit code is 3 if a job file is wrong, else 4 if the site cannot run one.

    Without a JOB the profile itself is checked: its keys and locks, who can write to it, whether its programs are here,
    and where Slurm answers, whether the cluster still has what it names.
    """
    from ....app.input.sites import profile_layers, site_path
    from ....app.site.check import CANNOT_RUN, check_job, check_profile, site_to_check, status_of
    from ....errors import Severity

    path = site_path(session, site)
    if jobs or path is None:
        known = site_to_check(session, site)
        checked = [check_job(session, file, known) for file in jobs]
        for each in checked:
            log_diagnostics(each.diagnostics)
            if not as_json:
                print_result(f"{each.file}: {each.verdict}")
        status = status_of(checked)
        if as_json:
            print_json({"file": str(path) if path else None, "checked": [each.as_dict() for each in checked]})
        elif not jobs:
            print_result("there is no profile; Slurm answers, and `paislurm site detect` writes one")
        return status
    diagnostics, reachable = check_profile(session, profile_layers(session, site, alone=True))
    log_diagnostics(diagnostics)
    gone = [each for each in diagnostics if each.severity is Severity.ERROR]
    if as_json:
        print_json(
            {"file": str(path), "backend_reachable": reachable, "diagnostics": [each.as_dict() for each in diagnostics]}
        )
    else:
        print_result(f"{path}: {_stands(len(gone), reachable=reachable)}")
    return CANNOT_RUN if gone else 0


@command.command(
    epilog=examples("paislurm site gpus", "paislurm site gpus --partition gpu", "paislurm site gpus --json")
)
@click.option(
    "--partition",
    "partitions",
    multiple=True,
    metavar="NAME",
    type=OfSite("partition"),
    help="Of this partition; can be repeated.",
)
@click.option("--host", metavar="HOST", help="Ask at this login node, by SSH. Default: the site profile's, or here.")
@json_option
@pass_session
def gpus(session: Session, partitions: tuple[str, ...], *, host: str | None, as_json: bool) -> int:
    """Show the GPUs of each partition by type: how many there are, how many are free, how many jobs wait for some.

    Slurm is asked twice, by sinfo and squeue. Nodes that are out of order or reserved have no free GPUs; a node that
    is in several partitions counts in each. `submit --test-only` shows the same of the partitions of one job.
    """
    from ...output.estimate import show_gpus

    return show_gpus(session, partitions, host, as_json=as_json)


def _stands(gone: int, *, reachable: bool) -> str:
    """Say how a profile stands to its cluster."""
    if gone:
        return f"{gone} thing{'s' * (gone != 1)} in it the cluster does not have"
    return "is valid, and the cluster has all of it" if reachable else "is valid"


def _became(output: str, done: Written) -> str:
    """Say what became of the file."""
    if done.written:
        return f"wrote {output}" + (f"; what was there is in {done.kept_as}" if done.kept_as else "")
    if done.difference:
        return f"{output} stays as it is: Slurm says something else. Take over what you like, or all with --force"
    return f"{output} says what Slurm says"
