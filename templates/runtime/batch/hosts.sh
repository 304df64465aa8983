# Write the names of the tasks for the hosts files of containers.

# write_hosts: write the names and addresses of the tasks. Containers add them to the node's hosts
# file.
write_hosts() {
  local role index name
  if [[ $PSL_CONTAINER_RUNTIME == none ]]; then
    return
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
