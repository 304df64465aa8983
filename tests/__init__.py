"""Tests of paislurm."""
