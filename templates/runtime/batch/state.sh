# What the batch script knows of its tasks, roles and job.

# Tasks: state is running, waiting (for a retry), ended (not yet accepted), succeeded or failed. Exits by arrival.
declare -A STATE=() ATTEMPTS=() NODE_OF=() STARTED=() ENDED=() STATUS=() CODE_OF=() BEHAVIOUR_OF=()
EXITS=() NEXT_EXIT=0
declare -A TERMED=() PROVISIONAL=() TRANSIENTS=() BUDGET_USED=() CEILING_HIT=() FAILED_IN=()

# Roles: counts of completed tasks, the time and index of the exit that reached a threshold, steps and slots.
SUCCEEDED=() FAILED=() SUCCESS_AT=() FAILURE_AT=()
SUCCEEDED_OF_JOB=0 JOB_SUCCESS_AT=''
STEP_OPEN=() STEP_ID=() NEXT_TASK=() WAITING=() FREE_SLOTS=() LATE_STARTS=() ORDERS=()
# Without gang: the task that a slot was given, until it has ended, by ROLE.SLOT.
declare -A GIVEN=()

# The job.
EVERY_COMPONENT=() UNANSWERED=()
TASK_COUNT=0 BEGUN=0 COMPLETED=0 SUPERVISING=0 STOP_AT=0 KILLS=0 BEGAN_AT=0 DECIDED_AT=0
ENTERED='' OUTCOME='' OUTCOME_CODE=0 OUTCOME_BEHAVIOUR='' OUTCOME_REASON='' TRIGGER=''
readonly PROVISIONAL_SECONDS=2
# Steps: how long Slurm may look for room, when that is looked at again, and whether one was without at the last look.
readonly STEP_SECONDS=300
ROOM_BY='' NO_ROOM=''
# A launch that failed: what it was of, and when it is believed; then what is known of it.
LAUNCH_OF='' LAUNCH_AT=0 FAILED_LAUNCH=()
# Whether nodes may be left with what tasks do not remove themselves.
SWEEP=''
