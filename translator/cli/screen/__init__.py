"""The live screen of `paislurm watch`: its state, its keys and its pages."""
