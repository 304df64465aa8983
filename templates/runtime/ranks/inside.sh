# Start the ranks of a task inside its container.

# has_ranks: succeed if srun starts the commands of this role as ranks.
has_ranks() { [[ ${PSL_RANKS_OF[PSL_ROLE]-} ]]; }

# start_in_container FOLDER ATTEMPT ROLE SLOT INDEX TASK-ATTEMPT EXPORTS RANK: in another rank than
# the first, become the bash that runs the commands. EXPORTS is the descriptor of the variables that
# hooks exported.
start_in_container() {
  local PSL_ROOT
  exec {PSL_REPORT_FD}>/dev/null
  open_attempt "$1" "$2" || exit
  PSL_ROLE=$3 PSL_SLOT=$4 PSL_RANK=$8 PSL_ROOT=$PSL_NODE_FOLDER/$3.$4.root
  # shellcheck source=/dev/null # written by write_variables
  source "$PSL_ROOT/environment" || exit
  # shellcheck source=/dev/null # written by write_rank_variables
  source "$PSL_ROOT/environment.$PSL_RANK" || exit
  unset TMPDIR
  name_logs "$5" "$6"
  cd -- "$PSL_ATTEMPT_FOLDER/work/${PSL_ROLE_FOLDER[PSL_ROLE]}/$5" || exit
  read_environment || exit
  take_devices "$PSL_ROLE" || exit
  export_task_environment "$PSL_ROLE" "$5" "$6"
  limit_ucx
  limit_open_mpi
  export PAISLURM_INSIDE=1
  [[ ${PSL_WORKDIR[PSL_ROLE]-task} == task ]] || enter_workdir || exit
  IFS= read -r -d '' PSL_EXPORTS <&"$7"
  check_pmi || exit
  start_commands
}

# start_first_rank: in the first rank inside the container, let the others join it.
start_first_rank() {
  has_ranks || return 0
  PSL_RANKS=${PSL_RANKS_OF[PSL_ROLE]}
  limit_open_mpi
  printf '%s\n' "$BASHPID" >"$PSL_NODE_FOLDER/$PSL_ROLE.$PSL_SLOT.root/process" && check_pmi
}

# limit_open_mpi: make ranks of different containers on a node copy through /dev/shm. No process can
# read the memory of another user namespace. Open MPI 4 finds this out by itself, but then prints a
# warning in each rank.
# Source: runs of Open MPI 4.1.4; Open MPI, pull request 6844.
limit_open_mpi() {
  if shares_node; then
    export OMPI_MCA_btl_vader_single_copy_mechanism=${OMPI_MCA_btl_vader_single_copy_mechanism-none}
  fi
}

# check_pmi: fail if this rank cannot reach its PMI server. MPI would not: each rank would be rank 0
# of 1.
check_pmi() {
  case ${SLURM_MPI_TYPE-} in
    pmix*) [[ ! ${PMIX_RANK-} || ! -d ${PMIX_SERVER_TMPDIR-} ]] || return 0 ;;
    pmi2) [[ ! ${PMI_RANK-} || ! -e /dev/fd/${PMI_FD-} ]] || return 0 ;;
    *) return 0 ;;
  esac
  log "error: rank ${SLURM_PROCID-} cannot reach the server of $SLURM_MPI_TYPE from its container"
  return 1
}
