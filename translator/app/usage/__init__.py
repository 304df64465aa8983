"""What the tasks of a job use: CPU, memory and GPUs."""
