"""Tests of the Slurm backend."""
