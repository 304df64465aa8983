"""Say before a submit when a job would start, and which GPUs are free."""
