"""Jobs that really run on this machine, from the command line to the task."""
