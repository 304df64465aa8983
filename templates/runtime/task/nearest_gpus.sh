# Divide the GPUs of a node so that each task gets those nearest to its CPUs.
#
# Each task takes GPUs of the NUMA domain of its CPUs; then tasks that lack some take those that are
# left, in the order of their CPUs and of the domains. That needs the CPU masks of the step's tasks
# on the node, which Slurm lists if it binds tasks, and a list of all GPUs of the node. Otherwise
# the order of Slurm's list stays.
# Source: srun(1), SLURM_CPU_BIND_LIST; Linux, Documentation/ABI/testing/sysfs-bus-pci, numa_node;
# CUDA programming guide, CUDA_DEVICE_ORDER: by default the fastest GPU is the first.

# The NUMA domains of the node's GPUs, by GPU number; empty if one is unknown.
PSL_GPU_DOMAINS=()
# The CPUs of this task, set by read_cpu_list.
PSL_CPU_LIST=''
# The result of find_domain_of_cpu.
PSL_DOMAIN=''

# take_nearest_gpus ROLE: put the GPUs of the caller's task, which are at the position `first` of
# `found`, at the beginning of `found`, and set `first` to 0.
take_nearest_gpus() {
  local item domain
  local -a free=() tasks=() shares=()
  if ! find_gpu_domains "${found[@]}"; then
    PSL_GPU_DOMAINS=()
    return 0
  fi
  if [[ $PSL_GPU_VENDOR == nvidia ]]; then
    export CUDA_DEVICE_ORDER=PCI_BUS_ID
  fi
  sort_tasks "$1" || return 0
  for item in "${found[@]}"; do
    free[PSL_GPU_DOMAINS[item]]+=" $item "
  done
  for item in "${!tasks[@]}"; do
    domain=$((item >> 16))
    give_gpus "${free[domain]-}" "${tasks[item]}"
  done
  for item in "${!tasks[@]}"; do
    give_gpus "${free[*]-}" "${tasks[item]}"
  done
  read -ra found <<<"${shares[first / want]-}"
  first=0
}

# give_gpus GPUS POSITIONS: give GPUs of this list that are free to the tasks that lack some.
give_gpus() {
  local position item domain
  local -a have
  for position in $2; do
    for item in $1; do
      read -ra have <<<"${shares[position]-}"
      domain=${PSL_GPU_DOMAINS[item]}
      if ((${#have[@]} < want)) && [[ ${free[domain]} == *" $item "* ]]; then
        shares[position]+=" $item" free[domain]=${free[domain]/ $item / }
      fi
    done
  done
}

# find_gpu_domains NUMBER ...: fill PSL_GPU_DOMAINS. Fail unless these are all GPUs of the node.
find_gpu_domains() {
  local item domain devices="${PSL_SYSFS%/*}/bus/pci/drivers/nvidia/*:*"
  PSL_GPU_DOMAINS=()
  if [[ $PSL_GPU_VENDOR == amd ]]; then
    devices="$PSL_SYSFS/drm/renderD*/device"
  elif [[ ${CUDA_DEVICE_ORDER-PCI_BUS_ID} != PCI_BUS_ID ]]; then
    return 1
  fi
  for item in $devices; do
    read -r domain 2>/dev/null <"$item/numa_node" || return
    ((domain >= 0)) || return
    PSL_GPU_DOMAINS+=("$domain")
  done
  ((${#PSL_GPU_DOMAINS[@]} == $#)) || return
  for item; do
    [[ $item =~ ^(0|[1-9][0-9]*)$ && ${PSL_GPU_DOMAINS[item]-} ]] || return
  done
}

# sort_tasks ROLE: fill `tasks` with the positions of the role's tasks on this node, sorted by the
# NUMA domain and number of their first CPU. Every rank has a mask.
sort_tasks() {
  local item position=0 cpu bit ranks=${PSL_RANKS_OF[$1]:-1}
  local -a masks
  IFS=, read -ra masks <<<"$PSL_CPU_MASKS"
  nodes_of "$1"
  for item in "${PSL_NODES[@]}"; do
    [[ $item == "$SLURMD_NODENAME" ]] || continue
    # The last digit that is not 0 contains the first CPU.
    [[ ${masks[position * ranks]-} =~ ^0x[0-9A-Fa-f]*([1-9A-Fa-f])(0*)$ ]] || return
    bit=$((0x${BASH_REMATCH[1]} & -0x${BASH_REMATCH[1]}))
    cpu=$((4 * ${#BASH_REMATCH[2]} + (bit > 1) + (bit > 2) + (bit > 4)))
    find_domain_of_cpu "$cpu" || return
    tasks[(PSL_DOMAIN << 16) + cpu]+=" $position"
    position=$((position + 1))
  done
  ((${#masks[@]} == position * ranks))
}

# find_domain_of_cpu CPU: set PSL_DOMAIN to its NUMA domain.
find_domain_of_cpu() {
  local file
  for file in "${PSL_SYSFS%/*}/devices/system/cpu/cpu$1"/node[0-9]*; do
    PSL_DOMAIN=${file##*/node}
  done
  [[ -e $file ]]
}

# note_far_gpus NUMBER ...: add to PSL_MISMATCHES if no GPU of this task is in a NUMA domain of its
# CPUs, but another GPU is.
note_far_gpus() {
  local item cpu domains=' ' near=''
  ((${#PSL_GPU_DOMAINS[@]})) || return 0
  read_cpu_list
  for item in ${PSL_CPU_LIST//,/ }; do
    for ((cpu = ${item%-*}; cpu <= ${item#*-}; cpu++)); do
      if find_domain_of_cpu "$cpu" && [[ $domains != *" $PSL_DOMAIN "* ]]; then
        domains+="$PSL_DOMAIN "
      fi
    done
  done
  for item in "${!PSL_GPU_DOMAINS[@]}"; do
    if [[ $domains == *" ${PSL_GPU_DOMAINS[item]} "* ]]; then
      near+=" $item "
    fi
  done
  for item; do
    if [[ $near == *" $item "* ]]; then
      return 0
    fi
  done
  if [[ $near ]]; then
    PSL_MISMATCHES+="this task runs on CPUs $PSL_CPU_LIST of $SLURMD_NODENAME, in NUMA"
    PSL_MISMATCHES+=" domain${domains% }, but its GPU $1 is in NUMA domain ${PSL_GPU_DOMAINS[$1]}"
    PSL_MISMATCHES+=$'\n'
  fi
}

# read_cpu_list: set PSL_CPU_LIST to the CPUs on which this task may run.
read_cpu_list() {
  local name=''
  until [[ $name == Cpus_allowed_list: ]]; do
    read -r name PSL_CPU_LIST || return
  done </proc/self/status
}
