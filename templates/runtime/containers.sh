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
  local image=${IMAGE_OF[ROLE]-}
  [[ -d $image ]] || { say "error: the image $image is not on $SLURMD_NODENAME"; return 1; }
  [[ $image != *[,:\\]* ]] || { say "error: the path of an image can have no comma, colon or backslash: $image"; return 1; }
  mkdir -p -- "$1/upper" "$1/work" "$1/merged" "$1/tmp/${CALLS##*/}" || return
  declare -p "${!PAI_@}" "${!APP_@}" "${!FC_@}" "${!FRAMEWORK_@}" "${!CUDA_@}" "${!NVIDIA_@}" "${!ROCR_@}" "${!HIP_@}" \
    "${!GPU_@}" "${!NCCL_@}" "${!GLOO_@}" "${!UCX_@}" "${!FI_@}" "${!OMPI_@}" "${!PRTE_@}" "${!HYDRA_@}" "${!I_MPI_@}" "${!PAISLURM_@}" \
    SLURMD_NODENAME >"$1/environment" || return
  cat /etc/hosts "$ATTEMPT_FOLDER/hosts" >"$1/hosts"
}

# enter_container ROOT INDEX ATTEMPT: become the container of the task.
enter_container() {
  local root=$1 run path i
  local -a mounts=("$FOLDER" "$FOLDER")
  run=$(command -v ch-run) || { say "error: there is no ch-run on $SLURMD_NODENAME"; exit 1; }
  # shellcheck disable=SC2153 # a setting of jobs with containers
  for ((i = 0; i < ${#MOUNTS[@]}; i += 3)); do
    path=${MOUNTS[i + 1]}
    [[ ${MOUNTS[i]} != own ]] || { path+=/$PAI_USER_NAME && mkdir -p -- "$path"; }
    mounts+=("$path" "${MOUNTS[i + 2]}")
  done
  exec env -i "TMPDIR=$root/tmp" "HOME=$HOME" "USER=$PAI_USER_NAME" LANG=C.UTF-8 \
    PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
    unshare --user --map-root-user --mount bash "$SCRIPT" --mount "$FOLDER" "$ATTEMPT" "$ROLE" "$SLOT" "${mounts[@]}" -- \
    "$run" "--uid=$(id -u)" "--gid=$(id -g)" --write "$root/merged" -- \
    bash "$SCRIPT" --inside "$FOLDER" "$ATTEMPT" "$ROLE" "$SLOT" "$2" "$3"
}

# mount_main FOLDER ATTEMPT ROLE SLOT [PATH MOUNTPOINT ...] -- COMMAND: lay out the root of a container, and run a command
# that enters it. In a mount namespace of its own an overlay gives the image what it lacks, and takes what is written.
mount_main() {
  local root i
  open_attempt "$1" "$2" || exit
  root=$CALLS/$3.$4.root
  # What the image lacks to be mounted on: made below, since in the overlay a folder of the image may be somebody else's.
  umask 0022
  { mkdir -p -- "$root/upper/etc" && cp -- "$root/hosts" "$root/upper/etc/hosts"; } || exit
  for ((i = 6; i <= $#; i += 2)); do
    [[ ${!i} != -- ]] || break
    mkdir -p -- "$root/upper${!i}" || exit
  done
  mount -t overlay overlay -o "lowerdir=${IMAGE_OF[$3]},upperdir=$root/upper,workdir=$root/work" "$root/merged" || exit
  mount -t tmpfs -o "size=${SHM_OF[$3]}m,mode=1777" tmpfs /dev/shm || exit
  # ch-run takes these of the node: /etc/hosts, and TMPDIR as /tmp.
  { mount --bind "$root/hosts" /etc/hosts && mount --bind "$CALLS" "$root/tmp/${CALLS##*/}"; } || exit
  shift 4
  while [[ $1 != -- ]]; do
    mount --rbind -- "$1" "$root/merged$2" || exit
    shift 2
  done
  exec "${@:2}"
}

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
