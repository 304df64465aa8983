# GPUs: a task sees its own and no other's.
#
# Slurm lists the GPUs of a task in CUDA_VISIBLE_DEVICES (NVIDIA) or ROCR_VISIBLE_DEVICES (AMD). It lists all of the node
# where it cannot count by task, and nothing in a task that has none, where every GPU would be seen.
# Of GPUs that it does not call `gpu` it lists none, but says which ones each node gave the job.
# Source: gres.conf(5), Flags; cgroup.conf(5), ConstrainDevices; ROCm, GPU isolation techniques; OpenPAI environment
# variables.

# list_gpus NAME: put into NAME what Slurm would, where it lists none. CUDA and ROCm count from 0 those that can be opened.
list_gpus() {
  local list=${PSL_GPUS_ON[$SLURMD_NODENAME]-} number=0 item counted=''
  if cannot_open_all_gpus; then
    for item in ${list//,/ }; do counted+=${counted:+,}$((number++)); done
    list=$counted
  fi
  printf -v "$1" '%s' "$list"
}

cannot_open_all_gpus() {
  local file pattern='/dev/nvidia[0-9]*'
  if [[ $PSL_GPU_VENDOR == amd ]]; then
    pattern='/dev/dri/renderD*'
  fi
  for file in $pattern; do [[ -r $file || ! -e $file ]] || return 0; done
  return 1
}

# take_devices ROLE: set the variables of a task's GPUs.
take_devices() {
  local want=${PSL_ROLE_GPUS[$1]} name=CUDA_VISIBLE_DEVICES list slot first=0
  local -a found
  if [[ $PSL_GPU_VENDOR == amd ]]; then
    name=ROCR_VISIBLE_DEVICES
  fi
  # HIP takes its lists as places in that of ROCm, and so it would look for places that are not there.
  unset HIP_VISIBLE_DEVICES
  if [[ $PSL_GPU_VENDOR == amd ]]; then
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
    nodes_of "$1"
    for ((slot = 0; slot < PSL_SLOT; slot++)); do [[ ${PSL_NODES[slot]} != "$SLURMD_NODENAME" ]] || first=$((first + want)); done
    found=("${found[@]:first:want}")
  fi
  if ((${#found[@]} && ${#found[@]} != want)); then
    log "error: this task needs $want GPUs and has ${#found[@]} on $SLURMD_NODENAME: $name=${!name}"
    return 1
  fi
  printf -v list '%s,' "${found[@]-}"
  list=${list%,}
  if [[ $list ]]; then export "$name=$list"; else unset "$name"; fi
  # Where Slurm lists none, it hides none either.
  export NVIDIA_VISIBLE_DEVICES=${list:-all}
}

# Slurm gives tasks the limit of the shell that submitted them, which is far too low for InfiniBand on most login nodes.
# Source: slurm.conf(5), PropagateResourceLimits.
raise_memlock() {
  if [[ ${PSL_INFINIBAND_CHECKS[$1]-} == *memlock:* ]]; then
    ulimit -S -l "$(ulimit -H -l)"
  fi
}
