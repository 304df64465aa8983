"""How a job is submitted."""
