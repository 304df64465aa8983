# GPUs: a task sees its own and no other's.
#
# Slurm lists the GPUs of a task in CUDA_VISIBLE_DEVICES (NVIDIA) or ROCR_VISIBLE_DEVICES (AMD). It lists all of the node
# where it cannot count by task, and nothing in a task that has none, where every GPU would be seen.
# Source: gres.conf(5), Flags; ROCm, GPU isolation techniques; OpenPAI environment variables.

# take_devices ROLE: set the variables of a task's GPUs.
take_devices() {
  local want=${ROLE_GPUS[$1]} name=CUDA_VISIBLE_DEVICES list slot first=0
  local -a found nodes
  [[ $GPU_VENDOR != amd ]] || name=ROCR_VISIBLE_DEVICES
  # HIP takes its lists as places in that of ROCm, and so it would look for places that are not there.
  unset HIP_VISIBLE_DEVICES
  [[ $GPU_VENDOR != amd ]] || unset CUDA_VISIBLE_DEVICES GPU_DEVICE_ORDINAL
  if ((!want)); then
    export "$name=" NVIDIA_VISIBLE_DEVICES=none
    return
  fi
  IFS=, read -ra found <<<"${!name-}"
  if ((${#found[@]} > want)); then
    read -ra nodes <<<"${NODES_OF[$1]}"
    for ((slot = 0; slot < SLOT; slot++)); do [[ ${nodes[slot]} != "$SLURMD_NODENAME" ]] || first=$((first + want)); done
    found=("${found[@]:first:want}")
  fi
  if ((${#found[@]} && ${#found[@]} != want)); then
    say "error: this task needs $want GPUs and has ${#found[@]} on $SLURMD_NODENAME: $name=${!name}"
    return 1
  fi
  printf -v list '%s,' "${found[@]-}"
  list=${list%,}
  [[ ! $list ]] || export "$name=$list"
  # Where Slurm lists none, it hides none either.
  export NVIDIA_VISIBLE_DEVICES=${list:-all}
}

# Slurm gives tasks the limit of the shell that submitted them, which is far too low for InfiniBand on most login nodes.
# Source: slurm.conf(5), PropagateResourceLimits.
raise_memlock() {
  [[ ${FABRIC[$1]-} != *memlock:* ]] || ulimit -S -l "$(ulimit -H -l)"
}
