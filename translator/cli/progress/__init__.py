"""Output while a command waits: progress, logs, and the ends of jobs."""
