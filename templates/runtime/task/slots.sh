# Run one task after another in a slot, without gang allocation. With it, slot i runs task i once.
#
# The batch script selects the next task of a slot. Each task writes its address and ports to the
# file of its node, for tasks that start later.

# The ports that this task has reserved.
PSL_TAKEN_PORTS=()
# By ROLE.INDEX, the entries of tasks in these files; and the slot and ssh ports of the last
# described task.
declare -A PSL_PEER_OF=()
PSL_PEER_SLOT='' PSL_PEER_SSH=''
# Whether tasks inherit the variables about tasks that have started; else the settings of these for
# commands that name them.
PSL_EXPORTS_PEERS=0 PSL_KNOWN_PEERS=''

# run_slot: run the tasks that the batch script sends on standard input.
run_slot() {
  local word slot index attempt
  if ((PSL_GANG)); then
    run_task "$PSL_SLOT" 0
    return
  fi
  PSL_RESERVE_PORTS=$PSL_NODE_FOLDER/port-
  report_launch
  send "$PSL_REPORT_FD" free "$PSL_ROLE" "$PSL_SLOT"
  while ((!PSL_STOPPED)) && read -r word slot index attempt; do
    [[ $word == run ]] || break
    [[ $slot == "$PSL_SLOT" ]] || continue
    # A task runs in a separate shell, because the next task must not see its variables. This shell
    # forwards TERM to it through the control FIFO.
    (outlive_signals && run_task "$index" "$attempt") </dev/null &
    wait_for_process "$!" ||
      send "$PSL_REPORT_FD" died "$PSL_ROLE" "$PSL_SLOT" "$PSL_SLOT" "$?"
    send "$PSL_REPORT_FD" free "$PSL_ROLE" "$PSL_SLOT"
  done
}

# prepare_slot: make the slot's control FIFO. Try twice: the last task of another role may be
# removing the folder just now.
prepare_slot() {
  ((PSL_GANG)) && return
  make_control_fifos "$PSL_ROLE.$PSL_SLOT" || make_control_fifos "$PSL_ROLE.$PSL_SLOT"
}

# read_own_peers: read the addresses and ports of tasks that started before from the files of nodes,
# and this task's ports. Fail with gang allocation.
read_own_peers() {
  ((PSL_GANG)) && return 1
  export_known_peers
  # shellcheck disable=SC2086 # words
  remember_ports ${PSL_PORT_LINES[0]}
}

# reserve_port: reserve PSL_PORT on this node; fail if another task has it.
reserve_port() {
  mkdir -- "$PSL_RESERVE_PORTS$PSL_PORT" 2>/dev/null || return 1
  PSL_TAKEN_PORTS+=("$PSL_PORT")
}

# release_ports: release the ports of an ended task to other tasks of the node.
release_ports() {
  local port
  for port in ${PSL_TAKEN_PORTS[@]+"${PSL_TAKEN_PORTS[@]}"}; do
    rmdir -- "$PSL_RESERVE_PORTS$port" 2>/dev/null
  done
  PSL_TAKEN_PORTS=()
}

# read_peers: fill PSL_PEER_OF with the latest entry of each task: by ROLE.INDEX "ATTEMPT ADDRESS
# SLOT LABEL:N,N ...". Start no program: an image may not have it.
read_peers() {
  local file line role index peer known
  local -a lines
  PSL_PEER_OF=()
  for file in "$PSL_ATTEMPT_FOLDER/tasks"/*.log; do
    [[ -r $file ]] || continue
    mapfile -t lines <"$file"
    for line in ${lines[@]+"${lines[@]}"}; do
      [[ $line == 'peer '* ]] || continue
      peer=${line#peer }
      role=${peer%% *} peer=${peer#* }
      index=${peer%% *} peer=${peer#* }
      known=${PSL_PEER_OF[$role.$index]--1}
      if ((${peer%% *} > ${known%% *})); then
        PSL_PEER_OF[$role.$index]=$peer
      fi
    done
  done
}

# describe_peer ROLE INDEX: fill PSL_TASK_VARIABLES for a task that read_peers has found, and set
# PSL_PEER_SLOT and PSL_PEER_SSH.
describe_peer() {
  split_words ' ' "${PSL_PEER_OF[$1.$2]}"
  PSL_PEER_SLOT=${PSL_WORDS[2]}
  remember_ports "$1" "$2" "${PSL_WORDS[@]:3}"
  PSL_PEER_SSH=${PSL_PORTS_OF[$1.$2.ssh]-}
  describe_task "$1" "$2" "${PSL_WORDS[1]}"
}

# export_known_peers: export the variables about the tasks that have started so far, if the job
# exports those about all tasks. Otherwise keep them for commands that name them.
export_known_peers() {
  local role index name list
  local -a variables=()
  ((PSL_EXPORTS_PEERS)) || [[ ${PSL_NAMES_PEERS[PSL_ROLE]-} ]] || return 0
  read_peers
  for role in "${!PSL_ROLE_NAME[@]}"; do
    for ((index = 0; index < PSL_INSTANCES[role]; index++)); do
      if [[ ${PSL_PEER_OF[$role.$index]-} ]]; then
        describe_peer "$role" "$index"
        # A role of protocol v1 may have no name that is valid in a variable.
        variables+=(${PSL_TASK_VARIABLES[@]+"${PSL_TASK_VARIABLES[@]}"})
      fi
    done
    list_known_hosts "$role"
    for name in ${PSL_ROLE_ALIASES[role]} "$role"; do
      variables+=("PAI_TASK_ROLE_${name}_HOST_LIST=$list")
    done
  done
  if ((PSL_EXPORTS_PEERS)); then
    export ${variables[@]+"${variables[@]}"}
  else
    quote "$PAI_TASK_ROLE_INSTANCES"
    printf -v PSL_KNOWN_PEERS '\n%s' "PAI_TASK_ROLE_INSTANCES=$PSL_QUOTED" \
      ${variables[@]+"${variables[@]}"}
    PSL_KNOWN_PEERS+=$'\n'
  fi
}

# list_known_hosts ROLE: set the caller's `list` to "address:first http port" of each started task
# of the role, by index.
list_known_hosts() {
  local index peer address port
  list=''
  for ((index = 0; index < PSL_INSTANCES[$1]; index++)); do
    peer=${PSL_PEER_OF[$1.$index]-}
    if [[ $peer ]]; then
      address=${peer#* } port=${peer#* http:}
      list+=,${address%% *}:${port%%[ ,]*}
    fi
  done
  list=${list#,}
}

# take_ports_for_slot INDEX ATTEMPT: take a task's ports, write them to the file of the node, and
# report them.
take_ports_for_slot() {
  ((PSL_GANG)) && return
  PSL_CODE=253 PSL_BEHAVIOUR=transient
  assign_ports "$PSL_ROLE $1 $2" || return
  # shellcheck disable=SC2086 # words
  remember_ports ${PSL_PORT_LINES[0]}
  PSL_CODE=255 PSL_BEHAVIOUR=unknown
  report_peer "${PSL_PORT_LINES[0]}" "$2" "$PSL_SLOT"
  report_ports "${PSL_PORT_LINES[0]}"
}
