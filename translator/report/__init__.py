"""What a report says of jobs: their attempts, tasks, times and ends, as plain values. Pure."""
