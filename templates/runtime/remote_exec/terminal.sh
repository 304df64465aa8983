# Give a terminal to the command of a call. `srun --pty` makes a terminal for the relay on the
# task's node, which forwards bytes. script(1) or Python makes a second one in the task, with the
# task's container, devices and limits. It is the controlling terminal of the command, so job
# control, ^C and full screens work.

# exec_main FOLDER ATTEMPT ROLE INDEX [COMMAND]: run the command of `paislurm exec` in a task, from
# any host that has the run folder and Slurm.
exec_main() {
  local terminal=''
  open_attempt "$1" "$2" || exit 255
  find_slot "$3" "$4" || refuse "role ${PSL_ROLE_NAME[$3]} has no task $4"
  if [[ -t 0 && -t 1 ]]; then
    terminal=1
  fi
  exec_in_task "$PSL_FOUND_ROLE" "$PSL_FOUND_SLOT" "${5:-exec bash}" "$terminal"
}

# relay_terminal FIFO COMMAND: send a call whose command has a terminal. Restore the settings of
# this shell's terminal afterwards, which is srun's, or the user's with the local backend.
relay_terminal() {
  local saved size status
  saved=$(stty -g) || exit 255
  size=$(stty size) || exit 255
  stty raw -echo
  (send_call "$1" "$2" "$size ${TERM:-dumb}")
  status=$?
  stty "$saved"
  return "$status"
}

# pass_sizes FIFO CALL: report each change of the user's window size to the task. Bash runs a trap
# only after the current `read`, so the reads are short.
pass_sizes() {
  local resized='' nothing
  exec {nothing}<> <(:)
  trap 'resized=1' WINCH
  while :; do
    read -r -t 0.3 <&"$nothing"
    if [[ $resized ]]; then
      resized=''
      send 1 size "$2" "$(stty size)" 1<>"$1"
    fi
  done
}

# print_terminal_program FOLDER COMMAND "ROWS COLUMNS KIND": print a program for sh that makes a
# terminal in the task and runs the command of a call there. script(1) starts $SHELL, which can be
# any program, so the program unsets SHELL for it, and restores it for the command.
print_terminal_program() {
  local rows columns kind inner command
  read -r rows columns kind <<<"$3"
  quote "$2"
  command=$PSL_QUOTED
  quote "$1/tty"
  inner="stty sane rows $rows cols $columns; tty >$PSL_QUOTED;"
  # shellcheck disable=SC2016 # for the shell in the task
  inner+=' [ ! "$PAISLURM_SHELL" ] || export SHELL="$PAISLURM_SHELL"; unset PAISLURM_SHELL;'
  quote "$inner exec bash -c $command"
  printf 'inner=%s\n' "$PSL_QUOTED"
  quote "$kind"
  # shellcheck disable=SC2016 # for the shell in the task
  printf 'export TERM=%s PAISLURM_SHELL="${SHELL-}"\n' "$PSL_QUOTED"
  cat_stdin <<'END_OF_PROGRAM'
unset SHELL
if command -v script >/dev/null; then
  exec script -q -e -c "$inner" /dev/null
fi
if command -v python3 >/dev/null; then
  exec python3 -I -c 'import os, pty, sys
sys.exit(os.waitstatus_to_exitcode(pty.spawn(["sh", "-c", sys.argv[1]])))' "$inner"
fi
echo "paislurm: error: a terminal needs script(1) or python3 where the task runs;" \
  "without one: paislurm exec ... | cat" >&2
exit 127
END_OF_PROGRAM
}
