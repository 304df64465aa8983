# Run one task after another in a slot, without gang allocation.
#
# The batch script says which task a slot runs next. Each task leaves a file with its address and
# ports, for tasks that begin later.

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

# source_known_peers: read the files that the tasks which have begun so far have left.
source_known_peers() {
  local role index name file list
  local -a files
  for role in "${!PSL_ROLE_NAME[@]}"; do
    files=()
    for file in "$PSL_ATTEMPT_FOLDER/tasks/${PSL_ROLE_FOLDER[role]}"/*.env; do
      if [[ -e $file ]]; then
        files+=("$file")
      fi
    done
    list=''
    for ((index = 0; index < PSL_INSTANCES[role] && ${#files[@]}; index++)); do
      file=$PSL_ATTEMPT_FOLDER/tasks/${PSL_ROLE_FOLDER[role]}/$index.env
      # shellcheck source=/dev/null # written by our own tasks
      if [[ -e $file ]]; then
        if ((index < PSL_EXPORTED_PEERS)); then
          set -a
        fi
        source "$file" && list+=${list:+,}$PSL_PEER_HTTP_ADDRESS
        set +a
      fi
    done
    unset PSL_PEER_HTTP_ADDRESS PSL_SLOT_OF_TASK
    for name in ${PSL_ROLE_ALIASES[role]} "$role"; do
      export "PAI_TASK_ROLE_${name}_HOST_LIST=$list"
    done
  done
}

# leave_peer_file ROLE INDEX: leave this task's address and ports where later tasks find them.
leave_peer_file() {
  local role=$1 index=$2 file
  file=$PSL_ATTEMPT_FOLDER/tasks/${PSL_ROLE_FOLDER[role]}/$index.env
  print_peer "$role" "$index" >"$file.new" && mv -- "$file.new" "$file"
}

# print_peer ROLE INDEX: print the variables by which other tasks know this one.
print_peer() {
  local role=$1 index=$2 name label port address=${PSL_ADDRESS_OF[$SLURMD_NODENAME]}
  for name in ${PSL_ROLE_ALIASES[role]}; do
    printf 'PAI_HOST_IP_%s_%s=%s\n' "$name" "$index" "$address"
    for label in ${PSL_PORT_COUNTS[role]}; do
      label=${label%:*}
      port=${PSL_PORTS_OF[$role.$index.$label]}
      printf 'PAI_PORT_LIST_%s_%s_%s=%s\n' "$name" "$index" "$label" "$port"
      printf 'PAI_%s_%s_%s_PORT=%s\n' "$name" "$index" "$label" "$port"
    done
  done
  port=${PSL_PORTS_OF[$role.$index.http]}
  printf 'PSL_PEER_HTTP_ADDRESS=%s:%s\n' "$address" "${port%%,*}"
  printf 'PSL_SLOT_OF_TASK=%s\n' "$PSL_SLOT"
}
