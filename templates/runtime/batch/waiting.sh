# Wait for long commands, and act on signals meanwhile.

# run_interruptibly WORD ...: run a command that may take long, and act on signals meanwhile.
run_interruptibly() {
  start_in_background "$@"
  await_end "$!"
}

# start_in_background WORD ...: run a command in the background, whose end comes as an event.
start_in_background() {
  {
    "$@"
    send "$PSL_EVENT_FD" end "$BASHPID" "$?"
  } &
}

# await_end PID: wait for a command that start_in_background started, and return its status. A
# command that was killed sends no event.
await_end() {
  while [[ ! ${PSL_EXIT_BY_PID[$1]-} ]] && kill -0 "$1" 2>/dev/null; do
    read_event
  done
  handle_pending_signals
  return "${PSL_EXIT_BY_PID[$1]-137}"
}
