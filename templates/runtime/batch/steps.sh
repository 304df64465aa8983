# Starting steps, and stopping their tasks: always by a signal through Slurm, because srun, killed, kills its tasks.

# Options of every srun, but for --mpi where it starts ranks. --overlap and --mem=0 let prologue steps run in what the job
# has. Standard error is redirected: with --error, srun reads a path as a pattern, and what srun itself says goes elsewhere.
readonly -a PSL_SRUN=(srun --mpi=none --export=ALL --kill-on-bad-exit=0 --wait=0)

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
  PSL_COMPONENT_JOB=${PSL_VALUE:-$SLURM_JOB_ID}
}

# run_on_nodes NAME COMPONENT: this script with --NAME, once on every node of a component, or of the job, or on as many as
# PSL_NODES_ASKED says, for PSL_STEP_LIMIT seconds at most if that is set; print what the nodes answer.
run_on_nodes() {
  local name=$1 component=$2 count
  local -a group=()
  if [[ $PSL_LAYOUT == het ]]; then
    group=("--het-group=$component")
  fi
  component_value SLURM_JOB_NUM_NODES "$component"
  count=${PSL_NODES_ASKED:-$PSL_VALUE}
  ${PSL_STEP_LIMIT:+timeout -k 5 "$PSL_STEP_LIMIT"} "${PSL_SRUN[@]}" ${group[@]+"${group[@]}"} --job-name="$name" --overlap --mem=0 --gres=none \
    --nodes="$count" --ntasks="$count" --ntasks-per-node=1 --cpus-per-task=1 --input=none \
    --chdir=/ bash -p "$PSL_SCRIPT" "--$name" "$PSL_FOLDER" "$PSL_ATTEMPT" 2>"srun/$name-$component.log"
}

