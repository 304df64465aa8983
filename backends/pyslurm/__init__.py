"""Ask Slurm by pyslurm."""
