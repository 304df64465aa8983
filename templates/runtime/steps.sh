# Starting steps, and stopping their tasks: always by a signal through Slurm, because srun, killed, kills its tasks.

# Options of every srun. --overlap and --mem=0 let prologue steps run in what the job has. Standard error is redirected:
# with --error, srun reads a path as a pattern, and what srun itself says goes elsewhere.
readonly -a SRUN=(srun --mpi=none --export=ALL --kill-on-bad-exit=0 --wait=0)

# Variables that Slurm sets for the batch script and that would change what srun does.
clean_slurm_environment() {
  unset SLURM_EXPORT_ENV SLURM_CPU_BIND SLURM_CPU_BIND_LIST SLURM_CPU_BIND_TYPE SLURM_CPU_BIND_VERBOSE
  unset SLURM_NTASKS SLURM_NPROCS SLURM_NTASKS_PER_NODE SLURM_CPUS_PER_TASK SLURM_DISTRIBUTION SLURM_HINT
  unset SLURM_MEM_PER_NODE SLURM_MEM_PER_CPU SLURM_MEM_PER_GPU SLURM_GPUS_PER_TASK SLURM_THREADS_PER_CORE
  local name
  for name in "${!SLURM_NTASKS_PER_NODE_@}" "${!SLURM_CPUS_PER_TASK_@}" "${!SLURM_MEM_PER_@}"; do unset "$name"; done
}

# The Slurm job id of a component.
component_job() {
  component_value SLURM_JOB_ID "$1"
  COMPONENT_JOB=${VALUE:-$SLURM_JOB_ID}
}

# run_on_nodes NAME COMPONENT [COUNT]: this script with --NAME, once on every node of a component, or of the job, or on
# so many of them; print what the nodes answer.
run_on_nodes() {
  local name=$1 component=$2 count
  local -a group=()
  [[ $LAYOUT != het ]] || group=("--het-group=$component")
  component_value SLURM_JOB_NUM_NODES "$component"
  count=${3:-$VALUE}
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
      <"$stdin" 2>"srun/${ROLE_FOLDER[role]}.log"
    printf 'step %s %s\n' "$role" "$?"
  ) >"$SCRATCH/events" &
  STEP_OPEN[role]=1
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
