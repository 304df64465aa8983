"""Use cases about the output of tasks."""
