"""Commands that show jobs, one module each."""
