"""Stalls that are made on purpose, and healthy jobs that are quiet: what the stall guard makes of them."""
