"""`paislurm runtime`: the part of scripts that is the same in every job."""

from __future__ import annotations

import click

from paislurm import __version__

from ...options import examples, json_option
from ...output.console import print_file, print_json


@click.command(
    epilog=examples(
        "paislurm runtime",
        "paislurm runtime charliecloud registry",
    )
)
@click.argument("uses", metavar="[USE...]", nargs=-1)
@json_option
def command(uses: tuple[str, ...], *, as_json: bool) -> int:
    """Print the runtime that scripts of this version have behind their seal, for an administrator to read once.

    USE is a part that only some jobs use, as the seal of a script names it: apptainer, charliecloud, code, enroot,
    export-env, gpu-gres, gpus, hooks, infiniband, many-tasks, monitor-step, more-ports, native-mpi, odd-cpus,
    openpai-exit-rules, plugin-git, plugin-ssh, plugin-storages, plugin-tensorboard, podman, registry, secrets, slots.
    Without one, the parts that every script has are printed. `sha256sum` of what is printed is in the seal.
    """
    from ....rendering.runtime_bundle import ALL_USES, digest, runtime

    if unknown := sorted(set(uses) - set(ALL_USES)):
        message = f"no part of the runtime is called {', '.join(unknown)}; there are: {', '.join(ALL_USES)}"
        raise click.BadParameter(message, param_hint="USE")
    text = runtime(tuple(sorted(set(uses))))
    if as_json:
        print_json({"paislurm_version": __version__, "uses": sorted(set(uses)), "sha256": digest(text), "text": text})
    else:
        print_file(text)
    return 0
