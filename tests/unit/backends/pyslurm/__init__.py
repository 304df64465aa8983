"""Slurm, as pyslurm tells of it."""
