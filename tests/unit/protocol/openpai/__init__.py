"""What OpenPAI's server says of a job file, and mutations of job files to ask it about."""
