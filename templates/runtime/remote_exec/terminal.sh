# A terminal for what is called in a task. `srun --pty` gives one to the relay on the task's node; the command gets one
# of its own, made in the task by script(1) or by Python, so that it is in the task's container, devices and limits, and
# its terminal is the controlling one: job control, ^C and full screens work. The terminal of the relay passes on bytes.

# exec_main FOLDER ATTEMPT ROLE INDEX [COMMAND]: `paislurm exec`, on any host that has the folder and Slurm.
exec_main() {
  local terminal=''
  open_attempt "$1" "$2" || exit 255
  find_slot "$3" "$4" || refuse "role ${PSL_ROLE_NAME[$3]} has no task $4"
  [[ ! -t 0 || ! -t 1 ]] || terminal=1
  exec_in_task "$PSL_FOUND_ROLE" "$PSL_FOUND_SLOT" "${5:-exec bash}" "$terminal"
}

# relay_terminal BELL COMMAND: the terminal of this shell is the one that srun made, or, with the local backend, the
# user's own, which is left as it was.
relay_terminal() {
  local saved size status
  saved=$(stty -g) && size=$(stty size) || exit 255
  stty raw -echo
  (send_call "$1" "$2" "$size ${TERM:-dumb}")
  status=$?
  stty "$saved"
  return "$status"
}

# pass_sizes BELL CALL: tell the task, whenever the user's window has another size. The trap has its turn between two reads:
# one that waits goes on after this signal.
pass_sizes() {
  local resized='' nothing
  exec {nothing}<> <(:)
  trap 'resized=1' WINCH
  while :; do
    read -r -t 0.3 <&"$nothing" || [[ $resized ]] || continue
    resized=''
    printf 'size %s %s\n' "$2" "$(stty size)" 1<>"$1"
  done
}
