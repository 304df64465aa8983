# What the script knows while it runs. A task is named ROLE.INDEX, a role by its position.

# Where things are.
FOLDER='' ATTEMPT=0 ATTEMPT_FOLDER='' SECRETS_FOLDER='' SUBMIT_DIR='' SCRIPT='' SCRATCH='' RUN_ID='' JOB_ID='' JOB_USER='' CALLS='' NOW=0
NODES_OF=() NODES=()
declare -A ADDRESS_OF=() PORTS_OF=() GPUS_ON=()
PORT_TAKEN=() PORT_LINES=() FIRST_FIXED=0 RESERVE_PORTS='' TAKEN_PORTS=() WORDS=()

# A task's own. STOPPED is set when TERM has come, COMMAND is the process group of what the task runs, and ENDING is set
# while that is for any end, and not to be stopped.
STOPPED=0 TERM_PASSED=0 RUNNING='' COMMAND='' ENDING='' CODE=0 BEHAVIOUR='' EXPORTS='' CODE_OF_SCRIPT='' FAILED_SCRIPT=''
STDOUT_LOG='' STDERR_LOG='' RUNTIME_LOG='' SCRIPTS_LOG=''
# Ranks: which one of its task this shell is, of how many; the first one knows the processes of the others, and the
# status of the one that failed first. ENDS are statuses of what ran, by process.
RANK=0 RANKS=1 RANK_PROCESS=() RANKS_RUN='' FIRST_FAILURE='' RANK_KILLERS=()
declare -A ENDS=()
# What is done with a call that is heard.
ANSWER=run_called

# Seconds until a task that does not answer a call is given up, and a rank that does not begin.
readonly ANSWER_SECONDS=30
# A value longer than this cannot pass execve(2) (MAX_ARG_STRLEN, 128 KiB with the name); it stays in the file.
readonly LONGEST_VALUE=131000
