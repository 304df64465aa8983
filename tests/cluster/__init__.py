"""A real Slurm cluster on one machine, and the tests that run on it."""
