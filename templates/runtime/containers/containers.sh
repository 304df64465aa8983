# Run a task as one container.
#
# Inside the container this script runs the hooks and commands, and answers calls. Its own calls go
# through the shell outside, because only that shell has Slurm. Images are read-only: the changes of
# a task are private, and the last task of the node removes them.

PSL_HOST_SUFFIX=.out
# The command line that a container runs.
PSL_CONTAINER_COMMAND=()

# run_contained INDEX ATTEMPT: run the task in a container, and return its status.
run_contained() {
  local status=0 root=$PSL_NODE_FOLDER/$PSL_ROLE.$PSL_SLOT.root
  if ! prepare_container "$root" 2>>"$PSL_STDERR_LOG"; then
    PSL_CODE_OF_SCRIPT='254 permanent'
    return 1
  fi
  if ((PSL_STOPPED)); then
    return 143
  fi
  PSL_SERVE_WITH=call_from_container
  start_group become_container "$root" "$1" "$2"
  await_command
  status=$?
  if [[ -e $root/ended ]]; then
    read -r PSL_CODE_OF_SCRIPT <"$root/ended"
    read -r PSL_COMMANDS_ENDED <"$root/ended.at"
    PSL_COMMANDS_ENDED=${PSL_COMMANDS_ENDED//[!0-9]/}
  elif ((!PSL_STOPPED && status != 137)); then
    log "error: the container did not run to its end" 2>>"$PSL_STDERR_LOG"
    PSL_CODE_OF_SCRIPT='254 permanent'
  fi
  return "$status"
}

# prepare_container ROOT: check that the runtime, the image and the mounted paths exist, and write
# the container's initial files.
prepare_container() {
  local root=$1 image=${PSL_IMAGE_OF[PSL_ROLE]}
  if ! hash "$PSL_RUNS_WITH" 2>/dev/null; then
    log "error: there is no $PSL_RUNS_WITH on $SLURMD_NODENAME"
    return 1
  fi
  # An image without a path is in the runtime's own store.
  if [[ $image == /* ]] && ! test "$PSL_IMAGE_IS" "$image"; then
    log "error: the image $image is not on $SLURMD_NODENAME"
    return 1
  fi
  find_binds || return
  if ((!PSL_GANG)); then
    remove_trees "$root" || return
    make_container_folders "$PSL_ROLE.$PSL_SLOT" || return
  fi
  prepare_ranks "$root" || return  # only: contained-ranks
  prepare_runtime "$root" || return
  write_variables "$root/environment" || return
  write_rank_variables "$root/environment" || return  # only: contained-ranks
  {
    cat_stdin </etc/hosts && cat_stdin <"$PSL_ATTEMPT_FOLDER/hosts"
  } >"$root/hosts"
}

# write_variables FILE: write the variables of the node that the task may have, and the state of
# this shell for the shell inside. The image sets all others. One loop over all names takes a tenth
# of the time of a search for each pattern.
write_variables() {
  local name
  local -a all names=(SLURMD_NODENAME PSL_PORT_LINES ${PSL_CPU_MASKS+PSL_CPU_MASKS})
  compgen -e >"$1" && mapfile -t all <"$1"
  for name in "${all[@]}"; do
    case $name in
      CUDA_* | NVIDIA_* | ROCR_* | HIP_* | GPU_*) names+=("$name") ;;
      NCCL_* | GLOO_* | UCX_* | FI_* | OMPI_* | PRTE_* | HYDRA_* | I_MPI_*) names+=("$name") ;;
      PATH | HOME | USER | SHELL | TMPDIR | LD_* | SLURM* | BASH*) ;;
      *)
        # shellcheck disable=SC2053 # patterns
        if [[ $name == @(${PSL_EXPORT_ENV-}) ]]; then
          names+=("$name")
        fi
        ;;
    esac
  done
  declare -p "${names[@]}" >"$1"
}

# prepare_containers ROLE.SLOT ...: make the initial folders of all containers of a node.
prepare_containers() {
  [[ $PSL_CONTAINER_RUNTIME != none ]] || return 0
  find_binds && make_container_folders "$@"
}

# make_container_folders ROLE.SLOT ...: make the initial folders of containers, all at once. They
# are in the node folder, which no other user can enter. They are removed before the next task of
# the slot, or with the node folder.
make_container_folders() {
  local name status
  local -a folders=()
  for name; do
    folders+=("$PSL_NODE_FOLDER/$name.root/tmp/${PSL_NODE_FOLDER##*/}")
    add_folders_of_runtime "$PSL_NODE_FOLDER/$name.root"
  done
  umask 0022
  make_folders "${folders[@]}"
  status=$?
  umask 0077
  return "$status"
}

# become_container ROOT INDEX ATTEMPT: become the container of a task. The shell inside gets the
# number of this process, and writes its status to the control FIFO.
become_container() {
  PSL_CONTAINER_COMMAND=(
    bash -p "$PSL_SCRIPT" --inside "$PSL_FOLDER" "$PSL_ATTEMPT" "$PSL_ROLE" "$PSL_SLOT" "$2" "$3"
    "$BASHPID"
  )
  exec 3>&"$PSL_REPORT_FD" >>"$PSL_STDERR_LOG" 2>&1 {PSL_REPORT_FD}>&- {PSL_CONTROL_FD}>&-
  enter_container "$1"
}

# call_from_container FOLDER: forward a call from inside the container.
call_from_container() {
  exec bash -p "$PSL_SCRIPT" --outside "$PSL_FOLDER" "$PSL_ATTEMPT" "$1"
}

# find_binds: fill PSL_BINDS with the node's paths that the task sees, each with its path in the
# container.
find_binds() {
  local i path
  PSL_BINDS=()
  # The submit folder comes first, so that it hides no other mount. It hides a folder of the image
  # only if both have the same path.
  if begins_at_submit && [[ ${PSL_SUBMIT_DIR#/} == */* && -d $PSL_SUBMIT_DIR ]]; then
    PSL_BINDS+=("$PSL_SUBMIT_DIR" "$PSL_SUBMIT_DIR")
  fi
  PSL_BINDS+=("$PSL_FOLDER" "$PSL_FOLDER")
  # shellcheck disable=SC2153 # a setting of jobs with containers
  for ((i = 0; i < ${#PSL_MOUNTS[@]}; i += 3)); do
    path=${PSL_MOUNTS[i + 1]}
    if [[ ${PSL_MOUNTS[i]} == own ]]; then
      path+=/$PSL_JOB_USER
      make_own_storage "$path" || return
    fi
    PSL_BINDS+=("$path" "${PSL_MOUNTS[i + 2]}")
  done
}

# begins_at_submit: succeed if the commands of a role start in the submit folder or below.
begins_at_submit() {
  local folder
  for folder in ${PSL_WORKDIR[@]+"${PSL_WORKDIR[@]}"}; do
    if [[ $folder == submit || $folder == ./* ]]; then
      return 0
    fi
  done
  return 1
}

# make_own_storage PATH: make the user's folder in a storage, unless it exists.
make_own_storage() {
  (set_user_umask && mkdir -p -- "$1") || return
  if ! is_own_part "$1"; then
    log "error: the storage $1 on $SLURMD_NODENAME is another user's"
    return 1
  fi
}

# refuse_odd_paths PATH ...: fail if the runtime cannot mount one of the paths, because its options
# use colons and commas as separators.
refuse_odd_paths() {
  local path
  for path; do
    if [[ $path == *[,:\\]* ]]; then
      log "error: the runtime $PSL_CONTAINER_RUNTIME can mount no path with a comma, colon or" \
        "backslash: $path"
      return 1
    fi
  done
}
