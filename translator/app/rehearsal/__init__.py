"""Rehearsals: a job runs on this machine and is broken on purpose, to see whether it continues."""
