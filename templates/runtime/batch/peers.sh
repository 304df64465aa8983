# Write what tasks know of each other: the addresses and ports of all tasks.
#
# peers.sh has all of these variables. A process inherits only as many of them as cost little: for
# each command that it starts, bash takes time that grows with the square of the number of exported
# variables (2 ms for 320 of them, 80 ms for 2560, 5 s for 25000).
# Source: OpenPAI environment variables; variables.c of bash, maybe_make_export_env.

# How many variables about tasks are exported: all, or those of the first tasks of each role.
readonly PSL_MAX_PEER_VARIABLES=320
# How many lists of all tasks of a role are exported, and how many bytes of them.
readonly PSL_MAX_LIST_VARIABLES=160 PSL_MAX_LIST_BYTES=65536

# write_peers: write peers.sh, and add to env.sh what is exported of it. All tasks have their nodes
# and ports by now.
write_peers() {
  local PSL_ENV_FD
  exec {PSL_ENV_FD}>>env.sh || return
  count_exported_peers
  {
    printf '%s\n' "$PSL_INSTANCES_LINE" && print_peers && print_host_lists
  } >peers.sh || return
  printf 'PSL_UNEXPORTED_PEERS=%s\n' "$PSL_UNEXPORTED_PEERS" >&"$PSL_ENV_FD" &&
    exec {PSL_ENV_FD}>&-
}

# count_exported_peers: set PSL_EXPORTED_PEERS, the number of tasks of each role whose variables are
# exported, and PSL_VARIABLES_OF, the number of variables about one task of each role.
count_exported_peers() {
  local role of_one_each=0 total=0
  local -a names labels
  PSL_VARIABLES_OF=()
  for role in "${!PSL_ROLE_NAME[@]}"; do
    read -ra names <<<"${PSL_ROLE_ALIASES[role]}"
    read -ra labels <<<"${PSL_PORT_COUNTS[role]}"
    PSL_VARIABLES_OF[role]=$((${#names[@]} * (1 + 2 * ${#labels[@]})))
    of_one_each=$((of_one_each + PSL_VARIABLES_OF[role]))
    total=$((total + PSL_INSTANCES[role] * PSL_VARIABLES_OF[role]))
  done
  PSL_EXPORTED_PEERS=$total
  if ((total > PSL_MAX_PEER_VARIABLES)); then
    PSL_EXPORTED_PEERS=$((PSL_MAX_PEER_VARIABLES / of_one_each))
    PSL_EXPORTED_PEERS=$((PSL_EXPORTED_PEERS ? PSL_EXPORTED_PEERS : 1))
  fi
}

# print_peers: print the variables about every task, and add those that are exported to env.sh.
print_peers() {
  local role index text left=$PSL_MAX_PEER_VARIABLES
  for role in "${!PSL_ROLE_NAME[@]}"; do
    nodes_of "$role"
    for index in "${!PSL_NODES[@]}"; do
      describe_task "$role" "$index"
      if ((PSL_VARIABLES_OF[role] == 0)); then
        continue
      fi
      printf '%s\n' "${PSL_TASK_VARIABLES[@]}" || return
      if ((index < PSL_EXPORTED_PEERS && PSL_VARIABLES_OF[role] <= left)); then
        left=$((left - PSL_VARIABLES_OF[role]))
        text="export ${PSL_TASK_VARIABLES[*]}"
        printf '%s\n' "$text" >&"$PSL_ENV_FD" || return
      else
        PSL_UNEXPORTED_PEERS=1
      fi
    done
  done
}

# describe_task ROLE INDEX: fill PSL_TASK_VARIABLES with "NAME=VALUE" for the address and the ports
# of a task. A label with a dot or `~` cannot be part of a name.
describe_task() {
  local role=$1 index=$2 name label port address=${PSL_ADDRESS_OF[${PSL_NODES[$2]}]}
  PSL_TASK_VARIABLES=()
  for name in ${PSL_ROLE_ALIASES[role]}; do
    PSL_TASK_VARIABLES+=("PAI_HOST_IP_${name}_$index=$address")
    for label in ${PSL_PORT_COUNTS[role]}; do
      label=${label%:*}
      if [[ $label != *[.~]* ]]; then
        port=${PSL_PORTS_OF[$role.$index.$label]}
        PSL_TASK_VARIABLES+=("PAI_PORT_LIST_${name}_${index}_$label=$port")
        PSL_TASK_VARIABLES+=("PAI_${name}_${index}_${label}_PORT=$port")
      fi
    done
  done
}

# print_host_lists: print PAI_TASK_ROLE_<role>_HOST_LIST, "address:first http port" of each task, by
# index, and add the lists that are exported to env.sh. Lists with a role's name come after those
# with its position, because a name may be a number.
print_host_lists() {
  local role name
  PSL_LISTS=() PSL_LIST_NAMES=()
  for role in "${!PSL_ROLE_NAME[@]}"; do
    list_hosts "$role"
    PSL_LIST_NAMES+=("$role=$role")
  done
  for role in "${!PSL_ROLE_NAME[@]}"; do
    for name in ${PSL_ROLE_ALIASES[role]}; do
      PSL_LIST_NAMES+=("$name=$role")
    done
  done
  print_lists
}

# list_hosts ROLE: put the list of a role into PSL_LISTS.
list_hosts() {
  local role=$1 index port
  local -a hosts=()
  nodes_of "$role"
  for index in "${!PSL_NODES[@]}"; do
    port=${PSL_PORTS_OF[$role.$index.http]}
    hosts+=("${PSL_ADDRESS_OF[${PSL_NODES[index]}]}:${port%%,*}")
  done
  printf -v "PSL_LISTS[role]" '%s,' "${hosts[@]}"
  PSL_LISTS[role]=${PSL_LISTS[role]%,}
}

# print_lists: print the lists in the order of PSL_LIST_NAMES, and add to env.sh as many of them as
# are exported.
print_lists() {
  local each line size=0 count=0
  for each in "${PSL_LIST_NAMES[@]}"; do
    line=PAI_TASK_ROLE_${each%=*}_HOST_LIST=${PSL_LISTS[${each#*=}]}
    printf '%s\n' "$line" || return
    if ((count < PSL_MAX_LIST_VARIABLES && size + ${#line} <= PSL_MAX_LIST_BYTES)); then
      count=$((count + 1)) size=$((size + ${#line}))
      printf 'export %s\n' "$line" >&"$PSL_ENV_FD" || return
    else
      PSL_UNEXPORTED_PEERS=1
    fi
  done
}

# Write the names and addresses of the tasks for the containers, which add them to the names that
# the node knows.
write_hosts() {
  local role index name
  if [[ $PSL_CONTAINER_RUNTIME == none ]]; then
    return 0
  fi
  if ((!PSL_GANG)); then
    : >"$PSL_ATTEMPT_FOLDER/hosts"
    return
  fi
  for role in "${!PSL_ROLE_NAME[@]}"; do
    nodes_of "$role"
    for index in "${!PSL_NODES[@]}"; do
      for name in ${PSL_ROLE_ALIASES[role]}; do
        printf '%s %s-%s\n' "${PSL_ADDRESS_OF[${PSL_NODES[index]}]}" "$name" "$index"
      done
    done
  done >"$PSL_ATTEMPT_FOLDER/hosts"
}
