# Signals to the batch script. TERM: Slurm ends the job (scancel, time limit, node failure), and every task has got it too.
# USR1: the time limit is near, and tasks get TERM, so that they can save.
#
# Two shells: this script hears the signals and writes a line for each to the channel, its child does all work and reads them
# there. For a trap runs in the middle of what a shell does, and bash 5.2 bears that badly: in a `read` whose time is over
# meanwhile it aborts, and at the beginning of a command substitution it loses the trap.

# forward_signals_to WORD ...: run a command in the child, to its end, and end with its status.
forward_signals_to() {
  local status
  exec {PSL_EVENT_FD}<> <(:)
  # It may wait until the child has read what is there, and holds up nobody.
  trap 'printf "signal TERM\n" >&"$PSL_EVENT_FD"' TERM
  trap 'printf "signal USR1\n" >&"$PSL_EVENT_FD"' USR1
  (trap '' TERM USR1 && "$@") &
  wait_for_process "$!"
  status=$?
  # Of a child that ends while a signal comes, bash may have told the signal's.
  ((status < 128)) || { wait "$!" 2>/dev/null; status=$?; }
  exit "$((status < 127 ? status : 3))"
}

# on_signal NAME: what it decides. Before the tasks run it ends the script.
on_signal() {
  if [[ $PSL_OUTCOME ]]; then
    return 0
  fi
  case $1 in
    TERM) decide interrupted -210 stop "the job was told to end from outside: see Slurm's accounting for the reason" ;;
    USR1) decide failed -1004 permanent "the time limit is near: tasks were told to end" ;;
  esac
  ((PSL_SUPERVISING)) || finish
}

# Before the tasks run: take in the signals that have come.
handle_pending_signals() {
  while read -r -t 0 <&"$PSL_EVENT_FD"; do read_event; done
}

# Take in a line that comes while no task runs, a second from now at most.
read_event() {
  read_words "$PSL_EVENT_FD" || return 0
  case ${#PSL_WORDS[@]}:${PSL_WORDS[0]-} in
    2:signal) on_signal "${PSL_WORDS[1]}" ;;
    3:end) PSL_EXIT_BY_PID[${PSL_WORDS[1]}]=${PSL_WORDS[2]} ;;
  esac
}

# run_interruptibly WORD ...: run a command that may last, and hear signals meanwhile.
run_interruptibly() {
  start_in_background "$@"
  await_end "$!"
}

# start_in_background WORD ...: run a command in the background, which says how it has ended.
start_in_background() {
  {
    "$@"
    printf 'end %s %s\n' "$BASHPID" "$?" >&"$PSL_EVENT_FD"
  } &
}

# await_end PROCESS: wait for a command that began so, and return its status. One that was killed says no end.
await_end() {
  while [[ ! ${PSL_EXIT_BY_PID[$1]-} ]] && kill -0 "$1" 2>/dev/null; do read_event; done
  handle_pending_signals
  return "${PSL_EXIT_BY_PID[$1]-137}"
}
