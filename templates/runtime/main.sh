# The order of everything. Slurm calls this script for the job; the script calls itself for the tasks.

main() {
  case ${1-} in
    --task) task_main "${@:2}" ;;
    --ports) open_attempt "${@:2}" && print_ports_of_node && make_bells_of_node ;;
    --image) open_attempt "${@:2}" && fetch_images_main ;;
    --barrier) open_attempt "${@:2}" && mark_bells ready ;;
    --mount) mount_main "${@:2}" ;;
    --inside) inside_main "${@:2}" ;;
    --fabric) open_attempt "${@:2}" && print_fabric_problems ;;
    --ssh) ssh_main "${@:2}" ;;
    --exec) exec_main "${@:2}" ;;
    --relay) relay_main "${@:2}" ;;
    *) batch_main "$@" ;;
  esac
}

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
}

# open_attempt FOLDER ATTEMPT: for a part of the job that is no task.
open_attempt() {
  FOLDER=$1 ATTEMPT=$2 ATTEMPT_FOLDER=$1/attempts/$2
  SCRIPT=$ATTEMPT_FOLDER/job.sbatch
  # shellcheck source=/dev/null # written by write_placement
  source "$ATTEMPT_FOLDER/placement.sh"
}

# The truth is in result.json; the exit status is for Slurm's accounting, which loses the eighth bit of a larger one.
finish() {
  read_clock
  write_result
  case $OUTCOME in
    succeeded) forget_secrets; exit 0 ;;
    failed) exit 1 ;;
    *) exit 3 ;;
  esac
}
