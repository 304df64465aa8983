# ssh without a daemon: `ssh ROLE-INDEX COMMAND` in a task, for people, mpirun, horovodrun and rsync.
# Source: ssh(1) of OpenSSH, for options and for the status 255 of what is not the command's own.

# All options of ssh; those that mean nothing here are passed over.
readonly SSH_OPTIONS=':46AaCfGgKkMNnqsTtVvXxYyB:b:c:D:E:e:F:I:i:J:L:l:m:O:o:P:p:Q:R:S:W:w:'
# What scp and sftp ask for, at the places where it is. Source: packages of OpenSSH of Debian, Red Hat, SUSE and Alpine.
# shellcheck disable=SC2016 # for the shell over there
readonly SFTP_SERVER='for file in /usr/lib/openssh /usr/libexec/openssh /usr/lib/ssh /usr/libexec; do
  [ ! -x "$file/sftp-server" ] || exec "$file/sftp-server"
done
echo "paislurm: ssh: there is no sftp-server where the task runs; scp -O copies without" >&2
exit 255'

# ssh_main FOLDER ATTEMPT [OPTION ...] [USER@]HOST [COMMAND ...]
ssh_main() {
  local letter host='' port='' input=1 behind='' terminal='' subsystem='' OPTIND=1
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
        s) subsystem=1 ;;
        D | L | O | R | W | w | N) refuse "-$letter is not possible without a daemon" ;;
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
  if [[ $subsystem ]]; then
    [[ $* == sftp ]] || refuse "there is no subsystem $* without a daemon"
    set -- "$SFTP_SERVER"
  fi
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
  local host=$1 port=$2 role index name
  case $host in localhost | 127.* | ::1) host=${PAI_CURRENT_TASK_ROLE_NAME-}-${PAI_CURRENT_TASK_ROLE_CURRENT_TASK_INDEX-} ;; esac
  for role in "${!ROLE_NAME[@]}"; do
    for name in "${ROLE_NAME[role]}" ${ROLE_ALIASES[role]}; do
      index=${host##*-}
      [[ ${host,,} == "${name,,}-$index" && $index =~ ^(0|[1-9][0-9]{0,8})$ ]] || continue
      find_slot "$role" "$index" && return
    done
  done
  for role in "${!ROLE_NAME[@]}"; do
    nodes_of "$role"
    for ((index = 0; index < INSTANCES[role]; index++)); do
      ((GANG)) || [[ -r $ATTEMPT_FOLDER/tasks/${ROLE_FOLDER[role]}/$index.env ]] || continue
      find_slot "$role" "$index"
      [[ $host == "${NODES[FOUND_SLOT]}" || $host == "${ADDRESS_OF[${NODES[FOUND_SLOT]}]}" ]] || continue
      [[ $port && $port != 22 && ,$FOUND_PORTS, != *",$port,"* ]] || return 0
    done
  done
  return 1
}

# find_slot ROLE INDEX: in FOUND_SLOT, and the ssh ports of the task in FOUND_PORTS. Without gang allocation the slot that a
# task has, or had last, is in the file that it left.
find_slot() {
  local ports=PAI_PORT_LIST_${ROLE_ALIASES[$1]%% *}_$2_ssh name value
  FOUND_ROLE=$1 FOUND_SLOT=$2 FOUND_PORTS=${!ports-}
  (($2 < INSTANCES[$1])) || return
  ((!GANG)) || return 0
  local file=$ATTEMPT_FOLDER/tasks/${ROLE_FOLDER[$1]}/$2.env
  [[ -r $file ]] || refuse "task ${ROLE_NAME[$1]}-$2 has not begun"
  while IFS='=' read -r name value; do
    case $name in SLOT_OF_TASK) FOUND_SLOT=$value ;; "$ports") FOUND_PORTS=$value ;; esac
  done <"$file"
}

# Hosts that are not of the job are left to the ssh of the node, if it has one.
real_ssh() {
  local program role list=''
  local -a programs
  mapfile -t programs < <(type -aP ssh)
  for program in ${programs[@]+"${programs[@]}"}; do
    [[ $program -ef $ATTEMPT_FOLDER/bin/ssh ]] || exec "$program" "${@:2}"
  done
  for role in "${!ROLE_NAME[@]}"; do list+=" ${ROLE_NAME[role]}-0"; ((INSTANCES[role] == 1)) || list+="..$((INSTANCES[role] - 1))"; done
  refuse "$1 is no task of this job; its tasks are$list"
}
