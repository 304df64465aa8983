# Declare the variables of the script. A task is named ROLE.INDEX, a role by its position.

# Paths, and the identity of the job.
PSL_FOLDER='' PSL_ATTEMPT=0 PSL_ATTEMPT_FOLDER='' PSL_SECRETS_FOLDER='' PSL_SUBMIT_DIR=''
PSL_SCRIPT='' PSL_SCRATCH='' PSL_NODE_FOLDER=''
PSL_RUN_ID='' PSL_JOB_ID='' PSL_JOB_USER='' PSL_NOW=0
# Nodes by role, addresses by node, and ports by ROLE.INDEX.LABEL.
PSL_NODES_OF=() PSL_NODES=()
declare -A PSL_ADDRESS_OF=() PSL_PORTS_OF=()
# The words of the line that was read last. Where slots reserve ports, the ports of this slot, and
# "ROLE INDEX LABEL:N,N ..." of tasks.
PSL_WORDS=() PSL_LAST_MESSAGE='' PSL_RESERVE_PORTS='' PSL_TAKEN_PORTS=() PSL_PORT_LINES=()

# The state of a task's shell. PSL_STOPPED is set when TERM has come, and PSL_RUNNING has the index
# and attempt of the task. PSL_COMMAND is the process group of what the task runs. PSL_ENDING is set
# while a hook runs that must run at any end: TERM is not forwarded to that hook.
PSL_STOPPED=0 PSL_TERM_FORWARDED=0 PSL_RUNNING='' PSL_COMMAND='' PSL_ENDING=''
PSL_CODE=0 PSL_BEHAVIOUR='' PSL_EXPORTS='' PSL_CODE_OF_SCRIPT=''
PSL_STDOUT_LOG='' PSL_STDERR_LOG='' PSL_END_LOG=''
# Whether a bash notes in PSL_END_LOG where its commands failed.
PSL_NOTES_END=''
# The ranks of a task: this shell is PSL_RANK of PSL_RANKS. PSL_EXIT_BY_PID has the statuses of
# ended commands, by process.
PSL_RANK=0 PSL_RANKS=1 PSL_RANKS_RUN=''
declare -A PSL_EXIT_BY_PID=()
# What was exported under lowercase names when this shell began.
PSL_LOWERCASE_EXPORTS=()
# For a task in a container, the shell outside has a control FIFO of its own, with this suffix.
PSL_HOST_SUFFIX=''
# The function that runs the command of a call.
PSL_SERVE_WITH=run_remote_command

# Seconds to wait for a task to answer a call, and for a rank to begin.
readonly PSL_REMOTE_TIMEOUT=30
