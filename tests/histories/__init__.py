"""Histories of a real cluster: users on two login nodes, faults, and one checker of what must hold."""
