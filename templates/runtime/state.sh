# What the script knows while it runs. A task is named ROLE.INDEX, a role by its position.

# Where things are.
FOLDER='' ATTEMPT=0 ATTEMPT_FOLDER='' SECRETS_FOLDER='' SCRIPT='' SCRATCH='' RUN_ID='' JOB_ID='' CALLS='' NOW=0
NODES_OF=()
declare -A ADDRESS_OF=() PORTS_OF=()
PORT_TAKEN=() PORT_LINES=() FIRST_FIXED=0 RESERVE_PORTS='' PORTS_FAILED=0

# Tasks: state is running, waiting (for a retry), ended (not yet accepted), succeeded or failed. Exits by arrival.
declare -A STATE=() ATTEMPTS=() NODE_OF=() STARTED=() ENDED=() STATUS=() CODE_OF=() BEHAVIOUR_OF=()
EXITS=() NEXT_EXIT=0 WORDS=()
declare -A TERMED=() PROVISIONAL=() TRANSIENTS=() BUDGET_USED=() CEILING_HIT=()

# Roles: counts of completed tasks, the time and index of the exit that reached a threshold, steps and slots.
SUCCEEDED=() FAILED=() SUCCESS_AT=() FAILURE_AT=()
SUCCEEDED_OF_JOB=0 JOB_SUCCESS_AT=''
STEP_OPEN=() STEP_ID=() NEXT_TASK=() WAITING=() FREE_SLOTS=() LATE_STARTS=() ORDERS=()
# Without gang: the task that a slot was given, until it has ended, by ROLE.SLOT.
declare -A GIVEN=()

# The job.
TASK_COUNT=0 BEGUN=0 COMPLETED=0 SUPERVISING=0 STOP_AT=0 KILLS=0 BEGAN_AT=0 DECIDED_AT=0
OUTCOME='' OUTCOME_CODE=0 OUTCOME_BEHAVIOUR='' OUTCOME_REASON='' TRIGGER=''
readonly PROVISIONAL_SECONDS=2

# A task's own. TASK is its shell in a slot without gang, COMMAND the process group of what it runs, and ENDING is set
# while that is for any end, and not to be stopped.
STOPPED=0 RUNNING='' TASK='' COMMAND='' ENDING='' CODE=0 BEHAVIOUR='' STDOUT_LOG='' STDERR_LOG='' RUNTIME_LOG='' SCRIPTS_LOG='' EXPORTS='' CODE_OF_SCRIPT=''
# Ranks: which one of its task this shell is, of how many; the first one knows the processes of the others, and the
# status of the one that failed first. ENDS are statuses of what ran, by process.
RANK=0 RANKS=1 RANK_PROCESS=() RANKS_RUN='' FIRST_FAILURE='' RANK_KILLERS=()
declare -A ENDS=()
# What is done with a call that is heard.
ANSWER=run_called
