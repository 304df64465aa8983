"""The SSH backend, which runs batch scripts with Slurm at a login node."""
