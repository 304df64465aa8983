"""Change jobs that wait or run."""
