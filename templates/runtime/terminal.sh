# A terminal for what is called in a task. `srun --pty` gives one to the relay on the task's node; the command gets one
# of its own, made in the task by script(1) or by Python, so that it is in the task's container, devices and limits, and
# its terminal is the controlling one: job control, ^C and full screens work. The terminal of the relay passes on bytes.

# exec_main FOLDER ATTEMPT ROLE INDEX [COMMAND]: `paislurm exec`, on any host that has the folder and Slurm.
exec_main() {
  local terminal=''
  open_attempt "$1" "$2" || exit 255
  find_slot "$3" "$4" || refuse "role ${ROLE_NAME[$3]} has no task $4"
  [[ ! -t 0 || ! -t 1 ]] || terminal=1
  call_task "$FOUND_ROLE" "$FOUND_SLOT" "${5:-exec bash}" "$terminal"
}

# relay_terminal BELL COMMAND: the terminal of this shell is the one that srun made, or, with the local backend, the
# user's own, which is left as it was.
relay_terminal() {
  local saved size status
  saved=$(stty -g) && size=$(stty size) || exit 255
  stty raw -echo
  (place_call "$1" "$2" "$size ${TERM:-dumb}")
  status=$?
  stty "$saved"
  return "$status"
}

# pass_sizes BELL CALL: tell the task, whenever the user's window has another size.
pass_sizes() {
  # shellcheck disable=SC2064 # what is called now
  trap "printf 'size %s %s\n' '$2' \"\$(stty size)\" 1<>'$1'" WINCH
  sleep infinity &
  await "$!"
}

# In the task: size CALL ROWS COLUMNS.
set_size() {
  local terminal
  [[ $1 != */* && "$2$3" =~ ^[0-9]+$ ]] && read -r terminal <"$CALLS/$1/tty" || return 0
  stty -F "$terminal" rows "$2" cols "$3"
} 2>/dev/null

# run_in_terminal FOLDER COMMAND: become a terminal for the command of a call.
run_in_terminal() {
  local rows columns inner shell=${SHELL-}
  read -r rows columns TERM <"$1/terminal"
  export TERM
  quote "$1/tty"
  inner="stty sane rows $rows cols $columns; tty >$QUOTED;"
  quote "$shell"
  [[ ! $shell ]] || inner+=" export SHELL=$QUOTED;"
  quote "$2"
  inner+=" exec bash -c $QUOTED"
  # It would start $SHELL, which can be anything.
  unset SHELL
  if type -P script >/dev/null; then exec script -q -e -c "$inner" /dev/null; fi
  ! type -P python3 >/dev/null ||
    exec python3 -c 'import os, pty, sys; sys.exit(os.waitstatus_to_exitcode(pty.spawn(["sh", "-c", sys.argv[1]])))' "$inner"
  say "error: a terminal needs script(1) or python3 where the task runs; without one: paislurm exec ... | cat"
  exit 127
}
