# Starting steps, and stopping their tasks: always by a signal through Slurm, because srun, killed, kills its tasks.

# Options of every srun, but for --mpi where it starts ranks. --overlap and --mem=0 let prologue steps run in what the job
# has. Standard error is redirected: with --error, srun reads a path as a pattern, and what srun itself says goes elsewhere.
readonly -a SRUN=(srun --mpi=none --export=ALL --kill-on-bad-exit=0 --wait=0)
# The srun of a role's step, its host file where all of it has one, and the roles that are in it.
STEP=() STEP_HOSTS='' STEP_ROLES=''

# Variables that change what srun does: those that Slurm sets for the batch script, and those of the shell that submitted
# it, which sbatch passes on. Of the latter a label before each line would make reports unreadable.
# Source: srun(1), input environment variables.
clean_slurm_environment() {
  local name
  unset SLURM_EXPORT_ENV SLURM_HINT SLURM_THREADS_PER_CORE SLURM_DISTRIBUTION SLURM_NPROCS SLURM_OVERCOMMIT SLURM_OVERLAP
  unset SLURM_EXACT SLURM_EXCLUSIVE SLURM_WHOLE SLURM_LABELIO SLURM_UNBUFFEREDIO SLURM_MULTI_PROG SLURM_OPEN_MODE
  unset SLURM_STDINMODE SLURM_STDOUTMODE SLURM_STDERRMODE SLURM_TASK_PROLOG SLURM_TASK_EPILOG SLURM_PROLOG SLURM_EPILOG
  unset SLURM_GRES SLURM_GPUS SLURM_NETWORK SLURM_CONSTRAINT SLURM_EXCLUDE SLURM_REMOTE_CWD SLURM_WORKING_DIR
  unset SLURM_RELATIVE SLURM_SPREAD_JOB SLURM_USE_MIN_NODES SLURM_TIMELIMIT SLURM_CORE_SPEC SLURM_THREAD_SPEC
  for name in "${!SRUN_@}" "${!SLURM_CPU_BIND@}" "${!SLURM_MEM_BIND@}" "${!SLURM_GPU_BIND@}" "${!SLURM_ACCEL_BIND@}" \
    "${!SLURM_NTASKS@}" "${!SLURM_CPUS_PER_@}" "${!SLURM_MEM_PER_@}" "${!SLURM_GPUS_PER_@}" "${!SLURM_CPU_FREQ_@}" \
    "${!SLURM_TRES_@}"; do
    unset "$name"
  done
}

# The Slurm job id of a component.
component_job() {
  component_value SLURM_JOB_ID "$1"
  COMPONENT_JOB=${VALUE:-$SLURM_JOB_ID}
}

# run_on_nodes NAME COMPONENT: this script with --NAME, once on every node of a component, or of the job, or on as many as
# NODES_ASKED says, for STEP_LIMIT seconds at most if that is set; print what the nodes answer.
run_on_nodes() {
  local name=$1 component=$2 count
  local -a group=()
  [[ $LAYOUT != het ]] || group=("--het-group=$component")
  component_value SLURM_JOB_NUM_NODES "$component"
  count=${NODES_ASKED:-$VALUE}
  ${STEP_LIMIT:+timeout -k 5 "$STEP_LIMIT"} "${SRUN[@]}" ${group[@]+"${group[@]}"} --job-name="$name" --overlap --mem=0 --gres=none \
    --nodes="$count" --ntasks="$count" --ntasks-per-node=1 --cpus-per-task=1 --input=none \
    --chdir=/ bash -p "$SCRIPT" "--$name" "$FOLDER" "$ATTEMPT" 2>"srun/$name-$component.log"
}

