"""Commands that read a job file and leave it at that."""
