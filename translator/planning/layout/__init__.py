"""Components of a job, and placement of tasks on nodes."""
