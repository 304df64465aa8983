"""Detection of a site profile from the output of Slurm's programs."""
