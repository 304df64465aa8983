# Declare the variables of the script. A task is named ROLE.INDEX, a role by its position.

# Paths, and the identity of the job.
PSL_FOLDER='' PSL_ATTEMPT=0 PSL_ATTEMPT_FOLDER='' PSL_SECRETS_FOLDER='' PSL_SUBMIT_DIR=''
PSL_SCRIPT='' PSL_SCRATCH='' PSL_NODE_FOLDER='' PSL_UMASK=0077
PSL_RUN_ID='' PSL_JOB_ID='' PSL_JOB_USER='' PSL_NOW=0 PSL_UPTIME=0
# Nodes by role, addresses by node, ports by ROLE.INDEX.LABEL, and a task's variables.
PSL_NODES_OF=() PSL_NODES=() PSL_TASK_VARIABLES=()
declare -A PSL_ADDRESS_OF=() PSL_PORTS_OF=()
# The words of the last read line, the last message, and "ROLE INDEX LABEL:N,N ..." of tasks.
PSL_WORDS=() PSL_LAST_MESSAGE='' PSL_PORT_LINES=()

# The state of a task's shell. PSL_STOPPED is set after TERM. PSL_RUNNING is the index and attempt
# of the task, and PSL_COMMAND the process group of its running command. PSL_ENDING is set during an
# exit hook, to which TERM is not forwarded.
PSL_STOPPED=0 PSL_TERM_FORWARDED=0 PSL_RUNNING='' PSL_COMMAND='' PSL_ENDING=''
PSL_CODE=0 PSL_BEHAVIOUR='' PSL_EXPORTS='' PSL_CODE_OF_SCRIPT='' PSL_COMMANDS_ENDED=''
PSL_STDOUT_LOG='' PSL_STDERR_LOG='' PSL_END_LOG=''
# Whether bash notes the place of a failed command in PSL_END_LOG.
PSL_NOTES_END=''
# This shell's rank among those of its task. PSL_EXIT_BY_PID maps processes of ended commands to
# their statuses.
PSL_RANK=0
declare -A PSL_EXIT_BY_PID=()
# The exported lowercase variables when this shell started.
PSL_LOWERCASE_EXPORTS=()
# The suffix of the control FIFO of the shell outside a container.
PSL_HOST_SUFFIX=''
# The function that runs the command of a call.
PSL_SERVE_WITH=run_remote_command

# Seconds to wait for a task to answer a call, and for a rank to start.
readonly PSL_REMOTE_TIMEOUT=30
