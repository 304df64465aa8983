"""The use cases of `paislurm site`."""
