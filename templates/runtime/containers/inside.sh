# The task inside its container: it runs the scripts and commands, and answers calls.

# inside_main FOLDER ATTEMPT ROLE SLOT INDEX TASK-ATTEMPT PROCESS: the process is that of the container.
inside_main() {
  local status=0
  exec {CHANNEL}>&3 3>&-
  # Here they are the image's.
  local -a of_image=(${SUBMITTED[@]+"${SUBMITTED[@]}"})
  open_attempt "$1" "$2" || exit
  SUBMITTED=(${of_image[@]+"${of_image[@]}"})
  ROLE=$3 SLOT=$4 REPORTS=$ATTEMPT_FOLDER/tasks/${ROLE_FOLDER[$3]}/$4.log
  # shellcheck source=/dev/null # written by prepare_container
  source "$CALLS/$ROLE.$SLOT.root/environment" || exit
  unset TMPDIR
  outlive_signals
  open_bell "$ROLE.$SLOT"
  name_logs "$5" "$6"
  cd -- "$ATTEMPT_FOLDER/work/${ROLE_FOLDER[ROLE]}/$5" && read_environment "$5" && take_devices "$ROLE" || exit
  export_task_environment "$ROLE" "$5" "$6"
  limit_ucx
  export PAISLURM_INSIDE=1
  if enter_workdir; then run_and_hold "$5" "$6" || status=$?; else status=1 CODE_OF_SCRIPT='252 permanent'; fi
  printf '%s\n' "$CODE_OF_SCRIPT" >"$CALLS/$ROLE.$SLOT.root/ended"
  printf 'end %s %s\n' "$7" "$status" 1<>"$CALLS/$ROLE.$SLOT$OUT"
  exit "$status"
}

# To UCX all processes of a node share their memory. Containers of one node share that of System V alone: they have a
# /dev/shm (posix) and a user namespace each, and cannot read each other's memory (cma). MPICH begins with what fails.
# Source: UCX 1.13, list of main transports and aliases; process_vm_readv(2), errors.
limit_ucx() {
  local all=" ${NODES_OF[*]} " list=,${UCX_TLS-},
  [[ " ${all#*" $SLURMD_NODENAME "}" == *" $SLURMD_NODENAME "* ]] || return 0
  list=${list//,sm,/,sysv,} list=${list//,shm,/,sysv,} list=${list#,}
  export UCX_TLS=${list%,}
  [[ $UCX_TLS ]] || UCX_TLS=^posix,cma
}

# Bash reads a script as far as it runs it: this part of a task, of which a node may have many, needs no more of it.
[[ ${1-} != --inside ]] || inside_main "${@:2}"
