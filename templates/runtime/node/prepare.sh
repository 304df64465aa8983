# Prepare a node before tasks begin, and clean it up. What the preparation prints goes to the batch
# script.

# prepare_node FOLDER ATTEMPT: make the control FIFOs of the tasks of this node, and print their
# ports. This runs once on each node.
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
  ((${#slots[@]})) || exit 0
  make_control_fifos_of "${slots[@]}" && print_ports_of "${slots[@]}"
  exit
}

# make_control_fifos_of ROLE.SLOT ...: make the control FIFOs of all slots of a node and of their
# ranks, and the folders of their containers. This is for gang allocation.
make_control_fifos_of() {
  local slot rank
  local -a names=("$@")
  for slot; do
    for ((rank = 1; rank < ${PSL_RANKS_OF[${slot%.*}]:-1}; rank++)); do
      names+=("$slot.rank.$rank")
    done
  done
  make_control_fifos "${names[@]}" || return
  if [[ $PSL_CONTAINER_RUNTIME != none ]]; then
    find_binds && make_container_folders "$@"
  fi
}

# print_ports_of ROLE.SLOT ...: print "port ROLE INDEX LABEL N,N" for all slots of a node. One
# md5sum answers for all of them.
print_ports_of() {
  local slot line
  local -a requests=()
  for slot; do
    requests+=("${slot/./ } 0")
  done
  assign_ports "${requests[@]}" || return
  for line in "${PSL_PORT_LINES[@]}"; do
    printf 'port %s\n' "$line"
  done
}

# Remove what tasks that ended out of turn have left on this node.
clean_up_node() {
  local folder
  for folder in "$PSL_NODE_FOLDER" "/dev/shm/${PSL_NODE_FOLDER##*/}"-*; do
    if is_own_folder "$folder"; then
      remove_trees "$folder"
    fi
  done
}

# mark_control_fifos MARK: make a file FIFO.MARK beside each control FIFO of this node.
mark_control_fifos() {
  local fifo
  check_node_folder || return
  for fifo in "$PSL_NODE_FOLDER"/*; do
    if [[ -p $fifo ]]; then
      : >"$fifo.$1"
    fi
  done
}
