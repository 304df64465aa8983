"""Ask Slurm by slurmrestd."""
