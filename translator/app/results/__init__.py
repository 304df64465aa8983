"""What a job left: the ends of its logs, its result, and why it failed."""
