# Give a task its own GPUs.
#
# Where Slurm cannot count GPUs by task, it lists all GPUs of the node. Slurm lists no GPUs whose
# GRES is not called `gpu`, but it reports which ones each node gave the job.
# Source: gres.conf(5), Flags; cgroup.conf(5), ConstrainDevices; ROCm, GPU isolation techniques.

# By node, the GPUs that the job has there, where Slurm does not call them `gpu`.
declare -A PSL_GPUS_ON=()

# list_gpus NAME: set the variable NAME to the list that Slurm does not make.
# CUDA and ROCm count the GPUs that a task can open, from 0.
list_gpus() {
  local list=${PSL_GPUS_ON[$SLURMD_NODENAME]-} number=0 item counted=''
  if cannot_open_all_gpus; then
    for item in ${list//,/ }; do
      counted+=${counted:+,}$((number++))
    done
    list=$counted
  fi
  printf -v "$1" '%s' "$list"
}

# cannot_open_all_gpus: tell whether the cgroup of the task hides some GPUs of the node.
cannot_open_all_gpus() {
  local file pattern='/dev/nvidia[0-9]*'
  if [[ $PSL_GPU_VENDOR == amd ]]; then
    pattern='/dev/dri/renderD*'
  fi
  for file in $pattern; do
    if [[ -e $file && ! -r $file ]]; then
      return 0
    fi
  done
  return 1
}

# take_gpus NAME ROLE: set NAME, the variable of the GPUs' vendor, to the GPUs that the task has.
take_gpus() {
  local name=$1 want=${PSL_ROLE_GPUS[$2]} list first
  local -a found
  if [[ ${PSL_GPU_GRES-} ]]; then
    list_gpus "$name"
  fi
  IFS=, read -ra found <<<"${!name-}"
  if ((${#found[@]} > want)); then
    count_gpus_of_earlier_slots first "$2"
    found=("${found[@]:first:want}")
  fi
  if ((${#found[@]} && ${#found[@]} != want)); then
    log "error: this task needs $want GPUs and has ${#found[@]} on $SLURMD_NODENAME:" \
      "$name=${!name}"
    return 1
  fi
  printf -v list '%s,' "${found[@]-}"
  list=${list%,}
  if [[ $list ]]; then
    export "$name=$list"
  else
    unset "$name"
  fi
  # Where Slurm lists no GPUs, it hides none either.
  export NVIDIA_VISIBLE_DEVICES=${list:-all}
}

# count_gpus_of_earlier_slots NAME ROLE: set the variable NAME to the number of GPUs of this node
# that the slots of the role before this one take.
count_gpus_of_earlier_slots() {
  local slot count=0
  nodes_of "$2"
  for ((slot = 0; slot < PSL_SLOT; slot++)); do
    if [[ ${PSL_NODES[slot]} == "$SLURMD_NODENAME" ]]; then
      count=$((count + PSL_ROLE_GPUS[$2]))
    fi
  done
  printf -v "$1" '%d' "$count"
}
