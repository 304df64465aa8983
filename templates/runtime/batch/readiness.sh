# Start the tasks when all nodes are ready, and send commands to tasks.
#
# With gang allocation the first task of each node prepares the node for all of its tasks, finds
# their ports, and reports both. All tasks wait until all nodes are ready and the steps of all roles
# run. A separate step for this would take as long as the start of the tasks.

# make_command_channels: make a FIFO for each role that carries commands to the role's srun, and so
# to all its tasks. An srun over several components passes its standard input to only one of them,
# so tasks of such a step read commands from a file.
# Source: srun(1), --input; observed on Slurm 22.05 for steps over several components.
make_command_channels() {
  local -a fifos=("${!PSL_ROLE_NAME[@]}")
  mkfifo -- "${fifos[@]/#/$PSL_SCRATCH/commands.}" || die "cannot write to $PSL_SCRATCH"
  if [[ $PSL_LAYOUT == het && ${PSL_MPI_WORLD_OF[*]-} ]]; then
    : >commands.txt || die "cannot write to $PSL_ATTEMPT_FOLDER"
  fi
  PSL_NEEDS_CLEANUP=1
}

# send_command ROLE COMMAND: send a command to all tasks of a role. Open the FIFO for reading, too:
# opening it only for writing would wait for an srun that may have ended.
send_command() { printf '%s\n' "$2" 1<>"$PSL_SCRATCH/commands.$1"; }

# send_to_all_steps COMMAND: send a command to all tasks.
send_to_all_steps() {
  local role
  for role in "${!PSL_STEP_RUNNING[@]}"; do
    send_command "$role" "$1"
  done
  if [[ -e commands.txt ]]; then
    printf '%s\n' "$1" >commands.txt
  fi
}

# on_launched ROLE STEP: note that the step of a role runs. Send it the commands that its srun may
# have missed.
on_launched() {
  PSL_STEP_ID[$1]=$2
  if [[ $PSL_OUTCOME ]]; then
    send_command "$1" quit
  else
    begin_if_ready
  fi
}

# on_prepared NODE: note that a node is ready.
on_prepared() {
  PSL_PREPARED[$1]=1
  if [[ ! $PSL_OUTCOME ]]; then
    begin_if_ready
  fi
}

# begin_if_ready: start all tasks, if all nodes are ready and the steps of all roles run.
begin_if_ready() {
  if ((!PSL_GANG || ${#PSL_STEP_ID[@]} < ${#PSL_ROLE_NAME[@]} ||
    ${#PSL_PREPARED[@]} < ${#PSL_ADDRESS_OF[@]})); then
    return 0
  fi
  if ! write_peers; then
    decide failed 255 unknown "cannot write to $PSL_ATTEMPT_FOLDER"
    return
  fi
  send_to_all_steps begin
  # From now on tasks remove their own files.
  PSL_NEEDS_CLEANUP=''
}

# on_unprepared NODE WORD ...: end the job because a node cannot be prepared, for the reason in the
# words.
on_unprepared() {
  decide failed 253 transient "node $1 has not what its tasks need: ${*:2}"
}
