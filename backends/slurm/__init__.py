"""The Slurm backend, which runs batch scripts with Slurm's programs."""
