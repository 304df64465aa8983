"""Run scripts with Slurm."""
