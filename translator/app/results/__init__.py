"""Results of a job: the last lines of its logs, its result, and the reason of its failure."""
