"""Commands for jobs that run, and for those that ran."""
