# Native launch: srun starts the commands themselves, as ranks of an MPI world, several of them for one task if so asked.
#
# The first rank of a task is the task: it runs the scripts around the commands, reports, and answers calls. The others
# wait until the commands may begin, run them, and tell the first one by its bell.

# A rank that is not the first of its task: wait for the word to begin, which is the variables that scripts exported, run
# the commands, and let them write their end into the bell of the first one.
follow_task() {
  local bell=$CALLS/$ROLE.$SLOT word part='' text=''
  local -a options
  name_logs "$SLOT" 0
  check_calls 2>>"$STDERR_LOG" || return
  { exec {BELL}<>"$bell" {word}<>"$bell.rank.$RANK"; } || return
  until IFS= read -r -d '' -t 1 part <&"$word"; do
    text+=$part
    ((!STOPPED)) && is_heard "$bell" || return 0
  done
  EXPORTS=$text$part
  # Scripts ran with the variables of the first rank, among them its number.
  [[ ! $EXPORTS ]] || EXPORTS+=$'\n'$(declare -px "${!SLURM_@}" "${!PMI@}" "${!PALS_@}")
  prepare_task "$SLOT" 0 2>>"$STDERR_LOG" || { printf 'rank %s 0\n' "$RANK" >&"$BELL"; return 1; }
  read -ra options <<<"${SHELL_OPTIONS[ROLE]}"
  launch start_bash "$STDOUT_LOG" "$STDERR_LOG" "$ATTEMPT_FOLDER/commands/${ROLE_FOLDER[ROLE]}.sh" ${options[@]+"${options[@]}"} --
  printf 'rank %s %s\n' "$RANK" "$COMMAND" >&"$BELL"
  while kill -0 "$COMMAND" 2>/dev/null; do
    pass_on_term
    wait "$COMMAND"
  done
  COMMAND=''
}

# Let the other ranks of this task begin. An opening waits for the one that is to read.
release_ranks() {
  local rank
  RANKS_RUN=1
  for ((rank = 1; rank < RANKS; rank++)); do
    { printf '%s\0' "$EXPORTS" >"$CALLS/$ROLE.$SLOT.rank.$rank"; } {CHANNEL}>&- {BELL}>&- &
  done
}

# join_ranks STATUS: wait for the other ranks, and return the status of the rank that failed first.
join_ranks() {
  local tries=0
  ((!$1)) || on_end_of_rank "$1"
  until have_all_ended; do
    if read_words "$BELL"; then
      hear
    elif ((++tries > ANSWER_SECONDS)); then
      give_up_missing_ranks
    fi
    pass_on_term
  done
  RANKS_RUN=''
  ((!${#RANK_KILLERS[@]})) || kill "${RANK_KILLERS[@]}" 2>/dev/null
  return "${FIRST_FAILURE:-0}"
}

# Tell whether no rank runs; one that was killed has written nothing.
have_all_ended() {
  local rank process
  for ((rank = 1; rank < RANKS; rank++)); do
    process=${RANK_PROCESS[rank]-}
    [[ $process ]] || return 1
    [[ ! ${ENDS[$process]-} ]] || continue
    ((process)) || { ENDS[0]=1; on_end_of_rank 1; continue; }
    ! kill -0 "$process" 2>/dev/null || return 1
    while read -r -t 0 <&"$BELL" && read_words "$BELL"; do hear; done
    [[ ${ENDS[$process]-} ]] || { ENDS[$process]=137; on_end_of_rank 137; }
  done
}

# A rank of which nothing was heard, a while after all were told to begin, is dead.
give_up_missing_ranks() {
  local rank
  for ((rank = 1; rank < RANKS; rank++)); do
    [[ ${RANK_PROCESS[rank]-} ]] || { RANK_PROCESS[rank]=0; say "error: rank $rank of the task did not begin" 2>>"$STDERR_LOG"; }
  done
}

# on_end_of_rank STATUS: when one fails, the others of its task get TERM, and KILL after the grace time, as mpirun does it.
on_end_of_rank() {
  local process
  [[ $RANKS_RUN && ! $FIRST_FAILURE ]] && (($1)) || return 0
  FIRST_FAILURE=$1
  for process in ${RANK_PROCESS[@]+"${RANK_PROCESS[@]}"} $COMMAND; do end_rank "$process"; done
}

# on_start_of_rank RANK PROCESS: it is too late for one that begins when another has failed.
on_start_of_rank() {
  RANK_PROCESS[$1]=$2
  [[ ! $FIRST_FAILURE ]] || end_rank "$2"
}

end_rank() {
  (($1)) || return 0
  kill -TERM -- "-$1" 2>/dev/null
  { sleep "$GRACE"; kill -KILL -- "-$1"; } </dev/null >/dev/null 2>&1 {CHANNEL}>&- {BELL}>&- &
  RANK_KILLERS+=($!)
}
