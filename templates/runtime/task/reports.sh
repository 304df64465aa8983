# What the shell of a task does whatever it runs: outlive signals, report, and know its logs.

# Slurm signals only the process that it started, this one. The trap notes it, since it runs in the middle of a `read`, and
# rings the bell where there is one, so that whoever waits for what runs stops it.
outlive_signals() {
  trap 'PSL_STOPPED=1' TERM
  trap ':' INT HUP USR1 USR2
}

# Pass TERM on to all processes of the commands, once, though Slurm may send it twice.
pass_on_term() {
  ((PSL_STOPPED && !PSL_TERM_FORWARDED)) || return 0
  PSL_TERM_FORWARDED=1
  # Whatever the commands make of it, and even if they end well, the batch script must know why they end.
  if [[ $PSL_RUNNING ]]; then
    report term "$PSL_ROLE" "$PSL_SLOT" "$PSL_RUNNING"
  fi
  [[ ! $PSL_COMMAND || $PSL_ENDING ]] || kill -TERM -- "-$PSL_COMMAND" 2>/dev/null
}

# One line to the batch script, one to the slot's file; each is a single write.
report() {
  printf '%s\n' "$*" >&"$PSL_REPORT_FD"
  printf '%s\n' "$*" >>"$PSL_REPORT_FILE"
}

name_logs() {
  local suffix='' logs=$PSL_ATTEMPT_FOLDER/logs/${PSL_ROLE_FOLDER[PSL_ROLE]}/$1
  (($2 == 0)) || suffix=.$2
  PSL_STDOUT_LOG=$logs/stdout$suffix.log PSL_STDERR_LOG=$logs/stderr$suffix.log PSL_RUNTIME_LOG=$logs/runtime$suffix.log
  PSL_SCRIPTS_LOG=$PSL_ATTEMPT_FOLDER/tasks/${PSL_ROLE_FOLDER[PSL_ROLE]}/$1.scripts
}
