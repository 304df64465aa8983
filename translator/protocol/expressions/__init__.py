"""References in the texts of a job file, and the commands that they stand in."""
