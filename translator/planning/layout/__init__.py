"""Which components a job has, and how many tasks a node takes."""
