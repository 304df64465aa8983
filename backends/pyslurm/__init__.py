"""Run scripts with Slurm, which pyslurm asks."""
