"""Slurm, as slurmrestd tells of it."""
