# What runs in a slot, on a node: `bash job.sbatch --task FOLDER ATTEMPT ROLE`.
#
# With gang allocation slot i runs task i once. Without it a slot announces that it is free and runs what the
# batch script tells it on standard input. Reports go to the batch script by way of the step's standard output, one
# short line at a time, and into the slot's file.

task_main() {
  outlive_signals
  # The user's output never reaches the channel: it is kept open here under another number, and closed for children.
  exec {CHANNEL}>&1 1>&2
  open_attempt "$1" "$2" || { say "cannot read $ATTEMPT_FOLDER"; exit 1; }
  find_rank "$3"
  REPORTS=$ATTEMPT_FOLDER/tasks/${ROLE_FOLDER[ROLE]}/$SLOT.log
  # The hosts and the binding of this step are not those of one which the commands start.
  unset SLURM_HOSTFILE SLURM_CPU_BIND SLURM_CPU_BIND_LIST SLURM_CPU_BIND_TYPE SLURM_CPU_BIND_VERBOSE
  if ((RANK)); then follow_task; exit; fi
  # The last task of another role may just be removing the folder.
  ((GANG)) || make_bells "$ROLE.$SLOT" || make_bells "$ROLE.$SLOT"
  open_bell "$ROLE.$SLOT$OUT"
  if ((GANG)); then
    run_task "$SLOT" 0
  else
    serve_slot
  fi
  leave_bell "$ROLE.$SLOT"
  exit 0
}

# find_rank FIRST: of which role, slot and rank this process of Slurm's is; FIRST is the first role of the step, in which
# Slurm numbers the processes through, role after role, task after task.
find_rank() {
  local number=$SLURM_PROCID count
  for ROLE in ${WORLD_OF[$1]-$1}; do
    RANKS=${RANKS_OF[ROLE]:-1} count=$((SLOTS[ROLE] * ${RANKS_OF[ROLE]:-1}))
    ((number >= count)) || break
    number=$((number - count))
  done
  SLOT=$((number / RANKS)) RANK=$((number % RANKS))
}

serve_slot() {
  local word slot index attempt
  RESERVE_PORTS=$CALLS/port-
  printf 'free %s %s\n' "$ROLE" "$SLOT" >&"$CHANNEL"
  while ((!STOPPED)) && read -r word slot index attempt; do
    [[ $word == run ]] || break
    [[ $slot == "$SLOT" ]] || continue
    # In a shell of its own, because its variables must not reach the next one; with no part in the orders.
    # It hears the bell, by which the TERM of this one reaches it.
    (outlive_signals && run_task "$index" "$attempt") </dev/null &
    await "$!" || printf 'died %s %s %s %s\n' "$ROLE" "$SLOT" "$SLOT" "$?" >&"$CHANNEL"
    printf 'free %s %s\n' "$ROLE" "$SLOT" >&"$CHANNEL"
  done
}

run_task() {
  local index=$1 attempt=$2 status=0
  name_logs "$index" "$attempt"
  read_clock
  report start "$ROLE" "$SLOT" "$index" "$attempt" "$SLURMD_NODENAME" "$SLURM_STEP_ID" "$NOW"
  RUNNING="$index $attempt"
  if prepare_task "$index" "$attempt" 2>>"$STDERR_LOG"; then
    if [[ $CONTAINER_RUNTIME == none ]]; then run_and_hold "$index" "$attempt"; else run_contained "$index" "$attempt"; fi
    status=$?
    classify_exit "$status"
  else
    status=1
  fi
  release_ports
  remove_logins
  hear_late_term
  pass_on_term
  read_clock
  RUNNING=''
  report exit "$ROLE" "$SLOT" "$index" "$attempt" "$status" "$CODE" "$BEHAVIOUR" "$NOW"
}

# Slurm signals the processes of a step one after the other. A command that ends of its TERM may have got it before this
# shell, and the batch script must know why it ended.
hear_late_term() {
  local line=''
  ((!STOPPED)) && IFS= read -r -t 0.05 line <&"$BELL" || return 0
  read -ra WORDS <<<"$line"
  hear
}

# Check the node, find the ports and devices, set the variables and the working directory. Sets CODE and BEHAVIOUR on failure.
prepare_task() {
  local index=$1 attempt=$2
  nodes_of "$ROLE"
  CODE=252 BEHAVIOUR=permanent
  if [[ ${NODES[SLOT]-} != "$SLURMD_NODENAME" ]]; then
    say "error: slot $SLOT of role ${ROLE_NAME[ROLE]} was to run on ${NODES[SLOT]-no node} and runs on $SLURMD_NODENAME"
    return 1
  fi
  # Another attempt has another folder, and maybe another node.
  BEHAVIOUR=transient
  check_calls || return
  CODE=255 BEHAVIOUR=unknown
  cd -- "$ATTEMPT_FOLDER/work/${ROLE_FOLDER[ROLE]}/$index" || return
  ((RANK)) || [[ ! ${STAGE_CODE-} ]] || cp -R -- "$ATTEMPT_FOLDER/code/." . || return
  if ((!GANG)); then
    CODE=253 BEHAVIOUR=transient
    assign_ports "$ROLE $index $attempt" || return
    remember_ports "${PORT_LINES[@]}"
    CODE=255 BEHAVIOUR=unknown
    leave_peer_file "$ROLE" "$index" || return
  fi
  # In a container the shell inside reads its environment.
  [[ $CONTAINER_RUNTIME != none ]] || read_environment "$index" || return
  CODE=252 BEHAVIOUR=permanent
  take_devices "$ROLE" || return
  CODE=255 BEHAVIOUR=unknown
  raise_memlock "$ROLE"
  [[ $CONTAINER_RUNTIME == none ]] || return 0
  export_task_environment "$ROLE" "$index" "$attempt"
  CODE=252 BEHAVIOUR=permanent
  enter_workdir
}

release_ports() {
  local port
  for port in ${TAKEN_PORTS[@]+"${TAKEN_PORTS[@]}"}; do rmdir -- "$RESERVE_PORTS$port" 2>/dev/null; done
  TAKEN_PORTS=()
}

# What the plugin git was told goes with the task.
remove_logins() {
  local file
  is_ours "$CALLS" || return 0
  for file in "$CALLS/$ROLE.$SLOT.git."*; do [[ ! -f $file ]] || command -p rm -f -- "$file"; done
}
