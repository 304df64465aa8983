# Write what tasks know of each other: the addresses and ports of all tasks.
#
# peers.sh has all of these variables, and env.sh exports them. In a job with many tasks it exports
# only some of them: see many_tasks.
# Source: OpenPAI environment variables.

# write_peers: write peers.sh, and add to env.sh what is exported of it. All tasks have their nodes
# and ports by now.
write_peers() {
  {
    printf '%s\n' "$PSL_INSTANCES_LINE" && print_peers && print_host_lists
  } >peers.sh || return
  if ((PSL_MANY_TASKS)); then
    print_exported_peers >>env.sh
  else
    sed 's/^/export /' peers.sh >>env.sh
  fi
}

# print_peers: print the variables about every task.
print_peers() {
  local role index
  for role in "${!PSL_ROLE_NAME[@]}"; do
    nodes_of "$role"
    for index in "${!PSL_NODES[@]}"; do
      describe_task "$role" "$index"
      # A role of protocol v1 may have no name that variables can have.
      if ((${#PSL_TASK_VARIABLES[@]})); then
        printf '%s\n' "${PSL_TASK_VARIABLES[@]}" || return
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
# index. Lists with a role's name come after those with its position, because a name may be a
# number.
print_host_lists() {
  local role name
  local -a lists=()
  for role in "${!PSL_ROLE_NAME[@]}"; do
    list_hosts "$role"
    printf 'PAI_TASK_ROLE_%s_HOST_LIST=%s\n' "$role" "${lists[role]}" || return
  done
  for role in "${!PSL_ROLE_NAME[@]}"; do
    for name in ${PSL_ROLE_ALIASES[role]}; do
      printf 'PAI_TASK_ROLE_%s_HOST_LIST=%s\n' "$name" "${lists[role]}" || return
    done
  done
}

# list_hosts ROLE: put the list of a role into `lists` of the caller.
list_hosts() {
  local role=$1 index port
  local -a hosts=()
  nodes_of "$role"
  for index in "${!PSL_NODES[@]}"; do
    port=${PSL_PORTS_OF[$role.$index.http]}
    hosts+=("${PSL_ADDRESS_OF[${PSL_NODES[index]}]}:${port%%,*}")
  done
  printf -v "lists[role]" '%s,' "${hosts[@]}"
  lists[role]=${lists[role]%,}
}
