# Write the addresses and ports of all tasks for the other tasks.
#
# peers.sh sets all of these variables, and env.sh exports all or none of them: for each command,
# bash takes time that grows with the square of the number of exported variables.
# Source: OpenPAI environment variables; variables.c of bash, maybe_make_export_env.

# The bytes that are left for a task's own variables, arguments and pointers.
readonly PSL_OTHER_BYTES=32768

# write_peers: write peers.sh, and add its exports to env.sh. All tasks have their nodes and ports
# by now.
write_peers() {
  {
    printf '%s\n' "$PSL_INSTANCES_LINE" && print_peers && print_host_lists
  } >peers.sh || return
  if exports_peers "$(wc -c <peers.sh)"; then
    sed 's/^/export /' peers.sh >>env.sh
  else
    print_unexported_peers >>env.sh
  fi
}

# exports_peers BYTES: succeed if tasks inherit the variables about all tasks, which have BYTES
# bytes. Arguments and environment have at most a quarter of the stack.
# Source: execve(2), limits on size of arguments and environment.
exports_peers() {
  local stack limit
  if ((PSL_MANY_TASKS)); then
    return 1
  fi
  stack=$(ulimit -S -s)
  if [[ $stack == unlimited ]] || ((stack > 24576)); then
    stack=24576
  fi
  limit=$((stack < 512 ? 131072 : stack * 256))
  (($1 + $(env -0 | wc -c) + PSL_OTHER_BYTES < limit))
}

# print_unexported_peers: print lines by which the bash of all commands sets the variables about all
# tasks without exporting them. A job of many tasks has its own setting.
print_unexported_peers() {
  if ((PSL_MANY_TASKS)); then
    return
  fi
  log "warning: tasks do not inherit the variables about each other: the environment of the job" \
    "has no room for them (ulimit -s)"
  printf 'PSL_NAMES_PEERS[%d]=1\n' "${!PSL_ROLE_NAME[@]}"
}

# print_peers: print the variables about every task.
print_peers() {
  local role index
  for role in "${!PSL_ROLE_NAME[@]}"; do
    nodes_of "$role"
    for index in "${!PSL_NODES[@]}"; do
      describe_task "$role" "$index" "${PSL_ADDRESS_OF[${PSL_NODES[index]}]}"
      # A role of protocol v1 may have no name that is valid in a variable.
      if ((${#PSL_TASK_VARIABLES[@]})); then
        printf '%s\n' "${PSL_TASK_VARIABLES[@]}" || return
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

# list_hosts ROLE: set the caller's `lists[ROLE]` to the list of a role.
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
