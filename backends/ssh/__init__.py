"""Run scripts with Slurm where one can only log in by SSH."""
