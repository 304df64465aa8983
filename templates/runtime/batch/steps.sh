# Start steps of Slurm, and send signals to their tasks.

# Signals always go through Slurm, because an srun that is killed kills its tasks.

# Options of every srun, except for --mpi where srun starts ranks. With --overlap and --mem=0 the
# steps before those of the tasks share the job's resources. Bash redirects standard error: --error
# takes a path as a pattern, and does not apply to srun's own messages.
readonly -a PSL_SRUN=(srun --mpi=none --export=ALL --kill-on-bad-exit=0 --wait=0)

# clean_slurm_environment: unset variables that change the behaviour of srun: those that Slurm sets
# for the batch script, and those of the submitting shell, which sbatch passes on. One of the latter
# puts a label before each line, which would make reports unreadable.
# Source: srun(1), input environment variables.
clean_slurm_environment() {
  local name
  unset SLURM_EXPORT_ENV SLURM_HINT SLURM_THREADS_PER_CORE SLURM_DISTRIBUTION SLURM_NPROCS
  unset SLURM_OVERCOMMIT SLURM_OVERLAP SLURM_EXACT SLURM_EXCLUSIVE SLURM_WHOLE SLURM_LABELIO
  unset SLURM_UNBUFFEREDIO SLURM_MULTI_PROG SLURM_OPEN_MODE SLURM_STDINMODE SLURM_STDOUTMODE
  unset SLURM_STDERRMODE SLURM_TASK_PROLOG SLURM_TASK_EPILOG SLURM_PROLOG SLURM_EPILOG SLURM_GRES
  unset SLURM_GPUS SLURM_NETWORK SLURM_CONSTRAINT SLURM_EXCLUDE SLURM_REMOTE_CWD SLURM_WORKING_DIR
  unset SLURM_RELATIVE SLURM_SPREAD_JOB SLURM_USE_MIN_NODES SLURM_TIMELIMIT SLURM_CORE_SPEC
  unset SLURM_THREAD_SPEC
  for name in "${!SRUN_@}" "${!SLURM_CPU_BIND@}" "${!SLURM_MEM_BIND@}" "${!SLURM_GPU_BIND@}" \
    "${!SLURM_ACCEL_BIND@}" "${!SLURM_NTASKS@}" "${!SLURM_CPUS_PER_@}" "${!SLURM_MEM_PER_@}" \
    "${!SLURM_GPUS_PER_@}" "${!SLURM_CPU_FREQ_@}" "${!SLURM_TRES_@}"; do
    unset "$name"
  done
}

# find_component_job COMPONENT: set PSL_COMPONENT_JOB to the Slurm job id of a component.
find_component_job() {
  component_value SLURM_JOB_ID "$1"
  PSL_COMPONENT_JOB=${PSL_VALUE:-$SLURM_JOB_ID}
}

# run_on_nodes NAME COMPONENT: run this script with --NAME once on every node of a component, or of
# the job, and print the output of all nodes. PSL_NODES_ASKED limits the number of nodes, and
# PSL_STEP_LIMIT is the time limit in seconds.
run_on_nodes() {
  local name=$1 component=$2 count
  if [[ $1 == preflight-* ]]; then  # only: preflight
    run_for_preflight "$@"  # only: preflight
    return  # only: preflight
  fi  # only: preflight
  local -a group=()
  if [[ $PSL_LAYOUT == het ]]; then
    group=("--het-group=$component")
  fi
  component_value SLURM_JOB_NUM_NODES "$component"
  count=${PSL_NODES_ASKED:-$PSL_VALUE}
  ${PSL_STEP_LIMIT:+timeout -k 5 "$PSL_STEP_LIMIT"} \
    "${PSL_SRUN[@]}" ${group[@]+"${group[@]}"} --job-name="$name" \
    --overlap --mem=0 --gres=none --nodes="$count" --ntasks="$count" --ntasks-per-node=1 \
    --cpus-per-task=1 --input=none --chdir=/ \
    bash -p "$PSL_SCRIPT" "--$name" "$PSL_FOLDER" "$PSL_ATTEMPT" 2>"srun/$name-$component.log"
}

# start_role ROLE: start the step of a role in the background, with the srun_of_role_* function in
# the head of the script. The reports of its tasks come as events, and so does the end of the step.
# srun passes this shell's exports on to the tasks, so neither start_role nor its caller may have a
# local variable with a lowercase name: see note_lowercase_exports.
start_role() {
  local PSL_STEP_ROLES=${PSL_MPI_WORLD_OF[$1]-$1} PSL_STEP_ROLE
  # The step of its first role starts all of an MPI world.
  [[ ${PSL_STEP_ROLES%% *} == "$1" ]] || return 0
  # shellcheck disable=SC2086 # several roles
  write_host_files $PSL_STEP_ROLES
  (
    # Slurm signals all processes of an ending job; srun must outlive its tasks to deliver reports.
    trap '' TERM INT HUP USR1 USR2
    # This shell itself reads srun's messages, which saves a fork for each role.
    shopt -s lastpipe
    if [[ ${PSL_SHARES_CORES[$1]-} ]]; then
      export SLURM_OVERCOMMIT=1
    fi
    "srun_of_role_$1" <>"$PSL_SCRATCH/commands.$1" 2>&1 >&"$PSL_EVENT_FD" |
      watch_srun "$1" "srun/${PSL_ROLE_FOLDER[$1]}.log"
    status=${PIPESTATUS[0]}
    for PSL_STEP_ROLE in $PSL_STEP_ROLES; do
      send 1 step "$PSL_STEP_ROLE" "$status"
    done
  ) >&"$PSL_EVENT_FD" &
  # The end of srun comes as an event. Each job in bash's table slows the shell: 1,250 roles by a
  # sixth.
  disown "$!" 2>/dev/null
  for PSL_STEP_ROLE in $PSL_STEP_ROLES; do
    PSL_STEP_RUNNING[PSL_STEP_ROLE]=1
  done
}

