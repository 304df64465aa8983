# Find the node of each slot and the address of each node.
#
# Filled here: PSL_NODES_OF[role], the nodes of the role's slots in order; PSL_ADDRESS_OF[node].

# component_value NAME COMPONENT: set PSL_VALUE to the value of a variable of Slurm, whose name is
# SLURM_X, or SLURM_X_HET_GROUP_k in a heterogeneous job.
component_value() {
  local name=$1
  if [[ $PSL_LAYOUT == het ]]; then
    name+=_HET_GROUP_$2
  fi
  PSL_VALUE=${!name-}
}

# expand_counts COUNTS FIRST: expand Slurm's "3(x2),1" into PSL_COUNTS, for the nodes from FIRST on.
expand_counts() {
  local item times node=$2
  PSL_COUNTS=()
  for item in ${1//,/ }; do
    times=1
    if [[ $item == *'(x'* ]]; then
      times=${item#*x} times=${times%)}
    fi
    for ((; times > 0; times--, node++)); do
      PSL_COUNTS[node]=${item%%(*}
    done
  done
}

# expand_placement PLACEMENT NODES: expand "0-999:1 1003:2" into PSL_COUNTS, up to the number of
# nodes.
expand_placement() {
  local item node last
  PSL_COUNTS=()
  for item in $1; do
    last=${item%:*} last=${last#*-}
    for ((node = ${item%%[-:]*}; node <= last && node < $2; node++)); do
      PSL_COUNTS[node]=${item#*:}
    done
  done
}

# place_slots: assign every slot of every role to a node.
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
      expand_placement "${PSL_PLACEMENT[role]}" "${#names[@]}"
    else
      component_value SLURM_TASKS_PER_NODE "$role"
      expand_counts "$PSL_VALUE" "$first"
      first=$((first + ${#PSL_COUNTS[@]}))
    fi
    place_role "$role"
  done
}

# place_role ROLE: assign the role's slots node by node, by the counts in PSL_COUNTS. The caller's
# `names` contains the nodes.
place_role() {
  local role=$1 slot=0 node used
  local -a nodes=() able=()
  for node in "${!PSL_COUNTS[@]}"; do
    [[ ${names[node]-} ]] || break
    able+=("${names[node]}")
    for ((used = 0; used < PSL_COUNTS[node] && slot < PSL_SLOTS[role]; used++, slot++)); do
      nodes+=("${names[node]}")
    done
  done
  ((slot == PSL_SLOTS[role])) || die "role ${PSL_ROLE_NAME[role]} needs ${PSL_SLOTS[role]} slots\
 and Slurm granted $slot on ${able[*]-no node}"
  PSL_NODES_OF[role]="${nodes[*]}"
}

# find_addresses: find the address of every node, by the method of the site profile. Use Slurm's
# address if getent is missing, and for this host's name, which resolves to a loopback address on
# Debian.
find_addresses() {
  local node nodes address
  local -A seen=()
  local -a names=() unknown=()
  for nodes in "${PSL_NODES_OF[@]}"; do
    for node in $nodes; do
      [[ ${seen[$node]-} ]] || names+=("$node")
      seen[$node]=1
    done
  done
  if [[ $PSL_ADDRESS_METHOD == node-address ]]; then
    ask_slurm "${names[@]}"
  else
    look_up_addresses "$PSL_NODE_SUFFIX" "${names[@]}"
  fi
  for node in "${names[@]}"; do
    address=${PSL_ADDRESS_OF[$node]-}
    if is_useless "$address"; then
      unknown+=("$node")
    elif [[ ! $address$PSL_NODE_SUFFIX ]] && ! has_getent; then
      # A suffix selects a different network from Slurm's.
      unknown+=("$node")
    fi
  done
  if ((${#unknown[@]})); then
    ask_slurm ${unknown[@]+"${unknown[@]}"}
  fi
  check_addresses "${names[@]}"
}

# is_useless ADDRESS: succeed if only the node itself can use an address, but other nodes need one.
is_useless() { [[ $1 =~ ^(127\.|::1$) ]] && ((${#names[@]} > 1)); }

has_getent() { command -v getent >/dev/null; }

# check_addresses NODE ...: end the job if a node has no address that other nodes can use.
check_addresses() {
  local node source=getent
  local -a names=("$@")
  has_getent || source="/etc/hosts of $SLURMD_NODENAME, which has no getent,"
  for node; do
    [[ ${PSL_ADDRESS_OF[$node]-} ]] || die \
      "no address for node $node$PSL_NODE_SUFFIX: $source does not know it (site profile: address)"
    if is_useless "${PSL_ADDRESS_OF[$node]}"; then
      die "node $node has the address ${PSL_ADDRESS_OF[$node]}, which other nodes cannot reach\
 (site profile: address)"
    fi
  done
}

# look_up_addresses SUFFIX NODE ...: query getent, once for all names. It prints the canonical name
# on the first line of each answer, in order.
look_up_addresses() {
  local suffix=$1 address kind name node position=0
  shift
  local -a found=()
  if ! has_getent; then
    read_hosts_file "$suffix" "$@" </etc/hosts
    return
  fi
  while read -r address kind name; do
    if [[ $kind == STREAM && $name ]]; then
      found+=("$address")
    fi
  done < <(getent ahostsv4 "${@/%/$suffix}")
  if ((${#found[@]} == $#)); then
    for node; do
      PSL_ADDRESS_OF[$node]=${found[position++]}
    done
    return
  fi
  for node; do
    read -r address _ < <(getent ahosts "$node$suffix") && PSL_ADDRESS_OF[$node]=$address
  done
}

# read_hosts_file SUFFIX NODE ...: read the first address of each name from a hosts file on standard
# input. Source: hosts(5).
read_hosts_file() {
  local suffix=$1 address names word node
  local -A known=()
  shift
  while read -r address names || [[ $address ]]; do
    [[ $address != '#'* ]] || continue
    for word in ${names%%#*}; do
      known[$word]=${known[$word]:-$address}
    done
  done
  for node; do
    if [[ ${known[$node$suffix]-} ]]; then
      PSL_ADDRESS_OF[$node]=${known[$node$suffix]}
    fi
  done
}

# ask_slurm NODE ...: read the addresses that Slurm uses for nodes, which may be names. One scontrol
# reports up to a thousand nodes.
ask_slurm() {
  local list line name address word
  local -a named=()
  while (($#)); do
    printf -v list '%s,' "${@:1:1000}"
    shift $(($# < 1000 ? $# : 1000))
    split_words $'\n' "$(scontrol --oneliner show node "${list%,}")"
    for line in ${PSL_WORDS[@]+"${PSL_WORDS[@]}"}; do
      [[ $line == NodeName=*' NodeAddr='* ]] || continue
      name=${line#NodeName=} name=${name%% *} address=${line#*' NodeAddr='} address=${address%% *}
      if [[ $address == "$name" ]]; then
        named+=("$name")
        continue
      elif [[ ! $address =~ ^[0-9.]+$|: ]]; then
        look_up_addresses '' "$address"
        word=$address address=${PSL_ADDRESS_OF[$address]-}
        unset 'PSL_ADDRESS_OF[$word]'
      fi
      PSL_ADDRESS_OF[$name]=${address:-${PSL_ADDRESS_OF[$name]-}}
    done
  done
  if ((${#named[@]})); then
    look_up_addresses '' ${named[@]+"${named[@]}"}
  fi
}
