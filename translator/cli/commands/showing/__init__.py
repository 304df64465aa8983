"""Commands that show jobs: a module for each."""
