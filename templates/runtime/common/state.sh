# What the script knows while it runs. A task is named ROLE.INDEX, a role by its position.

# Where things are.
PSL_FOLDER='' PSL_ATTEMPT=0 PSL_ATTEMPT_FOLDER='' PSL_SECRETS_FOLDER='' PSL_SUBMIT_DIR='' PSL_SCRIPT='' PSL_SCRATCH='' PSL_RUN_ID='' PSL_JOB_ID='' PSL_JOB_USER='' PSL_NODE_FOLDER='' PSL_NOW=0
PSL_NODES_OF=() PSL_NODES=()
declare -A PSL_ADDRESS_OF=() PSL_PORTS_OF=() PSL_GPUS_ON=()
PSL_PORT_TAKEN=() PSL_PORT_LINES=() PSL_FIRST_FIXED=0 PSL_RESERVE_PORTS='' PSL_TAKEN_PORTS=() PSL_WORDS=()

# A task's own. STOPPED is set when TERM has come, COMMAND is the process group of what the task runs, and PSL_ENDING is set
# while that is for any end, and not to be stopped.
PSL_STOPPED=0 PSL_TERM_FORWARDED=0 PSL_RUNNING='' PSL_COMMAND='' PSL_ENDING='' PSL_CODE=0 PSL_BEHAVIOUR='' PSL_EXPORTS='' PSL_CODE_OF_SCRIPT='' PSL_FAILED_SCRIPT=''
PSL_STDOUT_LOG='' PSL_STDERR_LOG='' PSL_RUNTIME_LOG='' PSL_SCRIPTS_LOG=''
# Ranks: which one of its task this shell is, of how many; the first one knows the processes of the others, and the
# status of the one that failed first. PSL_EXIT_BY_PID are statuses of what ran, by process.
PSL_RANK=0 PSL_RANKS=1 PSL_RANK_PROCESS=() PSL_RANKS_RUN='' PSL_FIRST_FAILURE='' PSL_RANK_KILLERS=()
declare -A PSL_EXIT_BY_PID=()
# What was exported under lowercase names when this shell began.
PSL_LOWERCASE_EXPORTS=()
# Of a task in a container, the shell outside has a control FIFO of its own, which ends so.
PSL_HOST_SUFFIX=''
# What is done with a call that is heard.
PSL_SERVE_WITH=run_remote_command

# Seconds until a task that does not answer a call is given up, and a rank that does not begin.
readonly PSL_REMOTE_TIMEOUT=30
# A value longer than this cannot pass execve(2) (MAX_ARG_STRLEN, 128 KiB with the name); it stays in the file.
readonly PSL_LONGEST_VALUE=131000
