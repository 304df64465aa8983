"""Stand-ins for srun, scontrol, scancel and slurmd, with which the local backend runs scripts.

They import only the standard library and modules that do the same (`files`, `hostlist`): every step starts a
stand-in without site packages.
"""
