# Pass on the calls that come out of containers, which have no Slurm.

# host_side_main FOLDER ATTEMPT CALL: pass on a call that comes out of a container. The call's
# folder has the task and the command.
host_side_main() {
  local role slot command
  open_attempt "$1" "$2" || exit 255
  {
    read -r role slot && IFS= read -r -d '' command
  } <"$3/command"
  exec_in_task "$role" "$slot" "$command"
}
