# Prepare a node before tasks start. Only the first task of a node, of all roles, does this.

# is_first_of_node: succeed if no earlier role has a task on this node. The caller is the first task
# of its role on this node.
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

# prepare_node: make the control FIFOs of all tasks of this node, and find their ports. Report the
# ports, or the reason why a task cannot run here, to the batch script.
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
    send "$PSL_REPORT_FD" prepared "$SLURMD_NODENAME"
  else
    send "$PSL_REPORT_FD" unprepared "$SLURMD_NODENAME" "${PSL_LAST_MESSAGE#error: }"
  fi
}

# make_task_folders ROLE.SLOT ...: make the folders of these tasks with one process. If that fails,
# each task tries again, and logs the reason.
make_task_folders() {
  local slot
  local -a folders=()
  for slot; do
    folders+=("$PSL_ATTEMPT_FOLDER/work/${PSL_ROLE_FOLDER[${slot%.*}]}/${slot#*.}")
  done
  make_folders "${folders[@]}" 2>/dev/null
}

# make_control_fifos_of ROLE.SLOT ...: make the control FIFOs of all slots of a node. Only for gang
# allocation.
make_control_fifos_of() {
  local -a names=("$@")
  add_rank_fifos "$@"  # only: native-mpi
  make_control_fifos "${names[@]}" || return
  prepare_containers "$@"  # only: containers
}

# report_ports_of ROLE.SLOT ...: find the ports of all tasks of a node at once, report them, and
# save them for the tasks.
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
    report_peer "${PSL_PORT_LINES[slot]}" "$PSL_FIRST_RUN" "${request#* }"  # only: restarts
    report_peer "${PSL_PORT_LINES[slot]}" 0 "${request#* }"  # unless: restarts
    report_ports "${PSL_PORT_LINES[slot]}"
  done
}

# find_gloo_interface ADDRESS [HOSTS ROUTES]: print the network interface for Gloo. By default Gloo
# uses the interface of the node's own name. If that name has a loopback address, as on Debian, Gloo
# needs the name of the interface with the node's address.
# Source: PyTorch, torch.distributed, choosing the network interface to use; proc(5), net/route.
find_gloo_interface() {
  local hosts=${2:-/etc/hosts} routes=${3:-/proc/net/route} text own loopback
  local address interface network gateway mask
  local -a bytes
  [[ $1 == *.*.*.* && -r $hosts && -r $routes ]] || return 0
  # Do not read HOSTNAME: Slurm has set it for the batch script.
  read -r own </proc/sys/kernel/hostname
  IFS= read -r -d '' text <"$hosts"
  loopback=$'(^|\n)127\\.[^\n]*[ \t]'$own$'([ \t\n]|$)'
  [[ $text =~ $loopback ]] || return 0
  IFS=. read -ra bytes <<<"$1"
  # The table has networks with the first byte last. Directly connected networks have no gateway.
  address=$((bytes[0] | bytes[1] << 8 | bytes[2] << 16 | bytes[3] << 24))
  while read -r interface network gateway _ _ _ _ mask _; do
    [[ $gateway == 00000000 && $mask != 00000000 ]] || continue
    if (((address & 16#$mask) == 16#$network)); then
      printf '%s\n' "$interface"
      return
    fi
  done <"$routes"
}

# make_control_fifos NAME ...: make all of them at once, in the node folder, and write Gloo's
# interface there.
make_control_fifos() {
  mkdir -m 0700 -- "$PSL_NODE_FOLDER" 2>/dev/null
  check_node_folder || return
  [[ $PSL_HOST_SUFFIX ]] && set -- "$@" "${@/%/$PSL_HOST_SUFFIX}"  # only: containers
  # On a single machine all components share one node, and each of their steps makes all FIFOs.
  mkfifo -m 0600 -- "${@/#/$PSL_NODE_FOLDER/}" 2>/dev/null
  local name
  for name; do
    if [[ ! -p $PSL_NODE_FOLDER/$name ]]; then
      log "error: cannot make $PSL_NODE_FOLDER/$name on $SLURMD_NODENAME"
      return 1
    fi
  done
  find_gloo_interface "${PSL_ADDRESS_OF[$SLURMD_NODENAME]}" >"$PSL_NODE_FOLDER/gloo"
  # Meanwhile the last task of another step may have removed the folder, and another user may have
  # made one of the same name.
  check_node_folder
}

# report_ports "ROLE INDEX LABEL:N,N ...": report the ports of a task.
report_ports() {
  if ((${#1} < 1000)); then
    send "$PSL_REPORT_FD" ports "$1"
  else
    report_ports_in_pieces "$1"
  fi
}

# report_peer LINE ATTEMPT SLOT: write a task's address and ports to the file of the node, for other
# tasks and people. LINE is "ROLE INDEX LABEL:N,N ...".
report_peer() {
  local -a words
  split_words ' ' "$1"
  words=("${PSL_WORDS[@]:0:2}" "$2" "${PSL_ADDRESS_OF[$SLURMD_NODENAME]}" "$3")
  printf '%s\n' "peer ${words[*]} ${PSL_WORDS[*]:2}" >>"$PSL_REPORT_FILE"
}

# make_folders FOLDER ...: make folders, 500 with each process; the umask keeps them private.
make_folders() {
  while (($#)); do
    mkdir -p -- "${@:1:500}" || return
    shift $(($# < 500 ? $# : 500))
  done
}
