"""Compile OpenPAI job files to Slurm batch scripts, submit them and watch them."""
