# Native launch: srun starts the commands themselves, as ranks of an MPI world, several of them for one task if so asked.
#
# The first rank of a task is the task: it runs the scripts around the commands, reports, and answers calls. The others
# wait until the commands may begin, run them, and tell the first one by its bell.

# A rank that is not the first of its task: wait for the word to begin, which is the variables that scripts exported, run
# the commands, and let them write their end into the bell of the first one.
run_follower_rank() {
  local bell=$PSL_NODE_FOLDER/$PSL_ROLE.$PSL_SLOT word part='' text=''
  local -a options
  name_logs "$PSL_SLOT" 0
  check_node_folder 2>>"$PSL_STDERR_LOG" || return
  { exec {PSL_CONTROL_FD}<>"$bell" {word}<>"$bell.rank.$PSL_RANK"; } || return
  until IFS= read -r -d '' -t 1 part <&"$word"; do
    text+=$part
    ((!PSL_STOPPED)) && has_reader "$bell" || return 0
  done
  PSL_EXPORTS=$text$part
  # Scripts ran with the variables of the first rank, among them its number.
  if [[ $PSL_EXPORTS ]]; then
    PSL_EXPORTS+=$'\n'$(declare -px "${!SLURM_@}" "${!PMI@}" "${!PALS_@}")
  fi
  prepare_task "$PSL_SLOT" 0 2>>"$PSL_STDERR_LOG" || { printf 'rank %s 0\n' "$PSL_RANK" >&"$PSL_CONTROL_FD"; return 1; }
  read -ra options <<<"${PSL_SHELL_OPTIONS[PSL_ROLE]}"
  launch start_bash "$PSL_STDOUT_LOG" "$PSL_STDERR_LOG" "$PSL_ATTEMPT_FOLDER/commands/${PSL_ROLE_FOLDER[PSL_ROLE]}.sh" ${options[@]+"${options[@]}"} --
  printf 'rank %s %s\n' "$PSL_RANK" "$PSL_COMMAND" >&"$PSL_CONTROL_FD"
  while kill -0 "$PSL_COMMAND" 2>/dev/null; do
    pass_on_term
    wait "$PSL_COMMAND"
  done
  PSL_COMMAND=''
}

# Let the other ranks of this task begin. An opening waits for the one that is to read.
release_ranks() {
  local rank
  PSL_RANKS_RUN=1
  for ((rank = 1; rank < PSL_RANKS; rank++)); do
    { printf '%s\0' "$PSL_EXPORTS" >"$PSL_NODE_FOLDER/$PSL_ROLE.$PSL_SLOT.rank.$rank"; } {PSL_REPORT_FD}>&- {PSL_CONTROL_FD}>&- &
  done
}

# join_ranks STATUS: wait for the other ranks, and return the status of the rank that failed first.
join_ranks() {
  local tries=0
  ((!$1)) || on_end_of_rank "$1"
  until have_all_ended; do
    if read_words "$PSL_CONTROL_FD"; then
      handle_control_message
    elif ((++tries > PSL_REMOTE_TIMEOUT)); then
      fail_missing_ranks
    fi
    pass_on_term
  done
  PSL_RANKS_RUN=''
  ((!${#PSL_RANK_KILLERS[@]})) || kill "${PSL_RANK_KILLERS[@]}" 2>/dev/null
  return "${PSL_FIRST_FAILURE:-0}"
}

# Tell whether no rank runs; one that was killed has written nothing.
have_all_ended() {
  local rank process
  for ((rank = 1; rank < PSL_RANKS; rank++)); do
    process=${PSL_RANK_PROCESS[rank]-}
    [[ $process ]] || return 1
    if [[ ${PSL_EXIT_BY_PID[$process]-} ]]; then
      continue
    fi
    ((process)) || { PSL_EXIT_BY_PID[0]=1; on_end_of_rank 1; continue; }
    if kill -0 "$process" 2>/dev/null; then
      return 1
    fi
    while read -r -t 0 <&"$PSL_CONTROL_FD" && read_words "$PSL_CONTROL_FD"; do handle_control_message; done
    [[ ${PSL_EXIT_BY_PID[$process]-} ]] || { PSL_EXIT_BY_PID[$process]=137; on_end_of_rank 137; }
  done
}

# A rank of which nothing was heard, a while after all were told to begin, is dead.
fail_missing_ranks() {
  local rank
  for ((rank = 1; rank < PSL_RANKS; rank++)); do
    [[ ${PSL_RANK_PROCESS[rank]-} ]] || { PSL_RANK_PROCESS[rank]=0; log "error: rank $rank of the task did not begin" 2>>"$PSL_STDERR_LOG"; }
  done
}

# on_end_of_rank STATUS: when one fails, the others of its task get TERM, and KILL after the grace time, as mpirun does it.
on_end_of_rank() {
  local process
  [[ $PSL_RANKS_RUN && ! $PSL_FIRST_FAILURE ]] && (($1)) || return 0
  PSL_FIRST_FAILURE=$1
  for process in ${PSL_RANK_PROCESS[@]+"${PSL_RANK_PROCESS[@]}"} $PSL_COMMAND; do end_rank "$process"; done
}

# on_start_of_rank RANK PROCESS: it is too late for one that begins when another has failed.
on_start_of_rank() {
  PSL_RANK_PROCESS[$1]=$2
  if [[ $PSL_FIRST_FAILURE ]]; then
    end_rank "$2"
  fi
}

end_rank() {
  (($1)) || return 0
  kill -TERM -- "-$1" 2>/dev/null
  { sleep "$PSL_GRACE"; kill -KILL -- "-$1"; } </dev/null >/dev/null 2>&1 {PSL_REPORT_FD}>&- {PSL_CONTROL_FD}>&- &
  PSL_RANK_KILLERS+=($!)
}
