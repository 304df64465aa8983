# Report to the batch script, survive signals, and name the task's logs.

# outlive_signals: note signals, and continue. Slurm signals only this shell, the process that it
# started. A trap may interrupt a `read`, so it only notes the signal, and writes to the control
# FIFO if that is open.
outlive_signals() {
  trap 'PSL_STOPPED=1' TERM
  trap ':' INT HUP USR1 USR2
}

# pass_on_term: forward TERM to all processes of the commands, but only once: Slurm may send it
# twice.
pass_on_term() {
  ((PSL_STOPPED && !PSL_TERM_FORWARDED)) || return 0
  PSL_TERM_FORWARDED=1
  # The batch script needs the cause of the end, even if the commands succeed.
  if [[ $PSL_RUNNING ]]; then
    report term "$PSL_ROLE" "$PSL_SLOT" "$PSL_RUNNING"
  fi
  if [[ $PSL_COMMAND && ! $PSL_ENDING ]]; then
    kill -TERM -- "-$PSL_COMMAND" 2>/dev/null
  fi
}

# report WORD ...: write a line to the batch script and to the node's file, in a single write each.
report() {
  send "$PSL_REPORT_FD" "$@"
  printf '%s\n' "$*" >>"$PSL_REPORT_FILE"
}

# name_logs INDEX ATTEMPT: set the names of a task's logs. A site may want one file for both
# streams, because each file takes an inode.
name_logs() {
  local suffix='' logs=$PSL_ATTEMPT_FOLDER/logs/${PSL_ROLE_FOLDER[PSL_ROLE]}/$1
  if (($2 != 0)); then
    suffix=.$2
  fi
  PSL_STDOUT_LOG=$logs.stdout$suffix.log
  PSL_STDERR_LOG=$logs.stderr$suffix.log
  PSL_END_LOG=$logs.end$suffix.log
  if ((PSL_ONE_LOG)); then
    PSL_STDERR_LOG=$PSL_STDOUT_LOG
  fi
}