# ask_nodes NAME COMPONENT ...: run_on_nodes for all of them at once; what their nodes answer goes to NAME.COMPONENT in the
# scratch folder. UNANSWERED are those whose step failed; a step that never began ends the job.
ask_nodes() {
  local name=$1 component
  local -a steps=() ends=()
  shift
  UNANSWERED=()
  for component; do
    begin run_on_nodes "$name" "$component" >"$SCRATCH/$name.$component"
    steps[component]=$!
  done
  for component; do hear_end "${steps[component]}" || { ends[component]=$?; UNANSWERED+=("$component"); }; done
  # A step that fails may be the first sign of the job's end.
  ((!${#UNANSWERED[@]})) || [[ $OUTCOME ]] || listen
  for component in "${!ends[@]}"; do check_prologue "$name" "$component" "${ends[component]}"; done
}

# Fill PORTS_OF. A step that ends well and has answered for nobody has not done its work, either.
find_ports() {
  local component word role index label ports wanted=0
  local -a labels
  SWEEP=1
  ask_nodes ports "${EVERY_COMPONENT[@]}"
  for component in "${EVERY_COMPONENT[@]}"; do
    while read -r word role index label ports; do
      [[ $word != port ]] || PORTS_OF[$role.$index.$label]=$ports
    done <"$SCRATCH/ports.$component"
  done
  for role in "${!ROLE_NAME[@]}"; do
    read -ra labels <<<"${PORT_COUNTS[role]}"
    wanted=$((wanted + INSTANCES[role] * ${#labels[@]}))
  done
  ((!${#UNANSWERED[@]} && ${#PORTS_OF[@]} >= wanted)) ||
    give_up "no ports for all tasks: see srun/ports-*.log" 253 transient
}

# Start the step of a role in the background. Its tasks report on the events channel; its end is an event too.
start_role() {
  local role=$1 input=none stdin=/dev/null
  ((GANG)) || input=all stdin=$SCRATCH/orders.$role
  if [[ ! ${WORLD_OF[role]-} ]]; then
    plan_step "$role"
  else
    # The first role of a world starts all.
    [[ ${WORLD_OF[role]} == "$role" || ${WORLD_OF[role]} == "$role "* ]] || return 0
    plan_world "$role"
  fi
  (
    # Slurm signals everything in the job at its end; srun must outlive its tasks to bring their reports.
    trap '' TERM INT HUP USR1 USR2
    [[ ! $STEP_HOSTS ]] || export SLURM_HOSTFILE=$STEP_HOSTS
    "${STEP[@]}" <"$stdin" 2>&1 >&"$EVENTS" | hear_srun "$role" "srun/${ROLE_FOLDER[role]}.log"
    status=${PIPESTATUS[0]}
    for role in $STEP_ROLES; do printf 'step %s %s\n' "$role" "$status"; done
  ) >&"$EVENTS" &
  for role in $STEP_ROLES; do STEP_OPEN[role]=1; done
}

# The step of one role, in STEP.
plan_step() {
  STEP_ROLES=$1 STEP_HOSTS=$SCRATCH/hosts.$1
  write_hosts_of_step "$STEP_HOSTS" "$1"
  STEP=("${SRUN[@]}")
  add_to_step "$1" "$input" "${ROLE_NAME[$1]}" "$1"
}

# The step of the roles of a world, in STEP. In one allocation it is one list of hosts; over components it is one srun
# with a part for each, separated by colons, and a list for each.
plan_world() {
  local first=$1 role title=''
  STEP_ROLES=${WORLD_OF[first]} STEP_HOSTS='' STEP=()
  for role in $STEP_ROLES; do title+=${title:+-}${ROLE_NAME[role]}; done
  if [[ $LAYOUT != het ]]; then
    STEP_HOSTS=$SCRATCH/hosts.$first
    # shellcheck disable=SC2086 # several roles
    write_hosts_of_step "$STEP_HOSTS" $STEP_ROLES
    STEP=("${SRUN[@]/--mpi=none/--mpi=${MPI_OF[first]}}")
    add_to_step "$first" none "$title" "$first"
    return
  fi
  for role in $STEP_ROLES; do
    write_hosts_of_step "$SCRATCH/hosts.$role" "$role"
    if ((${#STEP[@]})); then STEP+=(: "${SRUN[@]:1}"); else STEP=("${SRUN[@]}"); fi
    STEP=("${STEP[@]/--mpi=none/--mpi=${MPI_OF[first]}}" "--nodelist=$SCRATCH/hosts.$role")
    add_to_step "$role" none "$title" "$first"
  done
}

# write_hosts_of_step FILE ROLE ...: a line for each task of Slurm's, in order; their number in HOST_COUNT.
write_hosts_of_step() {
  local file=$1 role node rank
  local -a hosts=()
  for role in "${@:2}"; do
    for node in ${NODES_OF[role]}; do
      for ((rank = 0; rank < ${RANKS_OF[role]:-1}; rank++)); do hosts+=("$node"); done
    done
  done
  printf '%s\n' "${hosts[@]}" >"$file"
  HOST_COUNT=${#hosts[@]}
}

# add_to_step ROLE INPUT NAME FIRST: what srun is told of a role, and what it starts. The host file says how many nodes there
# are: beside --distribution=arbitrary srun refuses --nodes since Slurm 23.11.
add_to_step() {
  local -a options
  read -ra options <<<"${STEP_OPTIONS[$1]}"
  [[ $LAYOUT != het ]] || STEP+=("--het-group=$1")
  STEP+=("--job-name=$3" "--ntasks=$HOST_COUNT" --distribution=arbitrary
    ${options[@]+"${options[@]}"} "--input=$2" "--chdir=$ATTEMPT_FOLDER"
    bash -p "$SCRIPT" --task "$FOLDER" "$ATTEMPT" "$4")
}

# hear_srun ROLE LOG: what srun and the nodes say of a step goes to its log; what tells of a loss, or of a node that starts nothing, is an event, too. The
# tasks of a step that is an MPI world are ranks; those of a task tell each other of their ends.
# Source: srun's messages since Slurm 2.6: "srun: error: n[1-2]: tasks 0,4-6: Killed", "srun: error: Node failure on n4".
hear_srun() {
  local role=$1 line status range log
  local deaths='^srun: error: [^ ]+: tasks? ([0-9,-]+): (.*)$' loss='^srun: error: Node failure on ([^ ]+)$'
  # srun must be heard even if nothing can be written.
  exec {log}>>"$2" || exec {log}>/dev/null
  while IFS= read -r line || [[ $line ]]; do
    printf '%s\n' "$line" >&"$log"
    if [[ $line =~ $loss ]]; then
      printf 'lost %s %s\n' "$role" "${BASH_REMATCH[1]}"
    elif [[ $line =~ $UNLAUNCHED_ON ]]; then
      printf 'unlaunched %s %s\n' "$role" "${BASH_REMATCH[1]}"
    elif [[ ! ${WORLD_OF[role]-} && $line =~ $deaths ]]; then
      case ${BASH_REMATCH[2]} in
        'Exited with exit code '*) status=${line##* } ;;
        Terminated*) status=143 ;;
        *) status=137 ;;
      esac
      for range in ${BASH_REMATCH[1]//,/ }; do
        printf 'died %s %s %s %s\n' "$role" "${range%-*}" "${range#*-}" "$status"
      done
    fi
  done
}

# signal_steps SIGNAL ROLE ...: to all tasks of these roles' steps. A step is named by the job of its component.
signal_steps() {
  local signal=$1 role
  local -a steps=()
  for role in "${@:2}"; do
    [[ ${STEP_ID[role]-} ]] || continue
    if [[ $LAYOUT == het ]]; then component_job "$role"; else component_job 0; fi
    # Roles of one world are in one step.
    [[ " ${steps[*]-} " == *" $COMPONENT_JOB.${STEP_ID[role]} "* ]] || steps+=("$COMPONENT_JOB.${STEP_ID[role]}")
  done
  # One scancel for each: given several steps at once, that of Slurm 22.05 fails for all but KILL.
  local step
  for step in ${steps[@]+"${steps[@]}"}; do
    scancel --signal="$signal" "$step" 2>>srun/scancel.log
  done
}

# A task that does not end by itself leaves its bell, and its container what it wrote, on its node, and so does a slot that
# never had one. Of a job that Slurm ends no step starts any more, and on a lost node none does.
sweep_nodes() {
  [[ $SWEEP && $OUTCOME != interrupted && $OUTCOME_CODE != -1001 ]] || return 0
  # The name of the folder may be another job's by now.
  [[ . -ef $ATTEMPT_FOLDER ]] || return 0
  STEP_LIMIT=30 ask_nodes sweep "${EVERY_COMPONENT[@]}"
}

# All tasks have begun: tell those that wait for it, by a file beside the bell of each.
lift_barrier() {
  local component
  for component in "${EVERY_COMPONENT[@]}"; do run_on_nodes barrier "$component" >/dev/null & done
}
