# Check the requirements of PSL_INFINIBAND_CHECKS[role] on a node: hca:NAME[:PORT], net:NAME,
# memlock:KIB or memlock:unlimited.
# Source: Linux, Documentation/ABI/stable/sysfs-class-infiniband and testing/sysfs-class-net.

# print_infiniband_problems: print a line "NODE PROBLEM" for each unmet requirement of the tasks of
# this node.
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
