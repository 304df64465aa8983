# Let the tasks begin when all nodes are ready, and tell tasks what to do.
#
# With gang allocation the first task of each node makes what all tasks of the node need, finds
# their ports, and reports both. All tasks wait until all nodes are ready and the steps of all roles
# are there. A step of its own for this would take as long as the start of the tasks.

# make_command_channels: make the FIFO of each role that carries commands to the srun of the role,
# and so to all its tasks. An srun over several components passes its standard input on to one of
# them only, so tasks of such a step read commands from a file.
# Source: srun(1), --input; observed on Slurm 22.05 for steps over several components.
make_command_channels() {
  local -a fifos=("${!PSL_ROLE_NAME[@]}")
  mkfifo -- "${fifos[@]/#/$PSL_SCRATCH/commands.}" || die "cannot write to $PSL_SCRATCH"
  if [[ $PSL_LAYOUT == het && ${PSL_MPI_WORLD_OF[*]-} ]]; then
    : >commands.txt || die "cannot write to $PSL_ATTEMPT_FOLDER"
  fi
  PSL_NEEDS_CLEANUP=1
}

# send_command ROLE COMMAND: tell all tasks of a role what to do. The FIFO is opened for reading,
# too, because to open it for writing alone would wait for an srun that may have ended.
send_command() { printf '%s\n' "$2" 1<>"$PSL_SCRATCH/commands.$1"; }

# send_to_all_steps COMMAND: tell all tasks what to do.
send_to_all_steps() {
  local role
  for role in "${!PSL_STEP_RUNNING[@]}"; do
    send_command "$role" "$1"
  done
  if [[ -e commands.txt ]]; then
    printf '%s\n' "$1" >commands.txt
  fi
}

# on_launched ROLE STEP: the step of a role is there. Its srun may have missed what was sent before.
on_launched() {
  PSL_STEP_ID[$1]=$2
  if [[ $PSL_OUTCOME ]]; then
    send_command "$1" quit
  else
    begin_if_ready
  fi
}

# on_prepared NODE: a node is ready.
on_prepared() {
  PSL_PREPARED[$1]=1
  if [[ ! $PSL_OUTCOME ]]; then
    begin_if_ready
  fi
}

# begin_if_ready: let all tasks begin, if all nodes are ready and the steps of all roles are there.
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
  # From here on tasks remove what they leave.
  PSL_NEEDS_CLEANUP=''
}

# on_unprepared NODE WORD ...: a node cannot be made ready; the words say why.
on_unprepared() {
  decide failed 253 transient "node $1 has not what its tasks need: ${*:2}"
}
