# Calls: how a command gets into another task, for `ssh ROLE-INDEX COMMAND` and `paislurm exec`.
#
# Each slot has a named pipe on its node, its bell, which the shell of the task reads while it waits for what it runs.
# A caller on that node makes a folder with the command and a pipe each for input, output, errors, status and life, and
# writes the folder's name into the bell. The task's own shell starts the command, so that it has the task's container,
# devices, limits, working directory and environment. The caller holds `life` open: when nobody does, the caller is
# dead, and the command is killed.

# Seconds until a task that does not answer a call is given up.
readonly ANSWER_SECONDS=30

# Of a task in a container, the shell outside hears by another bell what is to be called elsewhere.
if [[ ${CONTAINER_RUNTIME-none} == none ]]; then OUT=''; else OUT=.out; fi
readonly OUT

# make_bells NAME ...: all at once, below CALLS. Nobody else's folder will do, since /tmp is everybody's.
make_bells() {
  mkdir -m 0700 -- "$CALLS" 2>/dev/null
  [[ -d $CALLS && ! -L $CALLS && -O $CALLS ]] || { say "error: $CALLS on $SLURMD_NODENAME is not ours"; return 1; }
  [[ ! $OUT ]] || set -- "$@" "${@/%/$OUT}"
  # On one machine all components are one node, and each of their steps makes all of them.
  (cd -- "$CALLS" && umask 0077 && mkfifo -- "$@") 2>/dev/null
  local name
  for name; do [[ -p $CALLS/$name ]] || { say "error: cannot make $CALLS/$name on $SLURMD_NODENAME"; return 1; }; done
}

# With gang allocation, the bells of all slots of a node.
make_bells_of_node() {
  local role slot
  local -a nodes names=()
  for role in "${!ROLE_NAME[@]}"; do
    read -ra nodes <<<"${NODES_OF[role]}"
    for slot in "${!nodes[@]}"; do [[ ${nodes[slot]} != "$SLURMD_NODENAME" ]] || names+=("$role.$slot"); done
  done
  ((${#names[@]} == 0)) || make_bells "${names[@]}"
}

# mark_bells MARK: by a file beside each bell of this node.
mark_bells() {
  local bell
  for bell in "$CALLS"/*; do
    [[ ! -p $bell ]] || : >"$bell.$1"
  done
}

# remove_bell NAME: and the folder with the last one.
remove_bell() {
  local shared=/dev/shm/${CALLS##*/}-$1
  [[ ! -d $shared ]] || command -p rm -rf -- "$shared"
  # Not one of the user's that stands before it on the PATH.
  command -p rm -d -f -- "$CALLS/$1" "$CALLS/$1.out" "$CALLS/$1.ready" "$CALLS" 2>/dev/null
}

# open_bell NAME: in BELL; a shell without one, in a pipe that has no name, hears only the end of what it runs.
open_bell() {
  if [[ -p $CALLS/$1 ]]; then exec {BELL}<>"$CALLS/$1"; else exec {BELL}<> <(:); fi
}

# await_end PID: wait for a child that writes `end PID STATUS` into the bell, answer calls meanwhile, return its status.
# One that was killed writes nothing.
await_end() {
  local there=1
  while ((there)) || read -r -t 0 <&"$BELL"; do
    if read_words "$BELL"; then
      case ${#WORDS[@]}:${WORDS[0]-} in
        3:end) [[ ${WORDS[1]} != "$1" ]] || { wait "$1"; return "${WORDS[2]}"; } ;;
        2:call) [[ ${WORDS[1]} == */* || ! -d $CALLS/${WORDS[1]} ]] || answer_call "$CALLS/${WORDS[1]}" {CHANNEL}>&- {BELL}>&- & ;;
      esac
    else
      kill -0 "$1" 2>/dev/null || there=0
    fi
  done
  await "$1"
}

# A pipe with an end for reading, READ_END, and one for writing, WRITE_END.
make_pipe() {
  local both
  exec {both}<> <(:)
  exec {READ_END}<"/dev/fd/$both" {WRITE_END}>"/dev/fd/$both" {both}>&-
}

# answer_call FOLDER: run its command, with the folder's pipes, in a process group of its own.
answer_call() {
  local folder=$1 life status both input command watcher
  # Opened for reading and writing first, so that no opening waits for a caller who is dead.
  exec {both}<>"$folder/life"
  exec {life}<"$folder/life" {both}>&- {status}>"$folder/status"
  printf 'open\n' >&"$status"
  exec {input}<"$folder/in" >"$folder/out" 2>"$folder/err"
  set -m
  "$ANSWER" "$folder" <&"$input" {input}<&- {life}<&- {status}>&- &
  command=$!
  # Whoever has these open keeps the caller waiting for more.
  exec {input}<&- >/dev/null 2>&1
  { kill_when_over "$life" "$command"; rm -rf -- "$folder"; } {status}>&- &
  watcher=$!
  set +m
  await "$command"
  printf 'end %s\n' "$?" >&"$status"
  kill -KILL -- "-$watcher"
}

# kill_when_over LIFE GROUP: kill it when no process has the pipe open for writing any more.
kill_when_over() {
  local _
  read -r _ <&"$1"
  kill -TERM -- "-$2"
  sleep 2
  kill -KILL -- "-$2"
}

# What a call runs in a task. To Open MPI two tasks on a node are two hosts, yet its files of shared memory and of the
# session are named by the host: they need folders of their own. The task's command does not have these variables, since
# mpirun would hand them on to all.
run_called() {
  local command='' folder=/dev/shm/${CALLS##*/}-$ROLE.$SLOT
  IFS= read -r -d '' command <"$1/command"
  [[ ! ${EXPORTS-} ]] || eval "$EXPORTS"
  ! (umask 0077 && mkdir -p -- "$folder") 2>/dev/null ||
    export OMPI_MCA_btl_vader_backing_directory=$folder OMPI_MCA_btl_sm_backing_directory=$folder \
      OMPI_MCA_orte_tmpdir_base=$folder PRTE_MCA_prte_tmpdir_base=$folder
  exec bash -c "$command"
}

# place_call BELL COMMAND: standard input, output and errors are the command's, and so is the status; 255 if there is
# no answer.
place_call() {
  local bell=$1 folder word result='' tries=0 life status end in out err input
  [[ -p $bell ]] || { say "error: no task answers: it has ended, or not yet begun"; return 255; }
  folder=$(mktemp -d "${bell%/*}/call.XXXXXX") || return 255
  # shellcheck disable=SC2064 # the folder of this call
  trap "rm -rf -- '$folder'" EXIT
  (cd -- "$folder" && mkfifo in out err life status) && printf '%s' "$2" >"$folder/command" || return 255
  exec {life}<>"$folder/life" {status}<>"$folder/status"
  printf 'call %s\n' "${folder##*/}" 1<>"$bell"
  until read -r -t 1 word <&"$status"; do
    ((++tries < ANSWER_SECONDS)) && [[ -p $bell ]] || { say "error: the task does not answer"; return 255; }
  done
  exec {end}<"$folder/status" {status}>&- {in}>"$folder/in" {out}<"$folder/out" {err}<"$folder/err" {input}<&0
  cat <&"$input" >&"$in" {life}>&- {in}>&- &
  input=$!
  exec {in}>&-
  { cat <&"$err" >&2 & cat <&"$out"; wait; } {life}>&- &
  out=$!
  read -r word result <&"$end" || say "error: the task was killed"
  wait "$out"
  kill "$input" 2>/dev/null
  return "${result:-255}"
}
