"""The environment that a batch script starts from: the caller's, without what Slurm and MPI left in it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

OF_THE_SHELL = ("BASHOPTS", "BASH_ENV", "ENV", "PS4", "SHELLOPTS")
"""Variables by which a shell changes what the next one makes of a script: with `noexec` it runs nothing, and succeeds.

Source: bash(1), Shell Variables; sh of POSIX, ENV.
"""

LEAKING = ("SLURM_", "SLURMD_", "SBATCH_", "SRUN_", "SALLOC_", "SQUEUE_", "SACCT_", "SCANCEL_", "PMI")
"""Variables that change what sbatch, squeue, sacct, scancel or an inner srun does. Source: their manuals."""

FOR_COMMANDS = "PAISLURM_BASH_ENV"
"""What keeps the value of BASH_ENV for the commands, and for no other bash on the way to them."""

KEPT = ("SLURM_CONF",)
"""Variables that say where the cluster is."""


def scrubbed(environment: Mapping[str, str]) -> dict[str, str]:
    """Return an environment in which nothing speaks for the user but the command line."""
    start_file = environment.get("BASH_ENV")
    kept = {
        name: value
        for name, value in environment.items()
        if name in KEPT or not (name.startswith(LEAKING) or name in OF_THE_SHELL)
    }
    return kept | ({FOR_COMMANDS: start_file} if start_file else {})
