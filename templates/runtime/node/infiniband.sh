# Check the requirements of PSL_INFINIBAND_CHECKS[role] on a node: hca:NAME[:PORT], net:NAME,
# memlock:KIB or memlock:unlimited; and read what the batch script compares with other nodes.
# Source: Linux, Documentation/ABI/stable/sysfs-class-infiniband and testing/sysfs-class-net.

# Counters of errors of a port. Healthy ports have small numbers of some since their last reset.
# Source: IBTA, PortCounters; Linux, Documentation/ABI/stable/sysfs-class-infiniband.
PSL_ERROR_COUNTERS='symbol_error link_downed link_error_recovery port_rcv_errors
  local_link_integrity_errors excessive_buffer_overrun_errors'

# print_infiniband_problems: print a line "NODE PROBLEM" for each unmet requirement of the tasks of
# this node, and a line "+ NODE THING QUALITY VALUE" for each reading.
print_infiniband_problems() {
  local role check has_gpus=''
  local -A seen=()
  for role in "${!PSL_INFINIBAND_CHECKS[@]}"; do
    [[ " ${PSL_NODES_OF[role]} " == *" $SLURMD_NODENAME "* ]] || continue
    if [[ ${PSL_INFINIBAND_CHECKS[role]} == *hca:* && $PSL_GPU_VENDOR == nvidia ]] &&
      ((PSL_ROLE_GPUS[role])); then
      has_gpus=1
    fi
    for check in ${PSL_INFINIBAND_CHECKS[role]}; do
      if [[ ${seen[$check]-} ]]; then
        continue
      fi
      seen[$check]=1
      "check_${check%%:*}" "${check#*:}" || printf '%s %s\n' "$SLURMD_NODENAME" "$PSL_PROBLEM"
      if [[ $check == hca:* ]] && find_port "${check#hca:}"; then
        print_readings_of_port "$PSL_PORT"
      fi
    done
  done
  if [[ $has_gpus ]]; then
    print_modules
  fi
}

# print_readings_of_port FOLDER: print rate, link layer, firmware and errors of a port.
print_readings_of_port() {
  local adapter=${1%/ports/*} port value counter
  port=${adapter##*/}:${1##*/}
  if read -r value 2>/dev/null <"$1/rate"; then
    value=${value%% (*}
    print_reading "$port" rate "${value/sec/s}"
  fi
  if read -r value 2>/dev/null <"$1/link_layer"; then
    print_reading "$port" link "$value"
  fi
  if read -r value 2>/dev/null <"$adapter/fw_ver"; then
    print_reading "${adapter##*/}" firmware "$value"
  fi
  for counter in $PSL_ERROR_COUNTERS; do
    if read -r value 2>/dev/null <"$1/counters/$counter" && [[ $value =~ ^[1-9][0-9]{0,14}$ ]]; then
      print_reading "$port" "$counter" "$value"
    fi
  done
}

# print_modules: print whether the modules are loaded that let adapters read GPU memory and CPUs map
# it. Source: NVIDIA driver README, nvidia-peermem; Mellanox/nv_peer_memory; NVIDIA/gdrcopy.
print_modules() {
  local folder=${PSL_SYSFS%/*}/module state=missing
  if [[ -d $folder/nvidia_peermem || -d $folder/nv_peer_mem ]]; then
    state=loaded
  fi
  print_reading nvidia_peermem module "$state"
  state=missing
  if [[ -d $folder/gdrdrv ]]; then
    state=loaded
  fi
  print_reading gdrdrv module "$state"
}

# print_reading THING QUALITY VALUE: print a reading of this node.
print_reading() { printf '+ %s %s %s %s\n' "$SLURMD_NODENAME" "$1" "$2" "$3"; }

# check_hca NAME[:PORT]: check that an adapter exists, and that the port, or any port, is active.
check_hca() {
  local name=${1%:*} port='*' adapter file state
  adapter=$PSL_SYSFS/infiniband/$name
  if [[ $1 == *:* ]]; then
    port=${1##*:}
  fi
  PSL_PROBLEM="there is no InfiniBand adapter $name in $PSL_SYSFS/infiniband"
  PSL_PROBLEM+=" (site profile: infiniband.adapters)"
  [[ -d $adapter ]] || return
  PSL_PROBLEM="the InfiniBand adapter $name has no port $port in $adapter/ports"
  # shellcheck disable=SC2231 # the port may be a pattern
  for file in "$adapter/ports"/$port/state; do
    read -r state 2>/dev/null <"$file" || continue
    if [[ $state == *ACTIVE* ]]; then
      return 0
    fi
    PSL_PROBLEM="port $(port_of "$file") of the InfiniBand adapter $name is not active"
    PSL_PROBLEM+=" but ${state#*: }"
  done
  return 1
}

# port_of FILE: print the number of the port that a file `state` belongs to.
port_of() {
  local folder=${1%/*}
  printf '%s' "${folder##*/}"
}

# check_net NAME: check that a network interface exists, and that its state is up or unknown.
check_net() {
  local state
  PSL_PROBLEM="there is no network interface $1 in $PSL_SYSFS/net (site profile: infiniband)"
  [[ -d $PSL_SYSFS/net/$1 ]] || return
  read -r state 2>/dev/null <"$PSL_SYSFS/net/$1/operstate" || return 0
  PSL_PROBLEM="the network interface $1 is not up but $state"
  [[ $state == up || $state == unknown ]]
}

# check_memlock KIB|unlimited: check that tasks can lock this much memory. Only the hard limit
# counts, to which tasks raise the soft limit.
check_memlock() {
  local limit
  limit=$(ulimit -H -l)
  PSL_PROBLEM="tasks can lock only $limit KiB of memory, and InfiniBand needs $1"
  PSL_PROBLEM+=" (site profile: infiniband.memlockMB)"
  if [[ $limit == unlimited ]]; then
    return 0
  fi
  [[ $1 != unlimited ]] && ((limit >= $1))
}

# print_changed_readings: print the problems and readings of this node that the check before the
# start of the tasks did not have.
print_changed_readings() {
  local mark node thing quality value first
  local -A before=()
  [[ -r $PSL_ATTEMPT_FOLDER/srun/infiniband.log ]] || return 0
  while read -r mark node thing quality value; do
    before[$node $thing $quality]=$value
  done <"$PSL_ATTEMPT_FOLDER/srun/infiniband.log"
  while read -r mark node thing quality value; do
    first=${before[$node $thing $quality]-0}
    if [[ $mark != + ]]; then
      printf '%s %s %s %s\n' "$node" "$thing" "$quality" "$value"
    elif [[ $value != "$first" ]]; then
      printf 'InfiniBand %s: %s %s, %s at the start\n' "$thing" "$quality" "$value" "$first"
    fi
  done < <(print_infiniband_problems)
}
