# Run a task as several ranks of an MPI world.
#
# With a native launch srun starts the commands itself, as ranks of an MPI world. A task may have
# several ranks. The first rank runs the hooks, reports, and answers calls. The other ranks wait for
# their release, run the commands, and write to the control FIFO of the first rank.

# The number of ranks of the task, and whether the others are released.
PSL_RANKS=1 PSL_RANKS_RUN=''
# In the first rank: the processes of the others, and the status of the rank that failed first.
PSL_RANK_PROCESS=() PSL_FIRST_FAILURE='' PSL_RANK_KILLERS=()

# find_rank FIRST: set PSL_ROLE, PSL_SLOT, PSL_RANK and PSL_RANKS for this process. FIRST is the
# first role of the step. Slurm numbers the processes of a step role after role, and task after
# task.
find_rank() {
  local number=$SLURM_PROCID count
  for PSL_ROLE in ${PSL_MPI_WORLD_OF[$1]-$1}; do
    PSL_RANKS=${PSL_RANKS_OF[PSL_ROLE]:-1}
    count=$((PSL_SLOTS[PSL_ROLE] * PSL_RANKS))
    ((number >= count)) || break
    number=$((number - count))
  done
  PSL_SLOT=$((number / PSL_RANKS)) PSL_RANK=$((number % PSL_RANKS))
}

# end_as_follower: in another rank than the first, run the commands, and exit.
end_as_follower() {
  if ((PSL_RANK)); then
    run_follower_rank
    exit
  fi
}

# run_follower_rank: run the commands in another rank than the first of its task, and write their
# end to the control FIFO of the first rank.
run_follower_rank() {
  local fifo=$PSL_NODE_FOLDER/$PSL_ROLE.$PSL_SLOT release
  name_logs "$PSL_SLOT" 0
  check_node_folder 2>>"$PSL_STDERR_LOG" || return
  exec {PSL_CONTROL_FD}<>"$fifo" {release}<>"$fifo.rank.$PSL_RANK" || return
  await_release "$fifo" "$release" || return 0
  if ! prepare_task "$PSL_SLOT" 0 2>>"$PSL_STDERR_LOG"; then
    send "$PSL_CONTROL_FD" rank "$PSL_RANK" 0
    return 1
  fi
  launch start_commands  # unless: contained-ranks
  launch join_container  # only: contained-ranks
  send "$PSL_CONTROL_FD" rank "$PSL_RANK" "$PSL_COMMAND"
  while kill -0 "$PSL_COMMAND" 2>/dev/null; do
    pass_on_term
    wait "$PSL_COMMAND"
  done
  PSL_COMMAND=''
}

# add_rank_fifos ROLE.SLOT ...: add the control FIFOs of other ranks than the first to the caller's
# `names`.
add_rank_fifos() {
  local slot rank
  for slot; do
    for ((rank = 1; rank < ${PSL_RANKS_OF[${slot%.*}]:-1}; rank++)); do
      names+=("$slot.rank.$rank")
    done
  done
}

