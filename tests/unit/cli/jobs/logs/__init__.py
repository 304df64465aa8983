"""`paislurm logs`."""
