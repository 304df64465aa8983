# Starting steps, and stopping their tasks: always by a signal through Slurm, because srun, killed, kills its tasks.

# Options of every srun. --overlap and --mem=0 let prologue steps run in what the job has. Standard error is redirected:
# with --error, srun reads a path as a pattern, and what srun itself says goes elsewhere.
readonly -a SRUN=(srun --mpi=none --export=ALL --kill-on-bad-exit=0 --wait=0)

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

# run_on_nodes NAME COMPONENT: this script with --NAME, once on every node of a component, or of the job; print what the
# nodes answer.
run_on_nodes() {
  local name=$1 component=$2 count
  local -a group=()
  [[ $LAYOUT != het ]] || group=("--het-group=$component")
  component_value SLURM_JOB_NUM_NODES "$component"
  count=$VALUE
  "${SRUN[@]}" ${group[@]+"${group[@]}"} --job-name="$name" --overlap --mem=0 --gres=none \
    --nodes="$count" --ntasks="$count" --ntasks-per-node=1 --cpus-per-task=1 --input=none \
    --chdir=/ bash "$SCRIPT" "--$name" "$FOLDER" "$ATTEMPT" 2>"$ATTEMPT_FOLDER/srun/$name-$component.log"
}

# Ask all nodes at once; fill PORTS_OF.
find_ports() {
  local component line word role index label ports
  local -a steps=()
  for ((component = 0; component < COMPONENTS; component++)); do
    run_on_nodes ports "$component" >"$SCRATCH/ports.$component" &
    steps+=($!)
  done
  for component in "${!steps[@]}"; do
    wait "${steps[component]}" || PORTS_FAILED=1
    while read -r word role index label ports; do
      [[ $word != port ]] || PORTS_OF[$role.$index.$label]=$ports
    done <"$SCRATCH/ports.$component"
  done
  ((!PORTS_FAILED)) || give_up "no ports for all tasks: see srun/ports-*.log" 253 transient
}

# Start the step of a role in the background. Its tasks report on the events channel; its end is an event too.
start_role() {
  local role=$1 hosts=$SCRATCH/hosts.$1 input=none stdin=/dev/null
  local -a nodes group=() options
  read -ra nodes <<<"${NODES_OF[role]}"
  printf '%s\n' "${nodes[@]}" >"$hosts"
  [[ $LAYOUT != het ]] || group=("--het-group=$role")
  ((GANG)) || input=all stdin=$SCRATCH/orders.$role
  read -ra options <<<"${STEP_OPTIONS[role]}"
  local -A distinct=()
  local node
  for node in "${nodes[@]}"; do distinct[$node]=1; done
  (
    # Slurm signals everything in the job at its end; srun must outlive its tasks to bring their reports.
    trap '' TERM INT HUP USR1 USR2
    SLURM_HOSTFILE=$hosts "${SRUN[@]}" ${group[@]+"${group[@]}"} --job-name="${ROLE_NAME[role]}" \
      --nodes="${#distinct[@]}" --ntasks="${#nodes[@]}" --distribution=arbitrary ${options[@]+"${options[@]}"} \
      --input="$input" --chdir="$ATTEMPT_FOLDER" bash "$SCRIPT" --task "$FOLDER" "$ATTEMPT" "$role" \
      <"$stdin" 2>&1 >"$SCRATCH/events" | hear_srun "$role" "srun/${ROLE_FOLDER[role]}.log"
    printf 'step %s %s\n' "$role" "${PIPESTATUS[0]}"
  ) >"$SCRATCH/events" &
  STEP_OPEN[role]=1
}

# hear_srun ROLE LOG: what srun and the nodes say of a step goes to its log; what tells of a loss is an event, too.
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
    elif [[ $line =~ $deaths ]]; then
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
    steps+=("$COMPONENT_JOB.${STEP_ID[role]}")
  done
  # One scancel for each: given several steps at once, that of Slurm 22.05 fails for all but KILL.
  local step
  for step in ${steps[@]+"${steps[@]}"}; do
    scancel --signal="$signal" "$step" 2>>"$ATTEMPT_FOLDER/srun/scancel.log"
  done
}

# All tasks have begun: tell those that wait for it, by a file beside the bell of each.
lift_barrier() {
  local component
  for ((component = 0; component < COMPONENTS; component++)); do
    run_on_nodes barrier "$component" >/dev/null &
  done
}