# ask_nodes NAME COMPONENT ...: run_on_nodes for all of them at once; what their nodes answer goes to NAME.COMPONENT in the
# scratch folder. PSL_FAILED_COMPONENTS are those whose step failed; a step that never began ends the job.
ask_nodes() {
  local name=$1 component
  local -a steps=() ends=()
  shift
  PSL_FAILED_COMPONENTS=()
  for component; do
    start_in_background run_on_nodes "$name" "$component" >"$PSL_SCRATCH/$name.$component"
    steps[component]=$!
  done
  for component; do await_end "${steps[component]}" || { ends[component]=$?; PSL_FAILED_COMPONENTS+=("$component"); }; done
  # A step that fails may be the first sign of the job's end.
  ((!${#PSL_FAILED_COMPONENTS[@]})) || [[ $PSL_OUTCOME ]] || read_event
  for component in "${!ends[@]}"; do check_prologue "$name" "$component" "${ends[component]}"; done
}

# Fill PSL_PORTS_OF. A step that ends well and has answered for nobody has not done its work, either.
find_ports() {
  local component word role index label ports wanted=0
  local -a labels
  PSL_NEEDS_CLEANUP=1
  ask_nodes ports "${PSL_EVERY_COMPONENT[@]}"
  for component in "${PSL_EVERY_COMPONENT[@]}"; do
    while read -r word role index label ports; do
      if [[ $word == port ]]; then
        PSL_PORTS_OF[$role.$index.$label]=$ports
      fi
    done <"$PSL_SCRATCH/ports.$component"
  done
  for role in "${!PSL_ROLE_NAME[@]}"; do
    read -ra labels <<<"${PSL_PORT_COUNTS[role]}"
    wanted=$((wanted + PSL_INSTANCES[role] * ${#labels[@]}))
  done
  ((!${#PSL_FAILED_COMPONENTS[@]} && ${#PSL_PORTS_OF[@]} >= wanted)) ||
    die "no ports for all tasks: see srun/ports-*.log" 253 transient
}

# Start the step of a role in the background, with the srun that the head of the script has for it. Its tasks report on
# the events channel; its end is an event too.
start_role() {
  local role=$1 stdin=/dev/null roles=${PSL_MPI_WORLD_OF[$1]-$1} each
  # The first role of an MPI world starts all of it.
  [[ ${roles%% *} == "$role" ]] || return 0
  ((PSL_GANG)) || stdin=$PSL_SCRATCH/orders.$role
  # shellcheck disable=SC2086 # several roles
  write_host_files $roles
  (
    # Slurm signals everything in the job at its end; srun must outlive its tasks to bring their reports.
    trap '' TERM INT HUP USR1 USR2
    "srun_of_role_$role" <"$stdin" 2>&1 >&"$PSL_EVENT_FD" |
      watch_srun "$role" "srun/${PSL_ROLE_FOLDER[role]}.log"
    status=${PIPESTATUS[0]}
    for each in $roles; do printf 'step %s %s\n' "$each" "$status"; done
  ) >&"$PSL_EVENT_FD" &
  for each in $roles; do PSL_STEP_RUNNING[each]=1; done
}

# write_host_files ROLE ...: the nodes of the tasks and ranks that an srun starts, in order. An srun over components has a
# file for each, any other one for all its roles. Beside --distribution=arbitrary srun refuses --nodes since Slurm 23.11.
write_host_files() {
  local first=$1 role node rank file
  for role; do
    file=$PSL_SCRATCH/hosts.$first
    if [[ $PSL_LAYOUT == het ]]; then
      file=$PSL_SCRATCH/hosts.$role
    fi
    for node in ${PSL_NODES_OF[role]}; do
      for ((rank = 0; rank < ${PSL_RANKS_OF[role]:-1}; rank++)); do printf '%s\n' "$node"; done
    done >>"$file"
  done
}

# watch_srun ROLE LOG: what srun and the nodes say of a step goes to its log; what tells of a loss, or of a node that starts nothing, is an event, too. The
# tasks of a step that is an MPI world are ranks; those of a task tell each other of their ends.
# Source: srun's messages since Slurm 2.6: "srun: error: n[1-2]: tasks 0,4-6: Killed", "srun: error: Node failure on n4".
watch_srun() {
  local role=$1 line status range log
  local deaths='^srun: error: [^ ]+: tasks? ([0-9,-]+): (.*)$' loss='^srun: error: Node failure on ([^ ]+)$'
  # srun must be heard even if nothing can be written.
  exec {log}>>"$2" || exec {log}>/dev/null
  while IFS= read -r line || [[ $line ]]; do
    printf '%s\n' "$line" >&"$log"
    if [[ $line =~ $loss ]]; then
      printf 'lost %s %s\n' "$role" "${BASH_REMATCH[1]}"
    elif [[ $line =~ $PSL_NODE_LAUNCH_ERROR ]]; then
      printf 'unlaunched %s %s\n' "$role" "${BASH_REMATCH[1]}"
    elif [[ ! ${PSL_MPI_WORLD_OF[role]-} && $line =~ $deaths ]]; then
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
    [[ ${PSL_STEP_ID[role]-} ]] || continue
    if [[ $PSL_LAYOUT == het ]]; then component_job "$role"; else component_job 0; fi
    # Roles of one world are in one step.
    [[ " ${steps[*]-} " == *" $PSL_COMPONENT_JOB.${PSL_STEP_ID[role]} "* ]] || steps+=("$PSL_COMPONENT_JOB.${PSL_STEP_ID[role]}")
  done
  # One scancel for each: given several steps at once, that of Slurm 22.05 fails for all but KILL.
  local step
  for step in ${steps[@]+"${steps[@]}"}; do
    scancel --signal="$signal" "$step" 2>>srun/scancel.log
  done
}

# A task that does not end by itself leaves its bell, and its container what it wrote, on its node, and so does a slot that
# never had one. Of a job that Slurm ends no step starts any more, and on a lost node none does.
clean_up_nodes() {
  [[ $PSL_NEEDS_CLEANUP && $PSL_OUTCOME != interrupted && $PSL_OUTCOME_CODE != -1001 ]] || return 0
  # The name of the folder may be another job's by now.
  [[ . -ef $PSL_ATTEMPT_FOLDER ]] || return 0
  PSL_STEP_LIMIT=30 ask_nodes sweep "${PSL_EVERY_COMPONENT[@]}"
}

# All tasks have begun: tell those that wait for it, by a file beside the bell of each.
lift_barrier() {
  local component
  for component in "${PSL_EVERY_COMPONENT[@]}"; do run_on_nodes barrier "$component" >/dev/null & done
}
