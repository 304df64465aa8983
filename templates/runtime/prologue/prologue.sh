# What runs once on each node, before any task begins; what it prints goes to the batch script.

prepare_node() {
  local role slot
  local -a slots=()
  open_attempt "$@" || exit
  for role in "${!ROLE_NAME[@]}"; do
    nodes_of "$role"
    for slot in "${!NODES[@]}"; do
      [[ ${NODES[slot]} != "$SLURMD_NODENAME" ]] || slots+=("$role.$slot")
    done
  done
  ((!${#slots[@]})) || { make_bells_of "${slots[@]}" && print_ports_of "${slots[@]}"; }
  exit
}

# make_bells_of ROLE.SLOT ...: with gang allocation, all of a node; and what their containers begin with.
make_bells_of() {
  local slot rank
  local -a names=("$@")
  for slot; do
    for ((rank = 1; rank < ${RANKS_OF[${slot%.*}]:-1}; rank++)); do names+=("$slot.rank.$rank"); done
  done
  make_bells "${names[@]}" || return
  [[ $CONTAINER_RUNTIME == none ]] || { find_binds && make_roots "$@"; }
}

# print_ports_of ROLE.SLOT ...: "port ROLE INDEX LABEL N,N" for all of a node. One md5sum answers for all of them.
print_ports_of() {
  local slot line
  local -a requests=()
  for slot; do requests+=("${slot/./ } 0"); done
  assign_ports "${requests[@]}" || return
  for line in "${PORT_LINES[@]}"; do printf 'port %s\n' "$line"; done
}

# What tasks that ended out of turn have left on a node.
sweep_node() {
  local folder
  for folder in "$CALLS" "/dev/shm/${CALLS##*/}"-*; do
    ! is_ours "$folder" || remove_trees "$folder"
  done
}

# mark_bells MARK: by a file beside each bell of this node.
mark_bells() {
  local bell
  check_calls || return
  for bell in "$CALLS"/*; do
    [[ ! -p $bell ]] || : >"$bell.$1"
  done
}
