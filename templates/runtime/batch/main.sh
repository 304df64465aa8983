# The order of everything, on the node where Slurm starts the script.

batch_main() {
  limit_exports "$@"
  lead run_attempt "$@"
}

# In a child of the script.
run_attempt() {
  read_clock
  BEGAN_AT=$NOW RUN_ID=$SLURM_JOB_ID
  open_folder "$@"
  SCRATCH=$(mktemp -d "${TMPDIR:-/tmp}/paislurm.XXXXXX") || give_up "cannot make a scratch folder on $SLURMD_NODENAME"
  trap 'rm -rf -- "$SCRATCH"' EXIT
  clean_slurm_environment
  place_slots
  find_addresses
  heed_signals
  RUN_ID=$SLURM_JOB_ID-$ATTEMPT
  name_calls
  write_placement
  heed_signals
  check_fabric
  [[ $CONTAINER_RUNTIME == none ]] || stage_images
  ((!GANG)) || find_ports
  write_environment
  { write_ssh && write_hosts; } || give_up "cannot write to $ATTEMPT_FOLDER"
  heed_signals
  fetch_code
  make_output
  heed_signals
  start_all_roles
  supervise
  finish
}

# The folder for calls, on each node: /tmp is everybody's, so nobody is to know its name beforehand.
name_calls() {
  local random
  read -r random </proc/sys/kernel/random/uuid
  CALLS=/tmp/paislurm-$RUN_ID-${random##*-}
}

start_all_roles() {
  local role fd
  for role in "${!ROLE_NAME[@]}"; do
    SUCCEEDED[role]=0 FAILED[role]=0 NEXT_TASK[role]=0
    TASK_COUNT=$((TASK_COUNT + INSTANCES[role]))
    ((GANG)) || { mkfifo -- "$SCRATCH/orders.$role" && exec {fd}<>"$SCRATCH/orders.$role" && ORDERS[role]=$fd; }
  done
  for role in "${!ROLE_NAME[@]}"; do start_role "$role"; done
  # From here on tasks remove what they leave.
  SWEEP=''
  read_clock
  ROOM_BY=$((NOW + STEP_SECONDS / 2))
}

# The truth is in result.json; the exit status is for Slurm's accounting, which loses the eighth bit of a larger one.
finish() {
  read_clock
  write_result
  [[ $OUTCOME != succeeded ]] || forget_secrets
  sweep_nodes
  case $OUTCOME in
    succeeded) exit 0 ;;
    failed) exit 1 ;;
    *) exit 3 ;;
  esac
}
