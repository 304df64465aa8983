# What runs once on each node, before any task begins; what it prints goes to the batch script.

prepare_node() {
  open_attempt "$@" && print_ports_of_node && make_bells_of_node
  exit
}

# Print "port ROLE INDEX LABEL N,N" for every slot of this node. One md5sum answers for all of them.
print_ports_of_node() {
  local role slot index node
  local -a requests=() nodes
  for role in "${!ROLE_NAME[@]}"; do
    read -ra nodes <<<"${NODES_OF[role]}"
    for slot in "${!nodes[@]}"; do
      [[ ${nodes[slot]} != "$SLURMD_NODENAME" ]] || requests+=("$role $slot 0")
    done
  done
  assign_ports "${requests[@]}" || return
  for index in "${!PORT_LINES[@]}"; do printf 'port %s\n' "${PORT_LINES[index]}"; done
}

# With gang allocation, the bells of all slots of a node, and what their containers begin with.
make_bells_of_node() {
  local role slot rank
  local -a nodes names=() slots=()
  for role in "${!ROLE_NAME[@]}"; do
    read -ra nodes <<<"${NODES_OF[role]}"
    for slot in "${!nodes[@]}"; do
      [[ ${nodes[slot]} == "$SLURMD_NODENAME" ]] || continue
      names+=("$role.$slot") slots+=("$role.$slot")
      for ((rank = 1; rank < ${RANKS_OF[role]:-1}; rank++)); do names+=("$role.$slot.rank.$rank"); done
    done
  done
  ((${#names[@]})) || return 0
  make_bells "${names[@]}" || return
  [[ $CONTAINER_RUNTIME == none ]] || { find_binds && make_roots "${slots[@]}"; }
}

# mark_bells MARK: by a file beside each bell of this node.
mark_bells() {
  local bell
  for bell in "$CALLS"/*; do
    [[ ! -p $bell ]] || : >"$bell.$1"
  done
}
