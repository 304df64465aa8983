# Serve a slot, without gang allocation: run what the batch script says, task after task, and leave what others must know.

serve_slot() {
  local word slot index attempt
  PSL_RESERVE_PORTS=$PSL_NODE_FOLDER/port-
  printf 'free %s %s\n' "$PSL_ROLE" "$PSL_SLOT" >&"$PSL_REPORT_FD"
  while ((!PSL_STOPPED)) && read -r word slot index attempt; do
    [[ $word == run ]] || break
    [[ $slot == "$PSL_SLOT" ]] || continue
    # In a shell of its own, because its variables must not reach the next one; with no part in the orders.
    # It hears the bell, by which the TERM of this one reaches it.
    (outlive_signals && run_task "$index" "$attempt") </dev/null &
    wait_for_process "$!" || printf 'died %s %s %s %s\n' "$PSL_ROLE" "$PSL_SLOT" "$PSL_SLOT" "$?" >&"$PSL_REPORT_FD"
    printf 'free %s %s\n' "$PSL_ROLE" "$PSL_SLOT" >&"$PSL_REPORT_FD"
  done
}

release_ports() {
  local port
  for port in ${PSL_TAKEN_PORTS[@]+"${PSL_TAKEN_PORTS[@]}"}; do rmdir -- "$PSL_RESERVE_PORTS$port" 2>/dev/null; done
  PSL_TAKEN_PORTS=()
}

# Gang off: what is known of the tasks that have started so far, each from a file that it left.
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
        set -a && source "$file" && set +a && list+=${list:+,}$PSL_PEER_HTTP_ADDRESS
      fi
    done
    unset PSL_PEER_HTTP_ADDRESS PSL_SLOT_OF_TASK
    for name in ${PSL_ROLE_ALIASES[role]} "$role"; do
      export "PAI_TASK_ROLE_${name}_HOST_LIST=$list"
    done
  done
}

# Gang off: leave this task's address and ports where tasks that start later find them.
leave_peer_file() {
  local role=$1 index=$2 name label port file
  file=$PSL_ATTEMPT_FOLDER/tasks/${PSL_ROLE_FOLDER[role]}/$index.env
  {
    for name in ${PSL_ROLE_ALIASES[role]}; do
      printf 'PAI_HOST_IP_%s_%s=%s\n' "$name" "$index" "${PSL_ADDRESS_OF[$SLURMD_NODENAME]}"
      for label in ${PSL_PORT_COUNTS[role]}; do
        label=${label%:*} port=${PSL_PORTS_OF[$role.$index.${label%:*}]}
        printf 'PAI_PORT_LIST_%s_%s_%s=%s\n' "$name" "$index" "$label" "$port"
        printf 'PAI_%s_%s_%s_PORT=%s\n' "$name" "$index" "$label" "$port"
      done
    done
    port=${PSL_PORTS_OF[$role.$index.http]}
    printf 'PSL_PEER_HTTP_ADDRESS=%s:%s\nPSL_SLOT_OF_TASK=%s\n' "${PSL_ADDRESS_OF[$SLURMD_NODENAME]}" "${port%%,*}" "$PSL_SLOT"
  } >"$file.new" && mv -- "$file.new" "$file"
}
