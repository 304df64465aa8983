# Prepare a node before tasks begin. Only the first task of a node, of all roles, does this.

# is_first_of_node: tell whether no earlier role has a task on this node. The caller is the first of
# its own role here.
is_first_of_node() {
  local role
  for role in "${!PSL_NODES_OF[@]}"; do
    if ((role == PSL_ROLE)); then
      return 0
    fi
    if [[ " ${PSL_NODES_OF[role]} " == *" $SLURMD_NODENAME "* ]]; then
      return 1
    fi
  done
}

# prepare_node: make the control FIFOs of all tasks of this node, and find their ports. The batch
# script gets the ports, or the reason why a task cannot run here.
prepare_node() {
  local role slot
  local -a slots=()
  for role in "${!PSL_NODES_OF[@]}"; do
    nodes_of "$role"
    for slot in "${!PSL_NODES[@]}"; do
      if [[ ${PSL_NODES[slot]} == "$SLURMD_NODENAME" ]]; then
        slots+=("$role.$slot")
      fi
    done
  done
  make_task_folders "${slots[@]}"
  if make_control_fifos_of "${slots[@]}" && report_ports_of "${slots[@]}"; then
    printf 'prepared %s\n' "$SLURMD_NODENAME" >&"$PSL_REPORT_FD"
  else
    printf 'unprepared %s %s\n' "$SLURMD_NODENAME" "${PSL_LAST_MESSAGE#error: }" >&"$PSL_REPORT_FD"
  fi
}

# make_task_folders ROLE.SLOT ...: make the folders of these tasks by one process. A task for which
# that fails tries again, and says why.
make_task_folders() {
  local slot
  local -a folders=()
  for slot; do
    folders+=("$PSL_ATTEMPT_FOLDER/work/${PSL_ROLE_FOLDER[${slot%.*}]}/${slot#*.}")
  done
  make_folders "${folders[@]}" 2>/dev/null
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

# report_ports_of ROLE.SLOT ...: find the ports of all tasks of a node at once, report them, and
# leave them for the tasks.
report_ports_of() {
  local slot request
  local -a requests=()
  for slot; do
    requests+=("${slot/./ } 0")
  done
  assign_ports "${requests[@]}" || return
  for slot in "${!PSL_PORT_LINES[@]}"; do
    request=${requests[slot]% 0}
    printf '%s\n' "${PSL_PORT_LINES[slot]}" >"$PSL_NODE_FOLDER/${request/ /.}.ports" || return
    report_peer "${PSL_PORT_LINES[slot]}" 0 "${request#* }"
    report_ports "${PSL_PORT_LINES[slot]}"
  done
}
