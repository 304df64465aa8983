# Give a terminal to the command of a call. `srun --pty` makes one for the relay on the task's node.
# The command gets another one, which script(1) or Python makes in the task, so that this terminal
# has the task's container, devices and limits. It is the controlling terminal of the command: job
# control, ^C and full screens work. The terminal of the relay passes on bytes.

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

# relay_terminal FIFO COMMAND: send a call whose command has a terminal. The terminal of this shell
# is the one that srun made, or, with the local backend, the user's own: its settings are restored.
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

# pass_sizes FIFO CALL: tell the task whenever the user's window has another size. A bash that waits
# in `read` runs the trap only after the read, so the reads are short.
pass_sizes() {
  local resized='' nothing
  exec {nothing}<> <(:)
  trap 'resized=1' WINCH
  while :; do
    read -r -t 0.3 <&"$nothing"
    if [[ $resized ]]; then
      resized=''
      printf 'size %s %s\n' "$2" "$(stty size)" 1<>"$1"
    fi
  done
}
