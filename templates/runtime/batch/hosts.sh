# Write the names of the tasks for the hosts files of containers.

# Write the names and addresses of the tasks for the containers, which add them to the names that
# the node knows.
write_hosts() {
  local role index name
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
