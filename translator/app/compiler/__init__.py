"""Use cases for job files and scripts without a submission."""
