# Forward the calls from inside containers, which have no Slurm.

# host_side_main FOLDER ATTEMPT CALL: forward a call from inside a container. The call's folder
# contains the task and the command.
host_side_main() {
  local role slot command
  open_attempt "$1" "$2" || exit 255
  {
    read -r role slot && IFS= read -r -d '' command
  } <"$3/command"
  exec_in_task "$role" "$slot" "$command"
}
