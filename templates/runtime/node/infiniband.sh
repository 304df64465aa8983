# Looking for what FABRIC[role] says that the nodes of a role must have: hca:NAME[:PORT], net:NAME, memlock:KIB or
# memlock:unlimited.
# Source: Linux, Documentation/ABI/stable/sysfs-class-infiniband and testing/sysfs-class-net.

# A line "NODE PSL_PROBLEM" for each thing that its tasks need and that is not there.
print_infiniband_problems() {
  local role check
  local -A seen=()
  for role in "${!PSL_INFINIBAND_CHECKS[@]}"; do
    [[ " ${PSL_NODES_OF[role]} " == *" $SLURMD_NODENAME "* ]] || continue
    for check in ${PSL_INFINIBAND_CHECKS[role]}; do
      if [[ ${seen[$check]-} ]]; then
        continue
      fi
      seen[$check]=1
      "check_${check%%:*}" "${check#*:}" || printf '%s %s\n' "$SLURMD_NODENAME" "$PSL_PROBLEM"
    done
  done
}

# check_hca NAME[:PORT]: the adapter is there, and the port, or one of its ports, is active.
check_hca() {
  local adapter=${1%:*} port='*' file state
  if [[ $1 == *:* ]]; then
    port=${1##*:}
  fi
  PSL_PROBLEM="there is no InfiniBand adapter $adapter in $PSL_SYSFS/infiniband (site profile: infiniband.adapters)"
  [[ -d $PSL_SYSFS/infiniband/$adapter ]] || return
  PSL_PROBLEM="the InfiniBand adapter $adapter has no port $port in $PSL_SYSFS/infiniband/$adapter/ports"
  # shellcheck disable=SC2231 # the port may be a pattern
  for file in "$PSL_SYSFS/infiniband/$adapter/ports"/$port/state; do
    read -r state 2>/dev/null <"$file" || continue
    if [[ $state == *ACTIVE* ]]; then
      return 0
    fi
    PSL_PROBLEM="port $(port_of "$file") of the InfiniBand adapter $adapter is not active but ${state#*: }"
  done
  return 1
}

port_of() {
  local folder=${1%/*}
  printf '%s' "${folder##*/}"
}

# check_net NAME: the interface is there, and up as far as it says.
check_net() {
  local state
  PSL_PROBLEM="there is no network interface $1 in $PSL_SYSFS/net (site profile: infiniband)"
  [[ -d $PSL_SYSFS/net/$1 ]] || return
  read -r state 2>/dev/null <"$PSL_SYSFS/net/$1/operstate" || return 0
  PSL_PROBLEM="the network interface $1 is not up but $state"
  [[ $state == up || $state == unknown ]]
}

# check_memlock KIB|unlimited: tasks can lock so much memory. Only the hard limit counts: tasks raise the other to it.
check_memlock() {
  local limit
  limit=$(ulimit -H -l)
  PSL_PROBLEM="tasks can lock only $limit KiB of memory, and InfiniBand needs $1 (site profile: infiniband.memlockMB)"
  [[ $limit == unlimited ]] || { [[ $1 != unlimited ]] && ((limit >= $1)); }
}
