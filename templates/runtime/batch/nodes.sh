# Which node each slot runs on, and the address of each node.
#
# Filled here: PSL_NODES_OF[role], the nodes of the role's slots in order; PSL_ADDRESS_OF[node].

# Put the value of a job variable of component $2 into VALUE: SLURM_X, or SLURM_X_HET_GROUP_k in a heterogeneous job.
component_value() {
  local name=$1
  if [[ $PSL_LAYOUT == het ]]; then
    name+=_HET_GROUP_$2
  fi
  PSL_VALUE=${!name-}
}

# Expand Slurm's "3(x2),1" to "3 3 1", in COUNTS.
expand_counts() {
  local item times
  PSL_COUNTS=()
  for item in ${1//,/ }; do
    times=1
    [[ $item != *'(x'* ]] || times=${item#*x} times=${times%)}
    for ((; times > 0; times--)); do PSL_COUNTS+=("${item%%(*}"); done
  done
}

place_slots() {
  local component lists='' role first=0 count=1
  local -a names
  if [[ $PSL_LAYOUT == het ]]; then
    count=${#PSL_ROLE_NAME[@]}
  fi
  for ((component = 0; component < count; component++)); do
    PSL_EVERY_COMPONENT+=("$component")
    component_value SLURM_JOB_NODELIST "$component"
    lists+=${lists:+,}$PSL_VALUE
  done
  mapfile -t names < <(scontrol show hostnames "$lists")
  ((${#names[@]})) || die "scontrol cannot expand the node list '$lists'"
  for role in "${!PSL_ROLE_NAME[@]}"; do
    if [[ $PSL_LAYOUT == shared ]]; then
      read -ra PSL_COUNTS <<<"${PSL_PLACEMENT[role]}"
    else
      component_value SLURM_TASKS_PER_NODE "$role"
      expand_counts "$PSL_VALUE"
    fi
    place_role "$role" "${names[@]:first:${#PSL_COUNTS[@]}}"
    [[ $PSL_LAYOUT == shared ]] || first=$((first + ${#PSL_COUNTS[@]}))
  done
}

# Fill the role's slots node by node, as many on each as Slurm granted.
place_role() {
  local role=$1 slot=0 node=0 used
  local -a names=("${@:2}") nodes=()
  for ((node = 0; node < ${#names[@]}; node++)); do
    for ((used = 0; used < PSL_COUNTS[node] && slot < PSL_SLOTS[role]; used++, slot++)); do
      nodes+=("${names[node]}")
    done
  done
  ((slot == PSL_SLOTS[role])) ||
    die "role ${PSL_ROLE_NAME[role]} needs ${PSL_SLOTS[role]} slots and Slurm granted $slot on ${names[*]-no node}"
  PSL_NODES_OF[role]="${nodes[*]}"
}

find_addresses() {
  local node nodes
  local -A seen=()
  local -a names=()
  for nodes in "${PSL_NODES_OF[@]}"; do
    for node in $nodes; do
      [[ ${seen[$node]-} ]] || names+=("$node")
      seen[$node]=1
    done
  done
  case $PSL_ADDRESS_METHOD in
    getent) look_up_addresses '' "${names[@]}" ;;
    suffix) look_up_addresses "$PSL_NODE_SUFFIX" "${names[@]}" ;;
    node-address) ask_slurm "${names[@]}" ;;
  esac
  for node in "${names[@]}"; do
    if ((${#names[@]} > 1)) && [[ ${PSL_ADDRESS_OF[$node]-} =~ ^(127\.|::1$) ]]; then
      # Debian gives a host's own name a loopback address; other nodes cannot use it.
      ask_slurm "$node"
    fi
    [[ ${PSL_ADDRESS_OF[$node]-} ]] ||
      die "no address for node $node$PSL_NODE_SUFFIX: getent does not know it (site profile: address)"
    ((${#names[@]} == 1)) || [[ ! ${PSL_ADDRESS_OF[$node]} =~ ^(127\.|::1$) ]] ||
      die "node $node has the address ${PSL_ADDRESS_OF[$node]}, which other nodes cannot reach (site profile: address)"
  done
}

# One getent for all names; it prints the canonical name on the first line of each answer, in order.
look_up_addresses() {
  local suffix=$1 address kind name node
  shift
  local -a found=()
  while read -r address kind name; do
    [[ $kind != STREAM || -z $name ]] || found+=("$address")
  done < <(getent ahostsv4 "${@/%/$suffix}")
  if ((${#found[@]} == $#)); then
    for node; do
      PSL_ADDRESS_OF[$node]=${found[0]}
      found=("${found[@]:1}")
    done
    return
  fi
  for node; do
    read -r address _ < <(getent ahosts "$node$suffix") && PSL_ADDRESS_OF[$node]=$address
  done
}

# Slurm's own address of a node; it may be a name again.
ask_slurm() {
  local line name address
  for name; do
    line=$(scontrol --oneliner show node "$name")
    [[ $line =~ NodeAddr=([^ ]+) ]] || continue
    address=${BASH_REMATCH[1]}
    [[ $address =~ ^[0-9.]+$|: ]] || read -r address _ < <(getent ahosts "$address")
    PSL_ADDRESS_OF[$name]=$address
  done
}

# A line for each node: the GPUs that the job has there, where Slurm does not call them `gpu`.
# Source: scontrol(1), show job --details.
print_gpus_on_nodes() {
  local line nodes node item number list
  while read -r line; do
    [[ $line =~ ^Nodes=([^\ ]+)\ .*[=,]"$PSL_GPU_GRES"(:[^\(,]+)?:[0-9]+\(IDX:([0-9,-]+)\) ]] || continue
    nodes=${BASH_REMATCH[1]} list=''
    for item in ${BASH_REMATCH[3]//,/ }; do
      for ((number = ${item%-*}; number <= ${item#*-}; number++)); do list+=${list:+,}$number; done
    done
    while read -r node; do printf "PSL_GPUS_ON['%s']=%s\n" "$node" "$list"; done < <(scontrol show hostnames "$nodes")
  done < <(scontrol --details show job "$SLURM_JOB_ID")
}
