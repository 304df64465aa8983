"""CPU, memory and GPU usage of a job's tasks."""
