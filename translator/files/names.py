"""The names in a job's folder, once for the program, the copies from login nodes and the docs. Source: run folder."""

from __future__ import annotations

JOB_FILE, PLAN, JOURNAL = "job.yaml", "plan.json", "journal.jsonl"
ENVIRONMENT = "environment"
"""The submitter's environment, until the job ends."""
SECRETS = "secrets"
"""The folder with a job's secrets, until the job ends."""
ATTEMPTS = "attempts"
SCRIPT, BATCH_LOG, LOGS = "job.sbatch", "slurm.log", "logs"
MORE_MEMORY = "more-memory"
"""The folder of the scripts that request more memory, by their number from 1, until the job ends."""
CLAIM, OWNER = "claim", "owner"
"""The folder and the file with the id of the Slurm job that runs an attempt."""
RESULT, STALL = "result.json", "stall.json"
LOST_NODES = "lost-nodes"
"""The nodes that a job with spare nodes has lost, separated by blanks."""
STEPS, REPORTS = "srun", "tasks"
"""The folders of srun's messages and of the tasks' reports."""
OF_ATTEMPT = (CLAIM, RESULT, BATCH_LOG, STEPS, STALL, LOST_NODES, REPORTS)
"""What a batch script writes for the program: all of it is copied from a login node."""
