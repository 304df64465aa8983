"""What is asked of Slurm, where, and what is dangerous with its version."""
