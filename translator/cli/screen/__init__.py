"""The live screen of `paislurm watch`: what is looked at, what keys do to that, and how it is painted."""
