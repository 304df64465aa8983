"""Run scripts on this machine."""
