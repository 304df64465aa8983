# Containers: a task is one container, in which this script runs the task's scripts and commands, hears calls, and makes
# them by way of the shell outside, which has Slurm. An image is never written to: what a task changes is its own, and
# goes with the last task of the node.

# What a container runs.
INSIDE=()

# run_contained INDEX ATTEMPT: run the task in a container, and return its status.
run_contained() {
  local status=0 root=$CALLS/$ROLE.$SLOT.root
  if ! prepare_container "$root" 2>>"$STDERR_LOG"; then
    CODE_OF_SCRIPT='254 permanent'
    return 1
  fi
  ((!STOPPED)) || return 143
  ANSWER=call_from_inside
  start_group become_container "$root" "$1" "$2"
  await_command
  status=$?
  if [[ -e $root/ended ]]; then
    read -r CODE_OF_SCRIPT <"$root/ended"
  elif ((!STOPPED && status != 137)); then
    say "error: the container did not run to its end" 2>>"$STDERR_LOG"
    CODE_OF_SCRIPT='254 permanent'
  fi
  return "$status"
}

# The image is there, so is the runtime, and what is to be mounted.
prepare_container() {
  local root=$1 image=${IMAGE_OF[ROLE]}
  hash "$RUNS_WITH" 2>/dev/null || { say "error: there is no $RUNS_WITH on $SLURMD_NODENAME"; return 1; }
  # Without a path it is in the runtime's own store.
  [[ $image != /* ]] || test "$IMAGE_IS" "$image" || { say "error: the image $image is not on $SLURMD_NODENAME"; return 1; }
  find_binds || return
  ((GANG)) || { remove_trees "$root" && make_roots "$ROLE.$SLOT"; } || return
  prepare_runtime "$root" || return
  write_variables "$root/environment" || return
  { emit </etc/hosts && emit <"$ATTEMPT_FOLDER/hosts"; } >"$root/hosts"
}

# write_variables FILE: those of the node that libraries of the task may read, and what the shell inside goes on from. All
# others are the image's own. One look at all names takes a tenth of the time of one for each pattern.
write_variables() {
  local name
  local -a all names=(SLURMD_NODENAME PORT_LINES)
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

# make_roots ROLE.SLOT ...: the folders that containers of tasks begin with, all at once; below CALLS, which nobody else can
# enter. They go before the next task in the slot, or with CALLS.
make_roots() {
  local name status
  local -a folders=()
  for name; do
    folders+=("$CALLS/$name.root/tmp/${CALLS##*/}")
    add_folders_of_runtime "$CALLS/$name.root"
  done
  umask 0022
  make_folders "${folders[@]}"
  status=$?
  umask 0077
  return "$status"
}

# The shell inside says by the bell how this process has ended.
become_container() {
  INSIDE=(bash -p "$SCRIPT" --inside "$FOLDER" "$ATTEMPT" "$ROLE" "$SLOT" "$2" "$3" "$BASHPID")
  exec 3>&"$CHANNEL" >>"$STDERR_LOG" 2>&1 {CHANNEL}>&- {BELL}>&-
  enter_container "$1"
}

# A call out of the container.
call_from_inside() { exec bash -p "$SCRIPT" --outside "$FOLDER" "$ATTEMPT" "$1"; }

# find_binds: what of the node the task sees, in BINDS, a path and where it is in the container each.
find_binds() {
  local i path
  BINDS=()
  # Nothing of the image is hidden by it, unless the job was submitted in a folder that images have, too.
  if [[ " ${WORKDIR[*]-} " == *' submit '* && ${SUBMIT_DIR#/} == */* && -d $SUBMIT_DIR ]]; then BINDS+=("$SUBMIT_DIR" "$SUBMIT_DIR"); fi
  BINDS+=("$FOLDER" "$FOLDER")
  # shellcheck disable=SC2153 # a setting of jobs with containers
  for ((i = 0; i < ${#MOUNTS[@]}; i += 3)); do
    path=${MOUNTS[i + 1]}
    if [[ ${MOUNTS[i]} == own ]]; then
      path+=/$JOB_USER
      mkdir -p -- "$path" || return
      is_own_part "$path" || { say "error: the storage $path on $SLURMD_NODENAME is another user's, or a link of one's"; return 1; }
    fi
    BINDS+=("$path" "${MOUNTS[i + 2]}")
  done
}

# refuse_odd_paths PATH ...: which a runtime with colons and commas in its options cannot mount.
refuse_odd_paths() {
  local path
  for path; do
    [[ $path != *[,:\\]* ]] || { say "error: the runtime $CONTAINER_RUNTIME can mount no path with a comma, colon or backslash: $path"; return 1; }
  done
}
