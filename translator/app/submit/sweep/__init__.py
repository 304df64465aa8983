"""A group of jobs that differ by the values of parameters: `submit --sweep`."""
