# Handle signals to the batch script.

# TERM means that Slurm ends the job (scancel, time limit, node failure); every task has got TERM,
# too. USR1 means that the time limit is near; the tasks then get TERM, so that they can save.
#
# This takes two shells. The script traps the signals and writes a line for each to the event
# channel; its child does all work and reads these lines. One shell cannot do both, because a trap
# interrupts other commands: bash 5.2 aborts in a `read` that times out during the trap, and loses a
# trap at the start of a command substitution.

# forward_signals_to WORD ...: run a command in the child, and exit with its status.
forward_signals_to() {
  local status
  exec {PSL_EVENT_FD}<> <(:)
  # If the channel is full, only the trap waits until the child has read.
  trap 'printf " signal TERM\n" >&"$PSL_EVENT_FD"' TERM
  trap 'printf " signal USR1\n" >&"$PSL_EVENT_FD"' USR1
  (trap '' TERM USR1 && "$@") &
  wait_for_process "$!"
  status=$?
  # If a signal comes while a child ends, bash may return the signal's status.
  if ((status >= 128)); then
    wait "$!" 2>/dev/null
    status=$?
  fi
  exit "$((status < 127 ? status : 3))"
}

# on_signal NAME: act on a signal. If the tasks do not run yet, end the script.
on_signal() {
  stop_restarting  # only: spare
  if [[ $PSL_OUTCOME ]]; then
    return 0
  fi
  if [[ $1 == TERM ]]; then
    PSL_SLURM_ENDS=1
  fi
  complete_by_settled  # only: background
  case $1 in
    TERM)
      decide interrupted -210 stop \
        "the job was told to end from outside: see Slurm's accounting for the reason"
      ;;
    USR1) decide failed -1004 permanent "the time limit is near: tasks were told to end" ;;
  esac
  if ((!PSL_SUPERVISING)); then
    finish
  fi
}

# handle_pending_signals: act on the signals received before the tasks run.
handle_pending_signals() {
  while read -r -t 0 <&"$PSL_EVENT_FD"; do
    read_event
  done
}

# read_event: read an event before the tasks run; wait one second at most.
read_event() {
  read_words "$PSL_EVENT_FD" || return 0
  case ${#PSL_WORDS[@]}:${PSL_WORDS[0]-} in
    2:signal) on_signal "${PSL_WORDS[1]}" ;;
    3:end) PSL_EXIT_BY_PID[${PSL_WORDS[1]}]=${PSL_WORDS[2]} ;;
  esac
}
