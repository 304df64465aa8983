# Find the GPUs of a task.
#
# If Slurm cannot count GPUs by task, it lists all GPUs of the node. It lists no GPUs whose GRES is
# not called `gpu`, but reports the GPUs of the job on each node.
# Source: gres.conf(5), Flags; cgroup.conf(5), ConstrainDevices; ROCm, GPU isolation techniques.

# By node, the GPUs of the job whose GRES is not called `gpu`.
declare -A PSL_GPUS_ON=()
# The GPUs of this task, if it took a part of those of the node.
PSL_DIVIDED_GPUS=()

# list_gpus NAME: set the variable NAME to the list of GPUs, in place of Slurm. CUDA and ROCm number
# the GPUs that a task can open from 0.
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

# cannot_open_all_gpus: succeed if the cgroup of the task hides some GPUs of the node.
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

# take_gpus NAME ROLE: set NAME, the variable of the GPUs' vendor, to the GPUs of the task.
take_gpus() {
  local name=$1 want=${PSL_ROLE_GPUS[$2]} list first
  local -a found
  if [[ ${PSL_GPU_GRES-} ]]; then
    list_gpus "$name"
  fi
  IFS=, read -ra found <<<"${!name-}"
  # With --gpu-bind, Slurm has divided the GPUs of the node already.
  if [[ ${PSL_BINDING[$2]-} == *gpu* && ! ${PSL_GPU_GRES-} ]]; then
    want=${#found[@]}
  elif ((${#found[@]} > want)); then
    count_gpus_of_earlier_slots first "$2"
    take_nearest_gpus "$2"
    found=("${found[@]:first:want}")
    # shellcheck disable=SC2034 # for roles on InfiniBand
    PSL_DIVIDED_GPUS=("${found[@]}")
    note_far_gpus "${found[@]}"
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
  # If Slurm lists no GPUs, it hides none either.
  export NVIDIA_VISIBLE_DEVICES=${list:-all}
}

# count_gpus_of_earlier_slots NAME ROLE: set the variable NAME to the number of GPUs of this node
# that the role's earlier slots take.
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
