"""Use cases about jobs that were submitted."""
