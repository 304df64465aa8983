"""What `paislurm site` does."""