# write_host_files ROLE ...: write the nodes of the tasks and ranks that an srun starts, in order.
# An srun over several components has a file for each, any other srun has one for all its roles.
# Since Slurm 23.11 srun rejects --nodes with --distribution=arbitrary.
write_host_files() {
  local first=$1 role node rank file
  for role; do
    file=$PSL_SCRATCH/hosts.$first
    if [[ $PSL_LAYOUT == het ]]; then
      file=$PSL_SCRATCH/hosts.$role
    fi
    for node in ${PSL_NODES_OF[role]}; do
      for ((rank = 0; rank < ${PSL_RANKS_OF[role]:-1}; rank++)); do
        printf '%s\n' "$node"
      done
    done >>"$file"
  done
}

# watch_srun ROLE LOG: copy the messages of srun and the nodes about a step to its log, and print
# the events in them: a lost node, a node that starts no task, dead shells of tasks. Ignore dead
# shells in the step of an MPI world: the ranks of a task report their ends to each other.
# Source: srun's messages since Slurm 2.6: "srun: error: n[1-2]: tasks 0,4-6: Killed",
# "srun: error: Node failure on n4".
watch_srun() {
  local role=$1 line log
  local deaths='^srun: error: [^ ]+: tasks? ([0-9,-]+): (.*)$'
  local node_failure='^srun: error: Node failure on ([^ ]+)$'
  # If the log cannot be written, still read the messages of srun.
  exec {log}>>"$2" || exec {log}>/dev/null
  while IFS= read -r line || [[ $line ]]; do
    printf '%s\n' "$line" >&"$log"
    if [[ $line =~ $node_failure ]]; then
      send 1 lost "$role" "${BASH_REMATCH[1]}"
    elif [[ $line =~ $PSL_NODE_LAUNCH_ERROR ]]; then
      send 1 unlaunched "$role" "${BASH_REMATCH[1]}"
    elif [[ ! ${PSL_MPI_WORLD_OF[role]-} && $line =~ $deaths ]]; then
      print_deaths "$role" "${BASH_REMATCH[1]}" "${BASH_REMATCH[2]}"
    fi
  done
}

# print_deaths ROLE SLOTS WORDS: print the events of dead slots ("0,4-6"); WORDS is srun's message.
print_deaths() {
  local range status=137
  case $3 in
    'Exited with exit code '*) status=${3##* } ;;
    Terminated*) status=143 ;;
  esac
  for range in ${2//,/ }; do
    send 1 died "$1" "${range%-*}" "${range#*-}" "$status"
  done
}

# signal_steps SIGNAL ROLE ...: send a signal to all tasks in the steps of these roles.
signal_steps() {
  local signal=$1 role component name
  local -a steps=()
  owns_attempt || return 0  # only: requeue
  for role in "${@:2}"; do
    [[ ${PSL_STEP_ID[role]-} ]] || continue
    component=0
    if [[ $PSL_LAYOUT == het ]]; then
      component=$role
    fi
    # The name of a step begins with the job id of its component.
    find_component_job "$component"
    name=$PSL_COMPONENT_JOB.${PSL_STEP_ID[role]}
    # Roles of one MPI world are in one step.
    if [[ " ${steps[*]-} " != *" $name "* ]]; then
      steps+=("$name")
    fi
  done
  # Call scancel for each step: in Slurm 22.05 it fails for several steps, except with KILL.
  for name in ${steps[@]+"${steps[@]}"}; do
    scancel --signal="$signal" "$name" 2>>srun/scancel.log
  done
}

# clean_up_node: remove the files of killed tasks on this node.
clean_up_node() {
  local folder
  for folder in "$PSL_NODE_FOLDER" "/dev/shm/${PSL_NODE_FOLDER##*/}"-*; do
    if is_own_folder "$folder"; then
      remove_trees "$folder"
    fi
  done
}

# clean_up_nodes: remove files left on the nodes: control FIFOs and container files of tasks that
# did not end by themselves, and those of slots that never got a task. No step can start on a lost
# node, or in a job that Slurm is ending.
clean_up_nodes() {
  local component
  local -a steps=()
  [[ $PSL_NEEDS_CLEANUP ]] || return 0
  if [[ $PSL_SLURM_ENDS || $PSL_OUTCOME_CODE == -1001 ]]; then
    return 0
  fi
  # The run folder may have been removed by now.
  [[ . -ef $PSL_ATTEMPT_FOLDER ]] || return 0
  for component in "${PSL_EVERY_COMPONENT[@]}"; do
    PSL_STEP_LIMIT=30 run_on_nodes sweep "$component" >/dev/null &
    steps+=("$!")
  done
  wait "${steps[@]}"
}
