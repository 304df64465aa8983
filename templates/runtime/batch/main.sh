# The order of everything, on the node where Slurm starts the script.

batch_main() {
  if [[ ${PSL_EXPORT_ENV+x} ]]; then
    limit_exports "$@"
  fi
  forward_signals_to run_attempt "$@"
}

# In a child of the script.
run_attempt() {
  read_clock
  PSL_BEGAN_AT=$PSL_NOW PSL_RUN_ID=$SLURM_JOB_ID
  open_folder "$@"
  PSL_SCRATCH=$(mktemp -d "${TMPDIR:-/tmp}/paislurm.XXXXXX") || die "cannot make a scratch folder on $SLURMD_NODENAME"
  trap 'rm -rf -- "$PSL_SCRATCH"' EXIT
  clean_slurm_environment
  place_slots
  find_addresses
  handle_pending_signals
  PSL_RUN_ID=$SLURM_JOB_ID-$PSL_ATTEMPT
  name_node_folder
  write_placement
  handle_pending_signals
  if [[ ${PSL_INFINIBAND_CHECKS[*]-} ]]; then
    check_infiniband
  fi
  if [[ $PSL_FETCHES_IMAGES ]]; then
    stage_images
  fi
  if ((PSL_GANG)); then
    find_ports
  fi
  write_environment
  { write_ssh && write_hosts; } || die "cannot write to $PSL_ATTEMPT_FOLDER"
  handle_pending_signals
  if [[ $PSL_STAGE_CODE ]]; then
    fetch_code
  fi
  if [[ $PSL_MAKE_OUTPUT ]]; then
    make_output
  fi
  handle_pending_signals
  start_all_roles
  supervise
  finish
}

# The folder for calls, on each node: /tmp is everybody's, so nobody is to know its name beforehand.
name_node_folder() {
  local random
  read -r random </proc/sys/kernel/random/uuid
  PSL_NODE_FOLDER=/tmp/paislurm-$PSL_RUN_ID-${random##*-}
}

start_all_roles() {
  local role fd
  for role in "${!PSL_ROLE_NAME[@]}"; do
    PSL_SUCCEEDED[role]=0 PSL_FAILED[role]=0 PSL_NEXT_TASK[role]=0
    PSL_TASK_COUNT=$((PSL_TASK_COUNT + PSL_INSTANCES[role]))
    ((PSL_GANG)) || { mkfifo -- "$PSL_SCRATCH/orders.$role" && exec {fd}<>"$PSL_SCRATCH/orders.$role" && PSL_COMMAND_FDS[role]=$fd; }
  done
  for role in "${!PSL_ROLE_NAME[@]}"; do start_role "$role"; done
  # From here on tasks remove what they leave.
  PSL_NEEDS_CLEANUP=''
  read_clock
  PSL_STEP_DEADLINE=$((PSL_NOW + PSL_STEP_SECONDS / 2))
}

# The truth is in result.json; the exit status is for Slurm's accounting, which loses the eighth bit of a larger one.
finish() {
  read_clock
  write_result
  [[ $PSL_OUTCOME != succeeded || ! $PSL_SECRET_NAMES ]] || forget_secrets
  clean_up_nodes
  case $PSL_OUTCOME in
    succeeded) exit 0 ;;
    failed) exit 1 ;;
    *) exit 3 ;;
  esac
}
