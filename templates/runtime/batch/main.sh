# Run the job from its start to its result, on its first node.

batch_main() {
  if [[ ${1-} == --preflight-* ]]; then  # only: preflight
    preflight_main "$@"  # only: preflight
    return  # only: preflight
  fi  # only: preflight
  [[ ${PSL_EXPORT_ENV+x} ]] && limit_exports "$@"  # only: export-env
  forward_signals_to run_attempt "$@"
}

# run_attempt ARGUMENT ...: run all stages of the attempt in order, in a child of the script.
run_attempt() {
  trap end_script EXIT
  begin_attempt "$@"
  run_starts  # only: spare
}  # only: spare
# run_start: run the tasks until their end, or until a restart.  # only: spare
run_start() {  # only: spare
  place_attempt
  [[ ${PSL_INFINIBAND_CHECKS[*]-} ]] && check_infiniband  # only: infiniband
  check_preflight  # only: preflight
  [[ $PSL_FETCHES_IMAGES ]] && stage_images  # only: registry
  write_attempt
  start_all_roles
  supervise
  end_start  # only: spare
  finish
}

# begin_attempt ARGUMENT ...: enter the run folder and claim the attempt.
begin_attempt() {
  read_clock
  read_uptime
  PSL_BEGAN_AT=$PSL_NOW PSL_BEGAN_UPTIME=$PSL_UPTIME PSL_RUN_ID=$SLURM_JOB_ID
  open_folder "$@"
  find_checkpoint && PSL_RESUMED_FROM=$PSL_NEWEST  # only: checkpoints
  note_start  # only: requeue
  PSL_SCRATCH=$(mktemp -d "$(temporary_folder)/paislurm.XXXXXX") ||
    die "cannot make a scratch folder on $SLURMD_NODENAME"
  clean_slurm_environment
}

# place_attempt: find the node of each slot, and write the placement for the nodes.
place_attempt() {
  place_slots
  find_addresses
  handle_pending_signals
  PSL_RUN_ID=$SLURM_JOB_ID-$PSL_ATTEMPT
  name_node_folder
  write_placement
  handle_pending_signals
}

# name_node_folder: name the node folder. Every user can write to /tmp, so the name must not be
# predictable.
name_node_folder() {
  local random
  read -r random </proc/sys/kernel/random/uuid
  PSL_NODE_FOLDER=/tmp/paislurm-$PSL_RUN_ID-${random##*-}
}

# write_attempt: write the files that the tasks read, and fetch the code that they share.
write_attempt() {
  write_environment
  write_programs || die "cannot write to $PSL_ATTEMPT_FOLDER"
  write_hosts || die "cannot write to $PSL_ATTEMPT_FOLDER"  # only: containers
  handle_pending_signals
  [[ $PSL_STAGE_CODE ]] && fetch_code  # only: code
  [[ $PSL_MAKE_OUTPUT ]] && make_output  # only: code
  handle_pending_signals
}

# start_all_roles: start the steps of all roles. See start_role for the name of the local variable.
start_all_roles() {
  local PSL_EACH
  for PSL_EACH in "${!PSL_ROLE_NAME[@]}"; do
    PSL_SUCCEEDED[PSL_EACH]=0 PSL_FAILED[PSL_EACH]=0
    PSL_TASK_COUNT=$((PSL_TASK_COUNT + PSL_INSTANCES[PSL_EACH]))
  done
  make_command_channels
  find_shared_cores  # only: odd-cpus
  for PSL_EACH in "${!PSL_ROLE_NAME[@]}"; do
    start_role "$PSL_EACH"
  done
  read_clock
  PSL_STEP_DEADLINE=$((PSL_NOW + PSL_STEP_SECONDS / 2))
}

# end_script: clean up at any end of the script, and keep its exit status.
end_script() {
  if [[ $PSL_SCRATCH ]]; then
    rm -rf -- "$PSL_SCRATCH"
  fi
  owns_attempt || return 0  # only: requeue
  [[ ${PSL_MONITOR_AFTER-} ]] && take_monitor_step  # only: monitor-step
  # The script needs no file of this attempt any more, so the run folder may be tidied.
  if [[ ${PSL_CLAIMED-} && -d claim ]]; then
    : 2>/dev/null >claim/ended
  fi
}

# finish: end the script. The full outcome is in result.json. The exit status is for Slurm's
# accounting, which loses the eighth bit of a larger one.
finish() {
  end_before_restart  # only: requeue
  read_clock
  find_checkpoint && PSL_CHECKPOINT_AT=$PSL_NEWEST  # only: checkpoints
  write_result
  [[ $PSL_OUTCOME == succeeded ]] && forget_secrets  # only: secrets
  clean_up_nodes
  case $PSL_OUTCOME in
    succeeded) exit 0 ;;
    failed) exit "$((PSL_UNWRITTEN && PSL_FULL ? 7 : 1))" ;;
    *) exit 3 ;;
  esac
}
