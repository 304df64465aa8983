"""The expected start of a job before its submission."""
