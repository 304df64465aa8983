"""Run records: writing them, submitting a job again, and comparing two jobs."""
