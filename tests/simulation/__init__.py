"""A simulation of login nodes, a shared file system and Slurm: the real code of paislurm, in one process, by a seed."""
