# What runs in a slot, on a node: `bash job.sbatch --task FOLDER ATTEMPT ROLE`.
#
# With gang allocation slot i runs task i once. Without it a slot announces that it is free and runs what the
# batch script tells it on standard input. Reports go to the batch script by way of the step's standard output, one
# short line at a time, and into the slot's file.

task_main() {
  outlive_signals
  umask 0077
  # The user's output never reaches the channel: it is kept open here under another number, and closed for children.
  exec {CHANNEL}>&1 1>&2
  open_attempt "$1" "$2" || { say "cannot read $ATTEMPT_FOLDER"; exit 1; }
  # shellcheck source=/dev/null # written by write_environment
  source "$ATTEMPT_FOLDER/env.sh"
  find_rank "$3"
  REPORTS=$ATTEMPT_FOLDER/tasks/${ROLE_FOLDER[ROLE]}/$SLOT.log
  # The hosts and the binding of this step are not those of one which the commands start.
  unset BASH_ENV SLURM_HOSTFILE SLURM_CPU_BIND SLURM_CPU_BIND_LIST SLURM_CPU_BIND_TYPE SLURM_CPU_BIND_VERBOSE
  if ((RANK)); then follow_task; exit; fi
  ((GANG)) || make_bells "$ROLE.$SLOT"
  open_bell "$ROLE.$SLOT$OUT"
  if ((GANG)); then
    run_task "$SLOT" 0
  else
    serve_slot
  fi
  leave_bell "$ROLE.$SLOT"
  exit 0
}

# Slurm signals only the process that it started, this one: pass TERM on to all processes of the commands, once, though
# Slurm may send it twice.
outlive_signals() {
  trap 'pass_on_term' TERM
  trap ':' INT HUP USR1 USR2
}

pass_on_term() {
  # A trap runs in the middle of a `read`, and with its IFS.
  local IFS=$' \t\n'
  ((!STOPPED)) || return 0
  STOPPED=1
  # Whatever the commands make of it, and even if they end well, the batch script must know why they end.
  [[ ! $RUNNING ]] || report term "$ROLE" "$SLOT" "$RUNNING"
  [[ ! $TASK ]] || kill -TERM "$TASK" 2>/dev/null
  [[ ! $COMMAND || $ENDING ]] || kill -TERM -- "-$COMMAND" 2>/dev/null
}

# One line to the batch script, one to the slot's file; each is a single write.
report() {
  # The trap for TERM reports too, and may run in a `read` that has an IFS of its own.
  local IFS=' '
  printf '%s\n' "$*" >&"$CHANNEL"
  printf '%s\n' "$*" >>"$REPORTS"
}

serve_slot() {
  local word slot index attempt
  RESERVE_PORTS=${TMPDIR:-/tmp}/paislurm-$RUN_ID-port-
  printf 'free %s %s\n' "$ROLE" "$SLOT" >&"$CHANNEL"
  while ((!STOPPED)) && read -r word slot index attempt; do
    [[ $word == run ]] || break
    [[ $slot == "$SLOT" ]] || continue
    # In a shell of its own, because its variables must not reach the next one; with no part in the orders.
    (TASK='' && outlive_signals && run_task "$index" "$attempt") </dev/null &
    TASK=$!
    ((!STOPPED)) || kill -TERM "$TASK" 2>/dev/null
    await "$TASK" || printf 'died %s %s %s %s\n' "$ROLE" "$SLOT" "$SLOT" "$?" >&"$CHANNEL"
    TASK=''
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
  read_clock
  RUNNING=''
  report exit "$ROLE" "$SLOT" "$index" "$attempt" "$status" "$CODE" "$BEHAVIOUR" "$NOW"
}

name_logs() {
  local suffix='' logs=$ATTEMPT_FOLDER/logs/${ROLE_FOLDER[ROLE]}/$1
  (($2 == 0)) || suffix=.$2
  STDOUT_LOG=$logs/stdout$suffix.log STDERR_LOG=$logs/stderr$suffix.log RUNTIME_LOG=$logs/runtime$suffix.log
  SCRIPTS_LOG=$ATTEMPT_FOLDER/tasks/${ROLE_FOLDER[ROLE]}/$1.scripts
}

# Check the node, find the ports, set the variables and the working directory. Sets CODE and BEHAVIOUR on failure.
prepare_task() {
  local index=$1 attempt=$2
  local -a nodes
  read -ra nodes <<<"${NODES_OF[ROLE]}"
  CODE=252 BEHAVIOUR=permanent
  if [[ ${nodes[SLOT]-} != "$SLURMD_NODENAME" ]]; then
    say "error: slot $SLOT of role ${ROLE_NAME[ROLE]} was to run on ${nodes[SLOT]-no node} and runs on $SLURMD_NODENAME"
    return 1
  fi
  CODE=255 BEHAVIOUR=unknown
  cd -- "$ATTEMPT_FOLDER/work/${ROLE_FOLDER[ROLE]}/$index" || return
  ((RANK)) || [[ ! ${STAGE_CODE-} ]] || cp -R -- "$ATTEMPT_FOLDER/code/." . || return
  if ((!GANG)); then
    CODE=253 BEHAVIOUR=transient
    assign_ports "$ROLE $index $attempt" || return
    remember_ports "${PORT_LINES[@]}"
    CODE=255 BEHAVIOUR=unknown
    leave_peer_file "$ROLE" "$index" || return
    source_known_peers
  else
    read_own_ports "$index"
  fi
  CODE=252 BEHAVIOUR=permanent
  take_devices "$ROLE" || return
  CODE=255 BEHAVIOUR=unknown
  raise_memlock "$ROLE"
  export_task_environment "$ROLE" "$index" "$attempt"
}

# Fill PORTS_OF from "ROLE INDEX LABEL N,N" lines.
remember_ports() {
  local line role index label ports
  for line; do
    read -r role index label ports <<<"$line"
    PORTS_OF[$role.$index.$label]=$ports
  done
}

read_own_ports() {
  local index=$1 label name
  for label in ${PORT_COUNTS[ROLE]}; do
    label=${label%:*}
    [[ ! ${PORTS_OF[$ROLE.$index.$label]-} ]] || continue
    name=PAI_PORT_LIST_${ROLE_ALIASES[ROLE]%% *}_${index}_$label
    PORTS_OF[$ROLE.$index.$label]=${!name}
  done
}

release_ports() {
  local line ports port
  [[ $RESERVE_PORTS ]] || return 0
  for line in ${PORT_LINES[@]+"${PORT_LINES[@]}"}; do
    ports=${line##* }
    for port in ${ports//,/ }; do rmdir -- "$RESERVE_PORTS$port" 2>/dev/null; done
  done
}
