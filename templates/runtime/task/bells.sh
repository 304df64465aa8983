# Bells: each slot has a named pipe on its node, which its shell reads while it waits for what it runs. By it come the ends
# of commands and ranks, and calls.

# Of a task in a container, the shell outside hears by another bell what is to be called elsewhere.
if [[ ${CONTAINER_RUNTIME-none} == none ]]; then OUT=''; else OUT=.out; fi
readonly OUT

# make_bells NAME ...: all at once, below CALLS.
make_bells() {
  mkdir -m 0700 -- "$CALLS" 2>/dev/null
  check_calls || return
  [[ ! $OUT ]] || set -- "$@" "${@/%/$OUT}"
  # On one machine all components are one node, and each of their steps makes all of them.
  mkfifo -m 0600 -- "${@/#/$CALLS/}" 2>/dev/null
  local name
  for name; do [[ -p $CALLS/$name ]] || { say "error: cannot make $CALLS/$name on $SLURMD_NODENAME"; return 1; }; done
  # The last one of others may have removed the folder in between, and somebody else made one of that name.
  check_calls
}

# Who can write to the folder of the bells can run commands as this user: nothing is read or written in another's.
check_calls() {
  [[ -d $CALLS ]] && is_ours "$CALLS" && return
  say "error: the folder for calls, $CALLS on $SLURMD_NODENAME, is gone or another user's: nothing runs beside it"
  return 1
}

# open_bell NAME: in BELL; a shell without one, in a pipe that has no name, hears only the end of what it runs.
open_bell() {
  if [[ -p $CALLS/$1 ]] && is_ours "$CALLS"; then exec {BELL}<>"$CALLS/$1"; else exec {BELL}<> <(:); fi
  trap 'STOPPED=1; printf "stop\n" >&"$BELL"' TERM
}

# What the bell says, in WORDS.
hear() {
  case ${#WORDS[@]}:${WORDS[0]-} in
    3:end)
      [[ "${WORDS[1]}${WORDS[2]}" =~ ^[0-9]+$ ]] || return
      ENDS[${WORDS[1]}]=${WORDS[2]}
      [[ ! $RANKS_RUN ]] || on_end_of_rank "${WORDS[2]}"
      ;;
    1:stop) STOPPED=1 ;;
    3:rank) [[ $RANKS == 1 || ! "${WORDS[1]}${WORDS[2]}" =~ ^[0-9]+$ ]] || on_start_of_rank "${WORDS[@]:1}" ;;
    2:call) [[ ${WORDS[1]} == */* || ! -d $CALLS/${WORDS[1]} ]] || answer_call "$CALLS/${WORDS[1]}" {CHANNEL}>&- {BELL}>&- & ;;
    4:size) set_size "${WORDS[@]:1}" ;;
  esac
}

# leave_bell NAME: nobody hears it any more. The last one that a node has removes them all.
leave_bell() {
  local file shared=/dev/shm/${CALLS##*/}-$1
  local -a files
  ! is_ours "$shared" || remove_trees "$shared"
  is_ours "$CALLS" || return 0
  : >"$CALLS/$1.ended"
  files=("$CALLS"/*)
  for file in "${files[@]}"; do
    [[ ! -p $file || ${file##*/} == *.*.* || -e $file.ended ]] || return 0
  done
  remove_trees "${files[@]}"
  command -p rmdir -- "$CALLS"
} 2>/dev/null

# Tell whether somebody hears a bell, or will.
is_heard() { [[ -p $1 && ! -e $1.ended ]] && is_ours "${1%/*}"; }
