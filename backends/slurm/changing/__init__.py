"""Change a job that waits or runs, through scontrol."""
