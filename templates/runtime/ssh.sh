# ssh without a daemon: `ssh ROLE-INDEX COMMAND` in a task, for people, mpirun, horovodrun and rsync.
# Source: ssh(1) of OpenSSH, for options and for the status 255 of what is not the command's own.

# All options of ssh; those that mean nothing here are passed over.
readonly SSH_OPTIONS=':46AaCfGgKkMNnqsTtVvXxYyB:b:c:D:E:e:F:I:i:J:L:l:m:O:o:P:p:Q:R:S:W:w:'

# Left in the attempt's folder, first on the PATH of every task.
write_ssh() {
  mkdir -p -- "$ATTEMPT_FOLDER/bin" || return
  {
    quote "$SCRIPT"
    printf '#!/usr/bin/env bash\nexec bash %s --ssh ' "$QUOTED"
    quote "$FOLDER"
    printf '%s %s "$@"\n' "$QUOTED" "$ATTEMPT"
  } >"$ATTEMPT_FOLDER/bin/ssh" && chmod 0700 "$ATTEMPT_FOLDER/bin/ssh"
}

# ssh_main FOLDER ATTEMPT [OPTION ...] [USER@]HOST [COMMAND ...]
ssh_main() {
  local letter host='' port='' input=1 behind='' terminal='' OPTIND=1
  local -a words
  open_attempt "$1" "$2" || exit 255
  shift 2
  words=("$@")
  while :; do
    OPTIND=1
    while getopts "$SSH_OPTIONS" letter "$@"; do
      case $letter in
        n) input='' ;;
        f) input='' behind=1 ;;
        p) port=$OPTARG ;;
        t) terminal=1 ;;
        T) terminal=no ;;
        D | L | O | R | W | w | s | N) refuse "-$letter is not possible without a daemon" ;;
        V) say "ssh of the job, without a daemon"; exit 0 ;;
        \? | :) refuse "unknown option -$OPTARG" ;;
      esac
    done
    shift $((OPTIND - 1))
    if [[ $host ]] || ((!$#)); then break; fi
    host=${1##*@}
    shift
  done
  [[ $host ]] || refuse "usage: ssh [options] ROLE-INDEX [command]"
  find_task "$host" "$port" || real_ssh "$host" "${words[@]}"
  [[ $input ]] || exec </dev/null
  (($#)) || { set -- 'exec bash' && terminal=${terminal:-1}; }
  [[ $terminal == 1 && -t 0 && -t 1 ]] || terminal=''
  if [[ $behind ]]; then
    call_task "$FOUND_ROLE" "$FOUND_SLOT" "$*" &
    exit 0
  fi
  call_task "$FOUND_ROLE" "$FOUND_SLOT" "$*" "$terminal"
}

refuse() {
  say "ssh: $1"
  exit 255
}

# find_task HOST PORT: in FOUND_ROLE and FOUND_SLOT. A task is named by its alias, or by its address and ssh port; an
# address alone means the first task there, and `localhost` the task that asks.
find_task() {
  local host=$1 port=$2 role index name ports
  local -a nodes
  case $host in localhost | 127.* | ::1) host=${PAI_CURRENT_TASK_ROLE_NAME-}-${PAI_CURRENT_TASK_ROLE_CURRENT_TASK_INDEX-} ;; esac
  for role in "${!ROLE_NAME[@]}"; do
    for name in "${ROLE_NAME[role]}" ${ROLE_ALIASES[role]}; do
      index=${host##*-}
      [[ ${host,,} == "${name,,}-$index" && $index =~ ^(0|[1-9][0-9]{0,8})$ ]] || continue
      find_slot "$role" "$index" && return
    done
  done
  for role in "${!ROLE_NAME[@]}"; do
    read -ra nodes <<<"${NODES_OF[role]}"
    for index in "${!nodes[@]}"; do
      [[ $host == "${nodes[index]}" || $host == "${ADDRESS_OF[${nodes[index]}]}" ]] || continue
      name=PAI_PORT_LIST_${ROLE_ALIASES[role]%% *}_${index}_ssh
      ports=${!name-}
      [[ $port && $port != 22 && ,$ports, != *",$port,"* ]] || { FOUND_ROLE=$role FOUND_SLOT=$index; return; }
    done
  done
  return 1
}

# The slot that a task has, or had last, without gang allocation is in the file that it left.
find_slot() {
  FOUND_ROLE=$1 FOUND_SLOT=$2
  (($2 < INSTANCES[$1])) || return
  ((!GANG)) || return 0
  local name value file=$ATTEMPT_FOLDER/tasks/${ROLE_FOLDER[$1]}/$2.env
  [[ -r $file ]] || refuse "task ${ROLE_NAME[$1]}-$2 has not begun"
  while IFS='=' read -r name value; do
    [[ $name != SLOT_OF_TASK ]] || FOUND_SLOT=$value
  done <"$file"
}

# Hosts that are not of the job are left to the ssh of the node, if it has one.
real_ssh() {
  local program role list=''
  while read -r program; do
    [[ $program -ef $ATTEMPT_FOLDER/bin/ssh ]] || exec "$program" "${@:2}"
  done < <(type -aP ssh)
  for role in "${!ROLE_NAME[@]}"; do list+=" ${ROLE_NAME[role]}-0"; ((INSTANCES[role] == 1)) || list+="..$((INSTANCES[role] - 1))"; done
  refuse "$1 is no task of this job; its tasks are$list"
}

# call_task ROLE SLOT COMMAND [TERMINAL]: what Slurm starts on the task's node rings there, and passes on what goes in and out. It
# is killed when this shell is gone. Its errors and those of srun come by different ways, since srun says what we know.
call_task() {
  local role=$1 slot=$2 name life hold shown errors input job watcher status
  local -a nodes options
  if [[ ${PAISLURM_INSIDE-} ]]; then
    place_call "$PAISLURM_BELL$OUT" "$role $slot"$'\n'"$3"
    exit
  fi
  read -ra nodes <<<"${NODES_OF[role]}"
  options=("--jobid=$JOB_ID" --overlap --mem=0 --gres=none --mpi=none --export=ALL --quiet --job-name=ssh
    "--nodelist=${nodes[slot]}" --nodes=1 --ntasks=1 --cpus-per-task=1 --cpu-bind=none --chdir=/)
  [[ $LAYOUT != het ]] || options+=("--het-group=$role")
  for name in "${!SLURM_@}" "${!SRUN_@}"; do [[ $name == SLURM_CONF ]] || unset "$name"; done
  [[ ! ${4-} ]] || exec srun "${options[@]}" --pty bash "$SCRIPT" --relay "$FOLDER" "$ATTEMPT" "$role.$slot" "$3" terminal \
    2> >(show_errors)
  make_pipe && life=$READ_END hold=$WRITE_END
  make_pipe && shown=$READ_END errors=$WRITE_END
  exec {input}<&0
  set -m
  srun "${options[@]}" --error="/dev/fd/$errors" bash "$SCRIPT" --relay "$FOLDER" "$ATTEMPT" "$role.$slot" "$3" \
    <&"$input" 2> >(exec {hold}>&- {errors}>&-; show_errors) {hold}>&- {life}<&- {shown}<&- {input}<&- &
  job=$!
  exec {errors}>&-
  cat <&"$shown" >&2 {hold}>&- {life}<&- {input}<&- &
  shown=$!
  kill_when_over "$life" "$job" {hold}>&- {input}<&- >/dev/null 2>&1 &
  watcher=$!
  # Bash may have something to say about its jobs.
  exec 2>/dev/null
  set +m
  await "$job"
  status=$?
  wait "$shown"
  kill -KILL -- "-$watcher"
  exit "$status"
}

# A call that comes out of a container, which has no Slurm: the task, and the command.
call_from_inside() {
  local role slot command
  { read -r role slot && IFS= read -r -d '' command; } <"$1/command"
  call_task "$role" "$slot" "$command"
}

# What srun itself has to say, but for how the command ended.
show_errors() {
  local line
  while IFS= read -r line; do [[ $line == *': task 0: '* ]] || printf '%s\n' "$line" >&2; done
}

# relay_main FOLDER ATTEMPT BELL COMMAND [terminal]: on the node of the task that is called.
relay_main() {
  open_attempt "$1" "$2" || exit 255
  if [[ ${5-} ]]; then relay_terminal "$CALLS/$3" "$4"; else place_call "$CALLS/$3" "$4"; fi
}
