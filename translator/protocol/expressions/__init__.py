"""References in the texts of a job file, and the commands with their values."""
