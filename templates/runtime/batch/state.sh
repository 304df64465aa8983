# Declare the state of the tasks, roles and job in the batch script.

# Tasks, by ROLE.INDEX. A task's state is running, waiting (for a retry), ended (its exit is not
# accepted yet), succeeded or failed. A task without a state has not started.
declare -A PSL_STATE=() PSL_ATTEMPTS=() PSL_NODE_OF=() PSL_STARTED=() PSL_ENDED=()
# When tasks ended, in milliseconds after the start of the batch script.
declare -A PSL_ENDED_AFTER=()
# What their nodes know about failed tasks, as strings of JSON; the number of processes killed
# because memory ran out, by ROLE.INDEX.ATTEMPT.
declare -A PSL_EVIDENCE=() PSL_MEMORY_KILLS_IN=()
declare -A PSL_STATUS=() PSL_CODE_OF=() PSL_BEHAVIOUR_OF=()
# Tasks that got TERM, by ROLE.INDEX.ATTEMPT.
declare -A PSL_GOT_TERM=()
# Exits: the tasks in the order of their exits, and the next one to accept. An exit that may have a
# cause outside of the job is provisional: the script accepts it only after some time.
PSL_EXITS=() PSL_NEXT_EXIT=0
declare -A PSL_PROVISIONAL_UNTIL=()
readonly PSL_PROVISIONAL_SECONDS=2

# Task roles, by position: counts of completed tasks.
PSL_SUCCEEDED=() PSL_FAILED=()
# "TIME RULE TASK" of the exits that reached a threshold. In a tie the first one decides.
PSL_REACHED=()
# Steps: roles whose step runs, their Slurm step ids, and roles that get TERM after the decision.
# Roles whose srun shares cores.
PSL_SHARES_CORES=()
PSL_STEP_RUNNING=() PSL_STEP_ID=() PSL_TERM_DUE=()

# The line with the instances of all roles.
PSL_INSTANCES_LINE=''

# Nodes that are prepared for tasks.
declare -A PSL_PREPARED=()

# The job.
PSL_EVERY_COMPONENT=()
PSL_TASK_COUNT=0 PSL_TASKS_BEGUN=0 PSL_TASKS_COMPLETED=0
PSL_ENTERED='' PSL_BEGAN_AT=0 PSL_BEGAN_UPTIME=0 PSL_SUPERVISING=0
# The decision, and its trigger, "RULE ROLE INDEX THRESHOLD".
PSL_OUTCOME='' PSL_OUTCOME_CODE=0 PSL_OUTCOME_BEHAVIOUR='' PSL_OUTCOME_REASON='' PSL_TRIGGER=''
PSL_DECIDED_AT=0 PSL_DECIDED_AFTER=0
# Whether Slurm ends the job: it has sent TERM to all tasks, and starts no more steps.
PSL_SLURM_ENDS=''
# Whether writing the result failed; see explain_full for the other variables.
PSL_UNWRITTEN='' PSL_FULL='' PSL_EXPLAINED=''
# The time at which running tasks get KILL, and whether they have got it.
PSL_STOP_AT=0 PSL_KILL_SENT=0
# How long a step may wait for resources, the time of the next check, and whether a step was waiting
# at the last check.
readonly PSL_STEP_SECONDS=300
PSL_STEP_DEADLINE='' PSL_FOUND_NO_ROOM=''
# A failed launch: its step, failure ("CODE BEHAVIOUR"), node and messages, and the time at which it
# is final.
PSL_FAILED_LAUNCH=() PSL_FAILED_LAUNCH_AT=0
# Whether tasks may leave files on the nodes that they do not remove themselves.
PSL_NEEDS_CLEANUP=''
