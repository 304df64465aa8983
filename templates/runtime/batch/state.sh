# What the batch script knows of its tasks, roles and job.

# Tasks: state is running, waiting (for a retry), ended (not yet accepted), succeeded or failed. Exits by arrival.
declare -A PSL_STATE=() PSL_ATTEMPTS=() PSL_NODE_OF=() PSL_STARTED=() PSL_ENDED=() PSL_STATUS=() PSL_CODE_OF=() PSL_BEHAVIOUR_OF=()
PSL_EXITS=() PSL_NEXT_EXIT=0
declare -A PSL_GOT_TERM=() PSL_PROVISIONAL=() PSL_TRANSIENTS=() PSL_BUDGET_USED=() PSL_LIMIT_REACHED=() PSL_FAILED_IN=()

# Roles: counts of completed tasks, the time and index of the exit that reached a threshold, steps and slots.
PSL_SUCCEEDED=() PSL_FAILED=() PSL_SUCCESS_AT=() PSL_FAILURE_AT=()
PSL_SUCCEEDED_OF_JOB=0 PSL_JOB_SUCCESS_AT=''
PSL_STEP_RUNNING=() PSL_STEP_ID=() PSL_NEXT_TASK=() PSL_WAITING=() PSL_FREE_SLOTS=() PSL_STARTED_AFTER_DECISION=() PSL_COMMAND_FDS=()
# Without gang: the task that a slot was given, until it has ended, by ROLE.SLOT.
declare -A PSL_ASSIGNED=()

# The job.
PSL_EVERY_COMPONENT=() PSL_FAILED_COMPONENTS=()
PSL_TASK_COUNT=0 PSL_BEGUN=0 PSL_COMPLETED=0 PSL_SUPERVISING=0 PSL_STOP_AT=0 PSL_KILLS=0 PSL_BEGAN_AT=0 PSL_DECIDED_AT=0
PSL_ENTERED='' PSL_OUTCOME='' PSL_OUTCOME_CODE=0 PSL_OUTCOME_BEHAVIOUR='' PSL_OUTCOME_REASON='' PSL_TRIGGER=''
readonly PSL_PROVISIONAL_SECONDS=2
# Steps: how long Slurm may look for room, when that is looked at again, and whether one was without at the last look.
readonly PSL_STEP_SECONDS=300
PSL_STEP_DEADLINE='' PSL_NO_ROOM=''
# A launch that failed: what it was of, and when it is believed; then what is known of it.
PSL_LAUNCH_OF='' PSL_LAUNCH_AT=0 PSL_FAILED_LAUNCH=()
# Whether nodes may be left with what tasks do not remove themselves.
PSL_NEEDS_CLEANUP=''
