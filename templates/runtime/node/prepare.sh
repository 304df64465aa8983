# What runs once on each node, before any task begins; what it prints goes to the batch script.

prepare_node() {
  local role slot
  local -a slots=()
  open_attempt "$@" || exit
  for role in "${!PSL_ROLE_NAME[@]}"; do
    nodes_of "$role"
    for slot in "${!PSL_NODES[@]}"; do
      if [[ ${PSL_NODES[slot]} == "$SLURMD_NODENAME" ]]; then
        slots+=("$role.$slot")
      fi
    done
  done
  ((!${#slots[@]})) || { make_control_fifos_of "${slots[@]}" && print_ports_of "${slots[@]}"; }
  exit
}

# make_control_fifos_of ROLE.SLOT ...: with gang allocation, all of a node; and what their containers begin with.
make_control_fifos_of() {
  local slot rank
  local -a names=("$@")
  for slot; do
    for ((rank = 1; rank < ${PSL_RANKS_OF[${slot%.*}]:-1}; rank++)); do names+=("$slot.rank.$rank"); done
  done
  make_control_fifos "${names[@]}" || return
  [[ $PSL_CONTAINER_RUNTIME == none ]] || { find_binds && make_container_folders "$@"; }
}

# print_ports_of ROLE.SLOT ...: "port ROLE INDEX LABEL N,N" for all of a node. One md5sum answers for all of them.
print_ports_of() {
  local slot line
  local -a requests=()
  for slot; do requests+=("${slot/./ } 0"); done
  assign_ports "${requests[@]}" || return
  for line in "${PSL_PORT_LINES[@]}"; do printf 'port %s\n' "$line"; done
}

# What tasks that ended out of turn have left on a node.
clean_up_node() {
  local folder
  for folder in "$PSL_NODE_FOLDER" "/dev/shm/${PSL_NODE_FOLDER##*/}"-*; do
    if is_own_folder "$folder"; then
      remove_trees "$folder"
    fi
  done
}

# mark_control_fifos MARK: by a file beside each bell of this node.
mark_control_fifos() {
  local bell
  check_node_folder || return
  for bell in "$PSL_NODE_FOLDER"/*; do
    if [[ -p $bell ]]; then
      : >"$bell.$1"
    fi
  done
}
