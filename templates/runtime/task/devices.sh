# Give a task its own GPUs, and hide the others.
#
# Slurm lists the GPUs of a task in CUDA_VISIBLE_DEVICES (NVIDIA) or ROCR_VISIBLE_DEVICES (AMD).
# Where Slurm cannot count by task, it lists all GPUs of the node. In a task without GPUs it sets
# no list, and then a library would see every GPU. Slurm lists no GPUs whose GRES is not called
# `gpu`, but it says which ones each node gave the job.
# Source: gres.conf(5), Flags; cgroup.conf(5), ConstrainDevices; ROCm, GPU isolation techniques;
# OpenPAI environment variables.

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

# take_devices ROLE: set the variables that say which GPUs the task has.
take_devices() {
  local want=${PSL_ROLE_GPUS[$1]} name=CUDA_VISIBLE_DEVICES list first
  local -a found
  # HIP reads its list as positions in the list of ROCm, so a list for both would be wrong.
  unset HIP_VISIBLE_DEVICES
  if [[ $PSL_GPU_VENDOR == amd ]]; then
    name=ROCR_VISIBLE_DEVICES
    unset CUDA_VISIBLE_DEVICES GPU_DEVICE_ORDINAL
  fi
  if ((!want)); then
    export "$name=" NVIDIA_VISIBLE_DEVICES=none
    return
  fi
  if [[ ${PSL_GPU_GRES-} ]]; then
    list_gpus "$name"
  fi
  IFS=, read -ra found <<<"${!name-}"
  if ((${#found[@]} > want)); then
    count_gpus_of_earlier_slots first "$1"
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

# raise_memlock ROLE: raise the limit of locked memory as far as it goes, for InfiniBand.
# Slurm gives tasks the limit of the shell that submitted the job. On most login nodes that is far
# too low. Source: slurm.conf(5), PropagateResourceLimits.
raise_memlock() {
  if [[ ${PSL_INFINIBAND_CHECKS[$1]-} == *memlock:* ]]; then
    ulimit -S -l "$(ulimit -H -l)"
  fi
}
