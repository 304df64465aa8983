"""Changes of waiting or running jobs."""
