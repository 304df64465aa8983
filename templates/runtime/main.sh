# The order of everything. Slurm calls this script for the job; the script calls itself for the tasks.

main() {
  case ${1-} in
    --task) task_main "${@:2}" ;;
    --ports) ports_main "${@:2}" ;;
    --fabric) fabric_main "${@:2}" ;;
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
  write_placement
  check_fabric
  ((!GANG)) || find_ports
  write_environment
  fetch_code
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

ports_main() {
  FOLDER=$1 ATTEMPT=$2
  # shellcheck source=/dev/null # written by write_placement
  source "$FOLDER/attempts/$ATTEMPT/placement.sh" || exit
  print_ports_of_node
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
