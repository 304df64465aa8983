"""The pyslurm backend, which queries Slurm with the library pyslurm."""
