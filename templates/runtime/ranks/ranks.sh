# Run the ranks of a task inside its container.
#
# The first rank starts the container, and the others join it, so they share its files and memory. A
# rank reaches its PMI server by variables, and by a socket that it inherits (pmi2) or by files in a
# folder of slurmd (PMIx). Two containers have different user namespaces, so their ranks share
# memory only as files in /dev/shm, which is one folder for all containers with ranks on a node.
# Source: Slurm 22.05 to 26.05, mpi/pmi2 and mpi/pmix; enroot, hook 50-slurm-pmi.sh;
# user_namespaces(7); process_vm_readv(2).

# The folders of PMIx on the node. The container sees them under the same paths.
PSL_RANK_FOLDERS=()

# find_rank_folders: set PSL_RANK_FOLDERS, and PSL_RANK_MEMORY to the folder that becomes /dev/shm,
# and make it. Source: PMIx, session directories.
find_rank_folders() {
  local folder session=${PMIX_SYSTEM_TMPDIR:-${TMPDIR:-/tmp}}/spmix_appdir_
  PSL_RANK_FOLDERS=() PSL_RANK_MEMORY=/dev/shm/${PSL_NODE_FOLDER##*/}-ranks
  mkdir -m 0700 -- "$PSL_RANK_MEMORY" 2>/dev/null
  if ! is_own_folder "$PSL_RANK_MEMORY"; then
    log "error: cannot make $PSL_RANK_MEMORY on $SLURMD_NODENAME"
    return 1
  fi
  for folder in "${PMIX_SERVER_TMPDIR-}" "$session${SLURM_JOB_UID-}_$SLURM_JOB_ID.$SLURM_STEP_ID" \
    "$session$SLURM_JOB_ID.$SLURM_STEP_ID"; do
    if [[ $folder && -d $folder ]]; then
      PSL_RANK_FOLDERS+=("${folder%/}")
    fi
  done
}

# prepare_ranks ROOT: find the folders, and prepare their mount points in the container.
prepare_ranks() {
  has_ranks || return 0
  find_rank_folders && prepare_rank_mounts "$1"
}

# write_rank_variables FILE: append the variables of this rank. A client of PMI reads some of them,
# and MPI others. Source: Open MPI 4.1, schizo/slurm.
write_rank_variables() {
  has_ranks || return 0
  declare -px "${!SLURM_@}" "${!PMI@}" "${!PALS_@}" >>"$1"
}

# drop_options PATTERN ...: remove elements from the caller's array `options`.
drop_options() {
  local option pattern
  local -a all=("${options[@]}")
  options=()
  for option in "${all[@]}"; do
    for pattern; do
      # shellcheck disable=SC2053 # patterns
      [[ $option != $pattern ]] || continue 2
    done
    options+=("$option")
  done
}

# join_container: become another rank than the first in the container of its task.
# Source: nsenter(1) since util-linux 2.23.
join_container() {
  local PSL_ROOT=$PSL_NODE_FOLDER/$PSL_ROLE.$PSL_SLOT.root PSL_PROCESS PSL_PROGRAM
  exec >>"$PSL_STDERR_LOG" 2>&1 {PSL_REPORT_FD}>&-
  if ! hash nsenter; then
    log "error: there is no nsenter on $SLURMD_NODENAME, by which ranks join their container"
    exit 1
  fi
  PSL_PROGRAM=${BASH_CMDS[nsenter]}
  read -r PSL_PROCESS <"$PSL_ROOT/process" || exit
  write_rank_variables "$PSL_ROOT/environment.$PSL_RANK" || exit
  exec {PSL_EXPORTS_FD}< <(printf '%s' "$PSL_EXPORTS")
  take_environment_of "$PSL_PROCESS"
  exec "$PSL_PROGRAM" --target="$PSL_PROCESS" --user --mount --root --wd --preserve-credentials \
    bash -p "$PSL_SCRIPT" --inside "$PSL_FOLDER" "$PSL_ATTEMPT" "$PSL_ROLE" "$PSL_SLOT" \
    "$PSL_SLOT" 0 "$PSL_EXPORTS_FD" "$PSL_RANK"
}

# take_environment_of PROCESS: export the variables with which a process started, and no others. A
# local variable would hide one of the same name. Source: proc(5), environ.
take_environment_of() {
  local PSL_NAME
  while read -r PSL_NAME; do
    export -n "${PSL_NAME?}"
  done < <(compgen -e)
  while IFS= read -r -d '' PSL_NAME; do
    case ${PSL_NAME%%=*} in
      *[!a-zA-Z0-9_]* | [0-9]* | UID | EUID | PPID | SHELLOPTS | BASHOPTS) ;;
      *) export "${PSL_NAME?}" ;;
    esac
  done <"/proc/$1/environ"
}
