# The order of everything, on the node where Slurm starts the script.

batch_main() {
  read_clock
  BEGAN_AT=$NOW RUN_ID=$SLURM_JOB_ID
  trap on_term TERM
  trap on_time_warning USR1
  open_folder "$@"
  SCRATCH=$(mktemp -d "${TMPDIR:-/tmp}/paislurm.XXXXXX") || give_up "cannot make a scratch folder on $SLURMD_NODENAME"
  trap 'rm -rf -- "$SCRATCH"' EXIT
  clean_slurm_environment
  place_slots
  find_addresses
  RUN_ID=$SLURM_JOB_ID-$ATTEMPT
  CALLS=/tmp/paislurm-$RUN_ID-$RANDOM$RANDOM
  write_placement
  check_fabric
  [[ $CONTAINER_RUNTIME == none ]] || stage_images
  ((!GANG)) || find_ports
  write_environment
  { write_ssh && write_hosts; } || give_up "cannot write to $ATTEMPT_FOLDER"
  fetch_code
  make_output
  start_all_roles
  supervise
  finish
}

start_all_roles() {
  local role fd
  mkfifo -- "$SCRATCH/events"
  # Open for reading and writing, so that the channel has no end while steps come and go.
  exec {EVENTS}<>"$SCRATCH/events"
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
