"""Programs that stand in for srun, scontrol, scancel and slurmd where the local backend runs a script.

They use the standard library alone and import nothing of the rest: every step of a job starts one of them.
"""
