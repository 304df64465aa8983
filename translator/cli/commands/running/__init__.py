"""Commands that change jobs, one module each."""
