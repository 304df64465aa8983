"""What a job file means, in both protocols."""