# await_release FIFO DESCRIPTOR: wait until the first rank releases this one, and read the variables
# that hooks exported into PSL_EXPORTS. Fail if this rank must not start any more.
await_release() {
  local text=''
  # As in read_words, only a blank is read with a time limit.
  until read -r -t 0 <&"$2" || IFS= read -r -N 1 -t 1 _ <&"$2"; do
    if ((PSL_STOPPED)) || ! has_reader "$1"; then
      return 1
    fi
  done
  IFS= read -r -d '' text <&"$2" || return
  PSL_EXPORTS=${text# }
  # Hooks ran with the first rank's variables, which contain its number.
  if [[ $PSL_EXPORTS ]]; then
    PSL_EXPORTS+=$'\n'$(declare -px "${!SLURM_@}" "${!PMI@}" "${!PALS_@}")
  fi
  return 0
}

# release_ranks: release the other ranks of this task. Opening such a FIFO waits for its reader, so
# open each one in a separate process.
release_ranks() {
  local rank fifo=$PSL_NODE_FOLDER/$PSL_ROLE.$PSL_SLOT
  ((PSL_RANKS != 1)) || return 0
  PSL_RANKS_RUN=1
  for ((rank = 1; rank < PSL_RANKS; rank++)); do
    {
      printf ' %s\0' "$PSL_EXPORTS" >"$fifo.rank.$rank"
    } {PSL_REPORT_FD}>&- {PSL_CONTROL_FD}>&- &
  done
}

# join_ranks STATUS: wait for the other ranks, and return the status of the rank that failed first.
# STATUS is that of the commands in this rank.
join_ranks() {
  local tries=0
  ((PSL_RANKS != 1)) || return "$1"
  if (($1)); then
    on_end_of_rank "$1"
  fi
  until have_all_ended; do
    if read_words "$PSL_CONTROL_FD"; then
      handle_control_message
    elif ((++tries > PSL_REMOTE_TIMEOUT)); then
      fail_missing_ranks
    fi
    check_progress  # only: progress
    pass_on_term
  done
  PSL_RANKS_RUN=''
  if ((${#PSL_RANK_KILLERS[@]})); then
    kill "${PSL_RANK_KILLERS[@]}" 2>/dev/null
  fi
  return "${PSL_FIRST_FAILURE:-0}"
}

# have_all_ended: succeed if no other rank runs. A killed rank has not written its end.
have_all_ended() {
  local rank process
  for ((rank = 1; rank < PSL_RANKS; rank++)); do
    process=${PSL_RANK_PROCESS[rank]-}
    [[ $process ]] || return 1
    if [[ ${PSL_EXIT_BY_PID[$process]-} ]]; then
      continue
    fi
    if ((process == 0)); then
      # The rank did not start its commands.
      PSL_EXIT_BY_PID[0]=1
      on_end_of_rank 1
      continue
    fi
    if kill -0 "$process" 2>/dev/null; then
      return 1
    fi
    while read -r -t 0 <&"$PSL_CONTROL_FD" && read_words "$PSL_CONTROL_FD"; do
      handle_control_message
    done
    if [[ ! ${PSL_EXIT_BY_PID[$process]-} ]]; then
      PSL_EXIT_BY_PID[$process]=137
      on_end_of_rank 137
    fi
  done
}

# fail_missing_ranks: give up ranks that have written nothing some time after their release.
fail_missing_ranks() {
  local rank
  for ((rank = 1; rank < PSL_RANKS; rank++)); do
    if [[ ! ${PSL_RANK_PROCESS[rank]-} ]]; then
      PSL_RANK_PROCESS[rank]=0
      log "error: rank $rank of the task did not begin" 2>>"$PSL_STDERR_LOG"
    fi
  done
}

# on_end_of_rank STATUS: note the status of an ended rank. When the first one fails, end the other
# ranks of the task, like mpirun: TERM, and KILL after the grace time.
on_end_of_rank() {
  local process
  if [[ ! $PSL_RANKS_RUN || $PSL_FIRST_FAILURE ]] || (($1 == 0)); then
    return 0
  fi
  PSL_FIRST_FAILURE=$1
  for process in ${PSL_RANK_PROCESS[@]+"${PSL_RANK_PROCESS[@]}"} $PSL_COMMAND; do
    end_rank "$process"
  done
}

# on_start_of_rank RANK PROCESS: note the process of a rank; end it if another rank has failed.
on_start_of_rank() {
  [[ $PSL_RANKS != 1 && "$1$2" =~ ^[0-9]+$ ]] || return 0
  PSL_RANK_PROCESS[$1]=$2
  if [[ $PSL_FIRST_FAILURE ]]; then
    end_rank "$2"
  fi
}

# end_rank PROCESS: end the process group of a rank, by TERM, and by KILL after the grace time.
end_rank() {
  (($1)) || return 0
  kill -TERM -- "-$1" 2>/dev/null
  {
    sleep "$PSL_GRACE"
    kill -KILL -- "-$1"
  } </dev/null >/dev/null 2>&1 {PSL_REPORT_FD}>&- {PSL_CONTROL_FD}>&- &
  PSL_RANK_KILLERS+=($!)
}

# read_command: read `word`. srun passes its standard input to only one of several components; then
# read the file with commands, as soon as it has one. Opening the file makes NFS check for changes.
read_command() {
  local idle
  if [[ $PSL_LAYOUT != het || ${PSL_MPI_WORLD_OF[PSL_ROLE]-} != *' '* ]]; then
    read -r word
    return
  fi
  exec {idle}<> <(:)
  until read -r word <"$PSL_ATTEMPT_FOLDER/commands.txt"; do
    read -r -t 0.1 -u "$idle"
  done
  exec {idle}>&-
}
