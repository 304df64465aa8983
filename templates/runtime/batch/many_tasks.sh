# Export a part of what tasks know of each other, in a job with many tasks.
#
# A process inherits only as many variables as cost little: for each command that it starts, bash
# takes time that grows with the square of the number of exported variables (2 ms for 320 of them,
# 80 ms for 2560, 5 s for 25000). Source: variables.c of bash, maybe_make_export_env.

# How many variables about tasks are exported: all, or those of the first tasks of each role.
readonly PSL_MAX_PEER_VARIABLES=320
# How many lists of all tasks of a role are exported, and how many bytes of them.
readonly PSL_MAX_LIST_VARIABLES=160 PSL_MAX_LIST_BYTES=65536
# The number of tasks of each role whose variables are exported, and by role the number of variables
# about one task.
PSL_EXPORTED_PEERS=0 PSL_VARIABLES_OF=()

# count_exported_peers: set PSL_EXPORTED_PEERS and PSL_VARIABLES_OF.
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

# print_exported_peers: print the lines of env.sh that export a part of peers.sh.
print_exported_peers() {
  local role index line left=$PSL_MAX_PEER_VARIABLES size=0 count=0
  count_exported_peers
  for role in "${!PSL_ROLE_NAME[@]}"; do
    nodes_of "$role"
    for ((index = 0; index < PSL_EXPORTED_PEERS && index < PSL_INSTANCES[role]; index++)); do
      describe_task "$role" "$index"
      if ((PSL_VARIABLES_OF[role] > 0 && PSL_VARIABLES_OF[role] <= left)); then
        left=$((left - PSL_VARIABLES_OF[role]))
        printf 'export %s\n' "${PSL_TASK_VARIABLES[*]}" || return
      fi
    done
  done
  while IFS= read -r line; do
    if ((count < PSL_MAX_LIST_VARIABLES && size + ${#line} <= PSL_MAX_LIST_BYTES)); then
      count=$((count + 1)) size=$((size + ${#line}))
      printf 'export %s\n' "$line" || return
    fi
  done < <(grep '^PAI_TASK_ROLE_.*_HOST_LIST=' peers.sh)
}
