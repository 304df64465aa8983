# Run a task inside its container, and answer calls there.

# container_side_main FOLDER ATTEMPT ROLE SLOT INDEX TASK-ATTEMPT PROCESS: run the task to its end.
# PROCESS is that of the container. Use few local variables here and below, because each would hide
# a variable of its name from exportEnv.
container_side_main() {
  [[ ${8-} ]] && start_in_container "$@"  # only: contained-ranks
  local status=0
  exec {PSL_REPORT_FD}>&3 3>&-
  open_attempt "$1" "$2" || exit
  PSL_ROLE=$3 PSL_SLOT=$4
  # shellcheck source=/dev/null # written by prepare_container
  source "$PSL_NODE_FOLDER/$PSL_ROLE.$PSL_SLOT.root/environment" || exit
  start_first_rank || exit  # only: contained-ranks
  PSL_REPORT_FILE=$PSL_ATTEMPT_FOLDER/tasks/$SLURMD_NODENAME.log
  unset TMPDIR
  outlive_signals
  open_control_fifo "$PSL_ROLE.$PSL_SLOT"
  name_logs "$5" "$6"
  cd -- "$PSL_ATTEMPT_FOLDER/work/${PSL_ROLE_FOLDER[PSL_ROLE]}/$5" || exit
  read_environment || exit
  take_devices "$PSL_ROLE" || exit
  export_task_environment "$PSL_ROLE" "$5" "$6"
  limit_ucx
  export PAISLURM_INSIDE=1
  if [[ ${PSL_WORKDIR[PSL_ROLE]-task} == task ]] || enter_workdir; then
    run_task_commands "$5" "$6" || status=$?
  else
    status=1 PSL_CODE_OF_SCRIPT='252 permanent'
  fi
  printf '%s\n' "$PSL_COMMANDS_ENDED" >"$PSL_NODE_FOLDER/$PSL_ROLE.$PSL_SLOT.root/ended.at"
  printf '%s\n' "$PSL_CODE_OF_SCRIPT" >"$PSL_NODE_FOLDER/$PSL_ROLE.$PSL_SLOT.root/ended"
  send 1 end "$7" "$status" \
    1<>"$PSL_NODE_FOLDER/$PSL_ROLE.$PSL_SLOT$PSL_HOST_SUFFIX"
  exit "$status"
}

# limit_ucx: exclude transports of UCX that fail between containers of one node. UCX assumes that
# all processes of a node share memory. Containers share only that of System V: each has its own
# /dev/shm (posix) and user namespace, and cannot read another's memory (cma). Otherwise MPICH would
# first use a transport that fails.
# Source: UCX 1.13, list of main transports and aliases; process_vm_readv(2), errors.
limit_ucx() {
  local list=,${UCX_TLS-},
  shares_node || return 0
  list=${list//,sm,/,sysv,}
  list=${list//,shm,/,sysv,}
  list=${list#,}
  export UCX_TLS=${list%,}
  if [[ ! $UCX_TLS ]]; then
    UCX_TLS=^posix,cma
  fi
}

# shares_node: succeed if this node has several tasks of the job.
shares_node() {
  local all=" ${PSL_NODES_OF[*]} "
  [[ " ${all#*" $SLURMD_NODENAME "} " == *" $SLURMD_NODENAME "* ]]
}
