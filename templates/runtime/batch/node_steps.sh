# Run steps once on each node, before the steps of the tasks.

# The components whose step failed.
PSL_FAILED_COMPONENTS=()

# ask_nodes NAME COMPONENT ...: call run_on_nodes for all of the components at once. The output of
# their nodes goes to NAME.COMPONENT in the scratch folder. Set PSL_FAILED_COMPONENTS to the
# components whose step failed. A step that never started ends the job.
ask_nodes() {
  local name=$1 component status
  local -a steps=() ends=()
  shift
  PSL_FAILED_COMPONENTS=()
  for component; do
    start_in_background run_on_nodes "$name" "$component" >"$PSL_SCRATCH/$name.$component"
    steps[component]=$!
  done
  for component; do
    await_end "${steps[component]}"
    status=$?
    if ((status)); then
      ends[component]=$status
      PSL_FAILED_COMPONENTS+=("$component")
    fi
  done
  # A failed step may be the first sign that Slurm is ending the job.
  if ((${#PSL_FAILED_COMPONENTS[@]})) && [[ ! $PSL_OUTCOME ]]; then
    read_event
  fi
  for component in "${!ends[@]}"; do
    if [[ ! $PSL_OUTCOME ]]; then
      check_step_began "$name" "$component" "${ends[component]}"
    fi
  done
}

# check_step_began NAME COMPONENT STATUS: end the job if a step before those of the tasks, which has
# ended with STATUS, never started.
check_step_began() {
  explain_launch "srun/$1-$2.log" "$3" || return 0
  # Slurm may be ending the whole job, and its signal comes later.
  if [[ $PSL_LAUNCH_FAILURE == -1402* ]]; then
    run_interruptibly sleep "$PSL_PROVISIONAL_SECONDS"
  fi
  end_by_failed_launch "step $1" "$PSL_LAUNCH_FAILURE" "$PSL_LAUNCH_NODE" "$PSL_LAUNCH_WORDS"
  die "$PSL_OUTCOME_REASON"
}
