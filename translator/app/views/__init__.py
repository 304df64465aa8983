"""The states of jobs, as records for JSON and the Python API."""
