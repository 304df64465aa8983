"""The static bash of scripts, driven without Slurm."""
