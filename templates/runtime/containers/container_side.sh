# The task inside its container: it runs the scripts and commands, and answers calls.

# container_side_main FOLDER ATTEMPT ROLE SLOT INDEX TASK-ATTEMPT PROCESS: the process is that of the container.
container_side_main() {
  local status=0
  exec {PSL_REPORT_FD}>&3 3>&-
  open_attempt "$1" "$2" || exit
  PSL_ROLE=$3 PSL_SLOT=$4 PSL_REPORT_FILE=$PSL_ATTEMPT_FOLDER/tasks/${PSL_ROLE_FOLDER[$3]}/$4.log
  # shellcheck source=/dev/null # written by prepare_container
  source "$PSL_NODE_FOLDER/$PSL_ROLE.$PSL_SLOT.root/environment" || exit
  unset TMPDIR
  outlive_signals
  open_control_fifo "$PSL_ROLE.$PSL_SLOT"
  name_logs "$5" "$6"
  cd -- "$PSL_ATTEMPT_FOLDER/work/${PSL_ROLE_FOLDER[PSL_ROLE]}/$5" && read_environment "$5" && take_devices "$PSL_ROLE" || exit
  export_task_environment "$PSL_ROLE" "$5" "$6"
  limit_ucx
  export PAISLURM_INSIDE=1
  if enter_workdir; then
    run_and_hold "$5" "$6" || status=$?
  else
    status=1 PSL_CODE_OF_SCRIPT='252 permanent'
  fi
  printf '%s\n' "$PSL_CODE_OF_SCRIPT" >"$PSL_NODE_FOLDER/$PSL_ROLE.$PSL_SLOT.root/ended"
  printf 'end %s %s\n' "$7" "$status" 1<>"$PSL_NODE_FOLDER/$PSL_ROLE.$PSL_SLOT$PSL_HOST_SUFFIX"
  exit "$status"
}

# To UCX all processes of a node share their memory. Containers of one node share that of System V alone: they have a
# /dev/shm (posix) and a user namespace each, and cannot read each other's memory (cma). MPICH begins with what fails.
# Source: UCX 1.13, list of main transports and aliases; process_vm_readv(2), errors.
limit_ucx() {
  local all=" ${PSL_NODES_OF[*]} " list=,${UCX_TLS-},
  [[ " ${all#*" $SLURMD_NODENAME "}" == *" $SLURMD_NODENAME "* ]] || return 0
  list=${list//,sm,/,sysv,} list=${list//,shm,/,sysv,} list=${list#,}
  export UCX_TLS=${list%,}
  [[ $UCX_TLS ]] || UCX_TLS=^posix,cma
}
