"""How far a job is: by its files, and on a line of a terminal while somebody waits."""
