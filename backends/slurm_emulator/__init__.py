"""Programs that stand in for srun, scontrol, scancel and slurmd where the local backend runs a script.

They use the standard library alone, and of the rest only what does so too (`files`, `hostlist`): every step of a job
starts one of them, without the packages of the site.
"""
