# Keep what the batch script knows of its tasks, roles and job.

# Tasks, by ROLE.INDEX. A task's state is running, waiting (for a retry), ended (its exit is not
# accepted yet), succeeded or failed. A task without a state has not begun.
declare -A PSL_STATE=() PSL_ATTEMPTS=() PSL_NODE_OF=() PSL_STARTED=() PSL_ENDED=()
declare -A PSL_STATUS=() PSL_CODE_OF=() PSL_BEHAVIOUR_OF=()
# Tasks that got TERM, by ROLE.INDEX.ATTEMPT; "ATTEMPT MOMENT KIND NAME" of the hook that failed.
declare -A PSL_GOT_TERM=() PSL_FAILED_IN=()
# Exits: the tasks in the order of their exits, and which of them is accepted next. An exit that may
# have a cause outside of the job is provisional: the script accepts it only from a later time on.
PSL_EXITS=() PSL_NEXT_EXIT=0
declare -A PSL_PROVISIONAL_UNTIL=()
readonly PSL_PROVISIONAL_SECONDS=2

# After how many events in a row they are read in blocks, which takes a process.
readonly PSL_EVENTS_BEFORE_BLOCK=50

# Task roles, by position: counts of completed tasks, and "TIME INDEX" of the exit that reached a
# threshold ("TIME ROLE.INDEX" for the threshold of the whole job).
PSL_SUCCEEDED=() PSL_FAILED=() PSL_SUCCESS_AT=() PSL_FAILURE_AT=()
PSL_SUCCEEDED_OF_JOB=0 PSL_JOB_SUCCESS_AT=''
# The first threshold that was reached: its rule, and the time and the task of that exit.
PSL_FIRST_RULE='' PSL_FIRST_AT='' PSL_FIRST_TASK=''
# Steps: which roles have one that runs, its Slurm step id, and roles that began after the decision.
# Roles for which srun is told to share cores.
PSL_SHARES_CORES=()
PSL_STEP_RUNNING=() PSL_STEP_ID=() PSL_STARTED_AFTER_DECISION=()

# The line with the instances of all roles, and the variables of the task that was described last.
PSL_INSTANCES_LINE='' PSL_TASK_VARIABLES=()

# Nodes on which everything is ready for tasks.
declare -A PSL_PREPARED=()

# The job.
PSL_EVERY_COMPONENT=() PSL_FAILED_COMPONENTS=()
PSL_TASK_COUNT=0 PSL_TASKS_BEGUN=0 PSL_TASKS_COMPLETED=0
PSL_ENTERED='' PSL_BEGAN_AT=0 PSL_SUPERVISING=0
# The decision, and "RULE ROLE INDEX THRESHOLD" of what led to it.
PSL_OUTCOME='' PSL_OUTCOME_CODE=0 PSL_OUTCOME_BEHAVIOUR='' PSL_OUTCOME_REASON='' PSL_TRIGGER=''
PSL_DECIDED_AT=0
# Whether the result could not be written; see explain_full for the other ones.
PSL_UNWRITTEN='' PSL_FULL='' PSL_EXPLAINED=''
# The time at which tasks that still run get KILL, and whether they have got it.
PSL_STOP_AT=0 PSL_KILL_SENT=0
# How long Slurm may search for room for a step, when the script checks that next, and whether a
# step had no room at the last check.
readonly PSL_STEP_SECONDS=300
PSL_STEP_DEADLINE='' PSL_FOUND_NO_ROOM=''
# A launch that failed: whose it was, the time at which the script believes it, and its failure
# ("CODE BEHAVIOUR"), node and words.
PSL_FAILED_LAUNCH_OF='' PSL_FAILED_LAUNCH_AT=0 PSL_FAILED_LAUNCH=()
# Whether something of the tasks may be left on the nodes that they do not remove themselves.
PSL_NEEDS_CLEANUP=''
