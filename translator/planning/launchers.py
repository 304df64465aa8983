"""What MPI launchers need to know to start their daemons by the `ssh` of the tasks, and not by Slurm.

The launchers find Slurm's variables and would call srun, which a container does not have, and which would not start in
the task that was named. They are set before the commands, so that what a command sets for itself wins.
"""

from __future__ import annotations

LAUNCHER_VARIABLES = (
    ("OMPI_MCA_plm", "rsh"),
    ("OMPI_MCA_plm_rsh_agent", "ssh"),
    ("OMPI_MCA_ras", "^slurm"),
    ("PRTE_MCA_plm", "ssh"),
    ("PRTE_MCA_plm_ssh_agent", "ssh"),
    ("PRTE_MCA_ras", "^slurm"),
    ("HYDRA_LAUNCHER", "ssh"),
    ("HYDRA_RMK", "user"),
    ("I_MPI_HYDRA_BOOTSTRAP", "ssh"),
)
"""For Open MPI 4 and 5, MPICH and Intel MPI.

Source: Open MPI 4, mpirun(1), MCA; PRRTE, plm/ssh; MPICH, "Using the Hydra process manager"; Intel MPI, Hydra
environment variables.
"""
