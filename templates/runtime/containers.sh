# Containers: a task is one container, in which this script runs the task's scripts and commands, hears calls, and makes
# them by way of the shell outside, which has Slurm. An image is never written to: what a task changes is its own, and
# goes with it.

# Names of the tasks for the containers, after those that the node knows: nothing else knows them there.
write_hosts() {
  [[ $CONTAINER_RUNTIME != none ]] || return 0
  local role index name
  local -a nodes
  ((GANG)) || { : >"$ATTEMPT_FOLDER/hosts"; return; }
  for role in "${!ROLE_NAME[@]}"; do
    read -ra nodes <<<"${NODES_OF[role]}"
    for index in "${!nodes[@]}"; do
      for name in ${ROLE_ALIASES[role]}; do printf '%s %s-%s\n' "${ADDRESS_OF[${nodes[index]}]}" "$name" "$index"; done
    done
  done >"$ATTEMPT_FOLDER/hosts"
}

# run_contained INDEX ATTEMPT: run the task in a container, and return its status.
run_contained() {
  local status=0 root=$CALLS/$ROLE.$SLOT.root
  if ! prepare_container "$root" 2>>"$STDERR_LOG"; then
    CODE_OF_SCRIPT='254 permanent'
    return 1
  fi
  set -m
  keep_status enter_container "$root" "$1" "$2" 3>&"$CHANNEL" </dev/null >>"$STDERR_LOG" 2>&1 {CHANNEL}>&- &
  COMMAND=$!
  set +m
  ((!STOPPED)) || kill -TERM -- "-$COMMAND" 2>/dev/null
  ANSWER=call_from_inside
  await_end "$COMMAND"
  status=$?
  COMMAND=''
  if [[ -e $root/ended ]]; then
    read -r CODE_OF_SCRIPT <"$root/ended"
  elif ((!STOPPED && status != 137)); then
    say "error: the container did not run to its end" 2>>"$STDERR_LOG"
    CODE_OF_SCRIPT='254 permanent'
  fi
  rm -rf -- "$root"
  return "$status"
}

# What the container begins with. Of the variables, those that say something of the task; the others are the image's own.
prepare_container() {
  mkdir -p -- "$1/tmp/${CALLS##*/}" || return
  declare -p "${!PAI_@}" "${!APP_@}" "${!FC_@}" "${!FRAMEWORK_@}" "${!CUDA_@}" "${!NVIDIA_@}" "${!ROCR_@}" "${!HIP_@}" \
    "${!GPU_@}" "${!NCCL_@}" "${!GLOO_@}" "${!UCX_@}" "${!FI_@}" "${!OMPI_@}" "${!PRTE_@}" "${!HYDRA_@}" "${!I_MPI_@}" "${!PAISLURM_@}" \
    SLURMD_NODENAME >"$1/environment" || return
  cat /etc/hosts "$ATTEMPT_FOLDER/hosts" >"$1/hosts" || return
  find_binds && prepare_runtime "$1"
}

# find_binds: what of the node the task sees, in BINDS, a path and where it is in the container each.
find_binds() {
  local i path
  BINDS=("$FOLDER" "$FOLDER")
  # shellcheck disable=SC2153 # a setting of jobs with containers
  for ((i = 0; i < ${#MOUNTS[@]}; i += 3)); do
    path=${MOUNTS[i + 1]}
    [[ ${MOUNTS[i]} != own ]] || { path+=/$PAI_USER_NAME && mkdir -p -- "$path" || return; }
    BINDS+=("$path" "${MOUNTS[i + 2]}")
  done
}

# What a runtime with colons and commas in its options can mount.
refuse_odd_paths() {
  local path
  for path in "${BINDS[@]}"; do
    [[ $path != *[,:\\]* ]] || { say "error: the runtime $CONTAINER_RUNTIME can mount no path with a comma, colon or backslash: $path"; return 1; }
  done
}

# is_there PROGRAM
is_there() { command -v "$1" >/dev/null || { say "error: there is no $1 on $SLURMD_NODENAME"; return 1; }; }

# inside_main FOLDER ATTEMPT ROLE SLOT INDEX TASK-ATTEMPT: the task, inside its container.
inside_main() {
  local status=0
  exec {CHANNEL}>&3 3>&-
  umask 0077
  open_attempt "$1" "$2" || exit
  ROLE=$3 SLOT=$4 REPORTS=$ATTEMPT_FOLDER/tasks/${ROLE_FOLDER[$3]}/$4.log
  # shellcheck source=/dev/null # written by prepare_container
  source "$CALLS/$ROLE.$SLOT.root/environment" || exit
  export PAISLURM_INSIDE=1 PATH=$ATTEMPT_FOLDER/bin:$PATH
  unset TMPDIR
  outlive_signals
  open_bell "$ROLE.$SLOT"
  name_logs "$5" "$6"
  cd -- "$PAI_WORK_DIR" || exit
  run_and_hold "$5" "$6" || status=$?
  printf '%s\n' "$CODE_OF_SCRIPT" >"$CALLS/$ROLE.$SLOT.root/ended"
  exit "$status"
}
