# Prepare a node before tasks begin, and clean it up.

# await_begin: wait until all nodes are ready. The first task of a node prepares the node, and the
# first task of a role tells the step of the role. Fails if the task is not to begin.
await_begin() {
  local word=''
  report_launch
  if is_first_of_node; then
    prepare_node
  fi
  if [[ $PSL_LAYOUT == het && ${PSL_MPI_WORLD_OF[PSL_ROLE]-} == *' '* ]]; then
    read_command_from_file
  else
    read -r word
  fi
  [[ $word == begin ]]
}

# Report the step of the role, once.
report_launch() {
  if ((PSL_SLOT == 0 && PSL_RANK == 0)); then
    printf 'launched %s %s\n' "$PSL_ROLE" "$SLURM_STEP_ID" >&"$PSL_REPORT_FD"
  fi
}

# read_command_from_file: read `word` from the file with commands, as soon as it is there. To open
# a file makes NFS look whether it has changed.
read_command_from_file() {
  local idle
  exec {idle}<> <(:)
  until read -r word <"$PSL_ATTEMPT_FOLDER/commands.txt"; do
    read -r -t 0.1 -u "$idle"
  done
  exec {idle}>&-
}

# is_first_of_node: tell whether this is the first task on its node of all roles. In its step it is
# the first where Slurm says so, and no step of an earlier role is there.
is_first_of_node() {
  local role
  ((SLURM_LOCALID == 0)) || return
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

# report_ports "ROLE INDEX LABEL:N,N ...": report the ports of a task. Slurm cuts lines of more than
# 1024 bytes, and others may come between the pieces; so a long list goes in pieces that begin with
# `+`. Source: slurmstepd, io.c, MAX_MSG_LEN.
report_ports() {
  local pair rest piece plus
  local -a words
  if ((${#1} < 1000)); then
    printf 'ports %s\n' "$1" >&"$PSL_REPORT_FD"
    return
  fi
  read -ra words <<<"$1"
  for pair in "${words[@]:2}"; do
    rest=${pair#*:} plus=''
    while [[ $rest ]]; do
      piece=${rest:0:700}
      if ((${#rest} > 700)); then
        piece=${piece%,*}
      fi
      printf 'ports %s %s:%s\n' "${words[*]:0:2}" "${pair%%:*}" "$plus$piece" >&"$PSL_REPORT_FD"
      rest=${rest#"$piece"} rest=${rest#,} plus=+
    done
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
