"""Commands that only read job files, one module each."""
