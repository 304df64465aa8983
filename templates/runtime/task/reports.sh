# What the shell of a task does whatever it runs: outlive signals, report, and know its logs.

# Slurm signals only the process that it started, this one. The trap notes it, since it runs in the middle of a `read`, and
# rings the bell where there is one, so that whoever waits for what runs stops it.
outlive_signals() {
  trap 'STOPPED=1' TERM
  trap ':' INT HUP USR1 USR2
}

# Pass TERM on to all processes of the commands, once, though Slurm may send it twice.
pass_on_term() {
  ((STOPPED && !TERM_PASSED)) || return 0
  TERM_PASSED=1
  # Whatever the commands make of it, and even if they end well, the batch script must know why they end.
  [[ ! $RUNNING ]] || report term "$ROLE" "$SLOT" "$RUNNING"
  [[ ! $COMMAND || $ENDING ]] || kill -TERM -- "-$COMMAND" 2>/dev/null
}

# One line to the batch script, one to the slot's file; each is a single write.
report() {
  printf '%s\n' "$*" >&"$CHANNEL"
  printf '%s\n' "$*" >>"$REPORTS"
}

name_logs() {
  local suffix='' logs=$ATTEMPT_FOLDER/logs/${ROLE_FOLDER[ROLE]}/$1
  (($2 == 0)) || suffix=.$2
  STDOUT_LOG=$logs/stdout$suffix.log STDERR_LOG=$logs/stderr$suffix.log RUNTIME_LOG=$logs/runtime$suffix.log
  SCRIPTS_LOG=$ATTEMPT_FOLDER/tasks/${ROLE_FOLDER[ROLE]}/$1.scripts
}
