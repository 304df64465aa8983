"""The stored state of jobs: folders, journals, results and locks."""
