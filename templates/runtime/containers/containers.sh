# Containers: a task is one container, in which this script runs the task's scripts and commands, hears calls, and makes
# them by way of the shell outside, which has Slurm. An image is never written to: what a task changes is its own, and
# goes with the last task of the node.

PSL_HOST_SUFFIX=.out
# What a container runs.
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
  elif ((!PSL_STOPPED && status != 137)); then
    log "error: the container did not run to its end" 2>>"$PSL_STDERR_LOG"
    PSL_CODE_OF_SCRIPT='254 permanent'
  fi
  return "$status"
}

# The image is there, so is the runtime, and what is to be mounted.
prepare_container() {
  local root=$1 image=${PSL_IMAGE_OF[PSL_ROLE]}
  hash "$PSL_RUNS_WITH" 2>/dev/null || { log "error: there is no $PSL_RUNS_WITH on $SLURMD_NODENAME"; return 1; }
  # Without a path it is in the runtime's own store.
  [[ $image != /* ]] || test "$PSL_IMAGE_IS" "$image" || { log "error: the image $image is not on $SLURMD_NODENAME"; return 1; }
  find_binds || return
  ((PSL_GANG)) || { remove_trees "$root" && make_container_folders "$PSL_ROLE.$PSL_SLOT"; } || return
  prepare_runtime "$root" || return
  write_variables "$root/environment" || return
  { cat_stdin </etc/hosts && cat_stdin <"$PSL_ATTEMPT_FOLDER/hosts"; } >"$root/hosts"
}

# write_variables FILE: those of the node that libraries of the task may read, and what the shell inside goes on from. All
# others are the image's own. One look at all names takes a tenth of the time of one for each pattern.
write_variables() {
  local name
  local -a all names=(SLURMD_NODENAME PSL_PORT_LINES)
  compgen -e >"$1" && mapfile -t all <"$1"
  for name in "${all[@]}"; do
    case $name in
      CUDA_* | NVIDIA_* | ROCR_* | HIP_* | GPU_* | NCCL_* | GLOO_* | UCX_* | FI_* | OMPI_* | PRTE_* | HYDRA_* | I_MPI_*)
        names+=("$name")
        ;;
      PATH | HOME | USER | SHELL | TMPDIR | LD_* | SLURM* | BASH*) ;;
      *) ! is_listed "$name" || names+=("$name") ;;
    esac
  done
  declare -p "${names[@]}" >"$1"
}

# make_container_folders ROLE.SLOT ...: the folders that containers of tasks begin with, all at once; below CALLS, which nobody else can
# enter. They go before the next task in the slot, or with CALLS.
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

# The shell inside says by the bell how this process has ended.
become_container() {
  PSL_CONTAINER_COMMAND=(bash -p "$PSL_SCRIPT" --inside "$PSL_FOLDER" "$PSL_ATTEMPT" "$PSL_ROLE" "$PSL_SLOT" "$2" "$3" "$BASHPID")
  exec 3>&"$PSL_REPORT_FD" >>"$PSL_STDERR_LOG" 2>&1 {PSL_REPORT_FD}>&- {PSL_CONTROL_FD}>&-
  enter_container "$1"
}

# A call out of the container.
call_from_container() { exec bash -p "$PSL_SCRIPT" --outside "$PSL_FOLDER" "$PSL_ATTEMPT" "$1"; }

# find_binds: what of the node the task sees, in PSL_BINDS, a path and where it is in the container each.
find_binds() {
  local i path
  PSL_BINDS=()
  # Nothing of the image is hidden by it, unless the job was submitted in a folder that images have, too.
  if [[ " ${PSL_WORKDIR[*]-} " == *' submit '* && ${PSL_SUBMIT_DIR#/} == */* && -d $PSL_SUBMIT_DIR ]]; then
    PSL_BINDS+=("$PSL_SUBMIT_DIR" "$PSL_SUBMIT_DIR")
  fi
  PSL_BINDS+=("$PSL_FOLDER" "$PSL_FOLDER")
  # shellcheck disable=SC2153 # a setting of jobs with containers
  for ((i = 0; i < ${#PSL_MOUNTS[@]}; i += 3)); do
    path=${PSL_MOUNTS[i + 1]}
    if [[ ${PSL_MOUNTS[i]} == own ]]; then
      path+=/$PSL_JOB_USER
      mkdir -p -- "$path" || return
      is_own_part "$path" || { log "error: the storage $path on $SLURMD_NODENAME is another user's, or a link of one's"; return 1; }
    fi
    PSL_BINDS+=("$path" "${PSL_MOUNTS[i + 2]}")
  done
}

# refuse_odd_paths PATH ...: which a runtime with colons and commas in its options cannot mount.
refuse_odd_paths() {
  local path
  for path; do
    if [[ $path == *[,:\\]* ]]; then
      log "error: the runtime $PSL_CONTAINER_RUNTIME can mount no path with a comma, colon or backslash: $path"
      return 1
    fi
  done
}
