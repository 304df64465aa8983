# Run one task after another in a slot, without gang allocation.
#
# The batch script says which task a slot runs next. Each task leaves its address and ports in the
# file of its node, for tasks that begin later.

# By ROLE.INDEX, what tasks have left; and what is known of the one that was described last.
declare -A PSL_PEER_OF=()
PSL_PEER_VARIABLES=() PSL_PEER_SLOT='' PSL_PEER_SSH=''

# serve_slot: run the tasks that the batch script sends on standard input.
serve_slot() {
  local word slot index attempt
  PSL_RESERVE_PORTS=$PSL_NODE_FOLDER/port-
  report_launch
  printf 'free %s %s\n' "$PSL_ROLE" "$PSL_SLOT" >&"$PSL_REPORT_FD"
  while ((!PSL_STOPPED)) && read -r word slot index attempt; do
    [[ $word == run ]] || break
    [[ $slot == "$PSL_SLOT" ]] || continue
    # A task runs in a shell of its own, because the next task must not see its variables. That
    # shell reads the control FIFO, which tells it of the TERM that this shell gets.
    (outlive_signals && run_task "$index" "$attempt") </dev/null &
    wait_for_process "$!" ||
      printf 'died %s %s %s %s\n' "$PSL_ROLE" "$PSL_SLOT" "$PSL_SLOT" "$?" >&"$PSL_REPORT_FD"
    printf 'free %s %s\n' "$PSL_ROLE" "$PSL_SLOT" >&"$PSL_REPORT_FD"
  done
}

# release_ports: let other tasks of the node have the ports of a task that has ended.
release_ports() {
  local port
  for port in ${PSL_TAKEN_PORTS[@]+"${PSL_TAKEN_PORTS[@]}"}; do
    rmdir -- "$PSL_RESERVE_PORTS$port" 2>/dev/null
  done
  PSL_TAKEN_PORTS=()
}

# read_peers: fill PSL_PEER_OF with what each task said when it began, the last time: by ROLE.INDEX
# "ATTEMPT ADDRESS SLOT LABEL:N,N ...". This needs no program, which an image may not have.
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

# describe_peer ROLE INDEX: fill PSL_PEER_VARIABLES with "NAME=VALUE" for the address and the ports
# of a task that read_peers has found, and set PSL_PEER_SLOT and PSL_PEER_SSH. A label with a dot
# or `~` cannot be part of a name.
describe_peer() {
  local role=$1 index=$2 name word label port address
  split_words ' ' "${PSL_PEER_OF[$1.$2]}"
  address=${PSL_WORDS[1]} PSL_PEER_SLOT=${PSL_WORDS[2]} PSL_PEER_SSH=''
  PSL_PEER_VARIABLES=()
  for name in ${PSL_ROLE_ALIASES[role]}; do
    PSL_PEER_VARIABLES+=("PAI_HOST_IP_${name}_$index=$address")
    for word in "${PSL_WORDS[@]:3}"; do
      label=${word%%:*} port=${word#*:}
      if [[ $label != *[.~]* ]]; then
        PSL_PEER_VARIABLES+=("PAI_PORT_LIST_${name}_${index}_$label=$port")
        PSL_PEER_VARIABLES+=("PAI_${name}_${index}_${label}_PORT=$port")
      fi
    done
  done
  for word in "${PSL_WORDS[@]:3}"; do
    if [[ $word == ssh:* ]]; then
      PSL_PEER_SSH=${word#*:}
    fi
  done
}

# export_known_peers: export the variables about the tasks that have begun so far, as many of them
# as in a job with gang allocation.
export_known_peers() {
  local role index name list left=$PSL_MAX_LIST_BYTES
  read_peers
  for role in "${!PSL_ROLE_NAME[@]}"; do
    for ((index = 0; index < PSL_INSTANCES[role] && index < PSL_EXPORTED_PEERS; index++)); do
      [[ ${PSL_PEER_OF[$role.$index]-} ]] || continue
      describe_peer "$role" "$index"
      # A role of protocol v1 may have no name that variables can have.
      if ((${#PSL_PEER_VARIABLES[@]})); then
        export ${PSL_PEER_VARIABLES[@]+"${PSL_PEER_VARIABLES[@]}"}
      fi
    done
    list_known_hosts "$role"
    for name in ${PSL_ROLE_ALIASES[role]} "$role"; do
      if ((left >= ${#list})); then
        left=$((left - ${#list}))
        export "PAI_TASK_ROLE_${name}_HOST_LIST=$list"
      fi
    done
  done
}

# list_known_hosts ROLE: set the caller's `list` to "address:first http port" of each task of the
# role that has begun, by index.
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

# take_ports_for_slot INDEX ATTEMPT: take a task's ports, leave them where other tasks find them,
# and tell the batch script.
take_ports_for_slot() {
  PSL_CODE=253 PSL_BEHAVIOUR=transient
  assign_ports "$PSL_ROLE $1 $2" || return
  # shellcheck disable=SC2086 # words
  remember_ports ${PSL_PORT_LINES[0]}
  PSL_CODE=255 PSL_BEHAVIOUR=unknown
  report_peer "${PSL_PORT_LINES[0]}" "$2" "$PSL_SLOT"
  report_ports "${PSL_PORT_LINES[0]}"
}
