# ssh without a daemon: `ssh ROLE-INDEX COMMAND` in a task, for people, mpirun, horovodrun and rsync.
# Source: ssh(1) of OpenSSH, for options and for the status 255 of what is not the command's own.

# All options of ssh; those that mean nothing here are passed over.
readonly PSL_SSH_OPTIONS=':46AaCfGgKkMNnqsTtVvXxYyB:b:c:D:E:e:F:I:i:J:L:l:m:O:o:P:p:Q:R:S:W:w:'
# What scp and sftp ask for, at the places where it is. Source: packages of OpenSSH of Debian, Red Hat, SUSE and Alpine.
# shellcheck disable=SC2016 # for the shell over there
readonly PSL_SFTP_SERVER='for file in /usr/lib/openssh /usr/libexec/openssh /usr/lib/ssh /usr/libexec; do
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
    while getopts "$PSL_SSH_OPTIONS" letter "$@"; do
      case $letter in
        n) input='' ;;
        f) input='' behind=1 ;;
        p) port=$OPTARG ;;
        t) terminal=1 ;;
        T) terminal=no ;;
        s) subsystem=1 ;;
        D | L | O | R | W | w | N) refuse "-$letter is not possible without a daemon" ;;
        V) log "ssh of the job, without a daemon"; exit 0 ;;
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
    set -- "$PSL_SFTP_SERVER"
  fi
  [[ $input ]] || exec </dev/null
  (($#)) || { set -- 'exec bash' && terminal=${terminal:-1}; }
  [[ $terminal == 1 && -t 0 && -t 1 ]] || terminal=''
  if [[ $behind ]]; then
    exec_in_task "$PSL_FOUND_ROLE" "$PSL_FOUND_SLOT" "$*" &
    exit 0
  fi
  exec_in_task "$PSL_FOUND_ROLE" "$PSL_FOUND_SLOT" "$*" "$terminal"
}

refuse() {
  log "ssh: $1"
  exit 255
}

# find_task HOST PORT: in PSL_FOUND_ROLE and PSL_FOUND_SLOT. A task is named by its alias, or by its address and ssh port; an
# address alone means the first task there, and `localhost` the task that asks.
find_task() {
  local host=$1 port=$2 role index name
  case $host in localhost | 127.* | ::1) host=${PAI_CURRENT_TASK_ROLE_NAME-}-${PAI_CURRENT_TASK_ROLE_CURRENT_TASK_INDEX-} ;; esac
  for role in "${!PSL_ROLE_NAME[@]}"; do
    for name in "${PSL_ROLE_NAME[role]}" ${PSL_ROLE_ALIASES[role]}; do
      index=${host##*-}
      [[ ${host,,} == "${name,,}-$index" && $index =~ ^(0|[1-9][0-9]{0,8})$ ]] || continue
      find_slot "$role" "$index" && return
    done
  done
  for role in "${!PSL_ROLE_NAME[@]}"; do
    nodes_of "$role"
    for ((index = 0; index < PSL_INSTANCES[role]; index++)); do
      ((PSL_GANG)) || [[ -r $PSL_ATTEMPT_FOLDER/tasks/${PSL_ROLE_FOLDER[role]}/$index.env ]] || continue
      find_slot "$role" "$index"
      [[ $host == "${PSL_NODES[PSL_FOUND_SLOT]}" || $host == "${PSL_ADDRESS_OF[${PSL_NODES[PSL_FOUND_SLOT]}]}" ]] || continue
      [[ $port && $port != 22 && ,$PSL_FOUND_PORTS, != *",$port,"* ]] || return 0
    done
  done
  return 1
}

# find_slot ROLE INDEX: in PSL_FOUND_SLOT, and the ssh ports of the task in PSL_FOUND_PORTS. Without gang allocation the slot that a
# task has, or had last, is in the file that it left.
find_slot() {
  local ports=PAI_PORT_LIST_${PSL_ROLE_ALIASES[$1]%% *}_$2_ssh name value
  PSL_FOUND_ROLE=$1 PSL_FOUND_SLOT=$2 PSL_FOUND_PORTS=${!ports-}
  (($2 < PSL_INSTANCES[$1])) || return
  if ((PSL_GANG)); then
    return 0
  fi
  local file=$PSL_ATTEMPT_FOLDER/tasks/${PSL_ROLE_FOLDER[$1]}/$2.env
  [[ -r $file ]] || refuse "task ${PSL_ROLE_NAME[$1]}-$2 has not begun"
  while IFS='=' read -r name value; do
    case $name in PSL_SLOT_OF_TASK) PSL_FOUND_SLOT=$value ;; "$ports") PSL_FOUND_PORTS=$value ;; esac
  done <"$file"
}

# Hosts that are not of the job are left to the ssh of the node, if it has one.
real_ssh() {
  local program role list=''
  local -a programs
  mapfile -t programs < <(type -aP ssh)
  for program in ${programs[@]+"${programs[@]}"}; do
    [[ $program -ef $PSL_ATTEMPT_FOLDER/bin/ssh ]] || exec "$program" "${@:2}"
  done
  for role in "${!PSL_ROLE_NAME[@]}"; do list+=" ${PSL_ROLE_NAME[role]}-0"; ((PSL_INSTANCES[role] == 1)) || list+="..$((PSL_INSTANCES[role] - 1))"; done
  refuse "$1 is no task of this job; its tasks are$list"
}
