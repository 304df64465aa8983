"""Jobs that really run on this machine, from the submit to the task."""
