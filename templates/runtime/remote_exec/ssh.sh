# Provide ssh between tasks without a daemon. `ssh ROLE-INDEX COMMAND` works in every task, for
# users, mpirun, horovodrun and rsync.
# Source: ssh(1) of OpenSSH, for options and for the status 255 of what is not the command's own.

# The program that scp and sftp request, by its path in the distributions.
# Source: packages of OpenSSH of Debian, Red Hat, SUSE and Alpine.
# shellcheck disable=SC2016 # for the shell of the other task
readonly PSL_SFTP_SERVER='for file in /usr/lib/openssh /usr/libexec/openssh /usr/lib/ssh \
  /usr/libexec; do
  [ ! -x "$file/sftp-server" ] || exec "$file/sftp-server"
done
echo "paislurm: ssh: there is no sftp-server where the task runs; scp -O copies without" >&2
exit 255'

# ssh_main FOLDER ATTEMPT [OPTION ...] [USER@]HOST [COMMAND ...]: run a command, or else a shell, in
# the task that HOST names. For other hosts, and to print settings, run the ssh of the node.
ssh_main() {
  open_attempt "$1" "$2" || exit 255
  shift 2
  read_ssh_arguments "$@"
  if [[ $PSL_SSH_QUERY ]]; then
    real_ssh "$PSL_SSH_QUERY needs OpenSSH, which is not here" "$@"
  fi
  [[ $PSL_SSH_HOST ]] || refuse "usage: ssh [options] ROLE-INDEX [command]"
  find_task "$PSL_SSH_HOST" "$PSL_SSH_PORT" || real_ssh "" "$@"
  if [[ $PSL_SSH_FORWARD && $PSL_SSH_CLEAR != yes ]]; then
    needs_daemon "$PSL_SSH_FORWARD"
  fi
  if [[ $PSL_SSH_REFUSAL ]]; then
    refuse "$PSL_SSH_REFUSAL"
  fi
  set_remote_command
  [[ $PSL_SSH_INPUT ]] || exec </dev/null
  if [[ $PSL_SSH_BACKGROUND ]]; then
    [[ $PSL_SSH_COMMAND ]] || refuse "-f needs a command"
    # The caller sees no later status, so wait until the task answers.
    (exec_in_task "$PSL_FOUND_ROLE" "$PSL_FOUND_SLOT" :) || exit
    exec_in_task "$PSL_FOUND_ROLE" "$PSL_FOUND_SLOT" "$PSL_SSH_COMMAND" &
    exit 0
  fi
  if [[ ! $PSL_SSH_COMMAND ]]; then
    PSL_SSH_COMMAND='exec bash'
    : "${PSL_SSH_TERMINAL:=yes}"
  fi
  if [[ $PSL_SSH_TERMINAL != yes || ! -t 0 || ! -t 1 ]]; then
    PSL_SSH_TERMINAL=''
  fi
  exec_in_task "$PSL_FOUND_ROLE" "$PSL_FOUND_SLOT" "$PSL_SSH_COMMAND" "$PSL_SSH_TERMINAL"
}

# set_remote_command: replace PSL_SSH_COMMAND by the command of a setting or a subsystem.
set_remote_command() {
  if [[ ${PSL_SSH_REMOTE:-none} != none ]]; then
    if [[ $PSL_SSH_COMMAND ]]; then
      refuse "RemoteCommand cannot be used with a command"
    fi
    PSL_SSH_COMMAND=$PSL_SSH_REMOTE
  fi
  if [[ $PSL_SSH_SUBSYSTEM ]]; then
    [[ $PSL_SSH_COMMAND == sftp ]] || refuse "subsystem $PSL_SSH_COMMAND needs a daemon"
    PSL_SSH_COMMAND=$PSL_SFTP_SERVER
  fi
}

# refuse REASON: exit like OpenSSH when it cannot run a command.
refuse() {
  log "ssh: $1"
  exit 255
}

# find_task HOST PORT: set PSL_FOUND_ROLE and PSL_FOUND_SLOT to the task that ssh names by its
# alias, or by its address and ssh port. An address alone names the first task on the node,
# `localhost` the calling task, and `localhost` with a port the task of this node with this port.
find_task() {
  local host=$1
  case $host in
    localhost | 127.* | ::1)
      if [[ $2 && $2 != 22 ]]; then
        find_task_by_address "${SLURMD_NODENAME:-localhost}" "$2"
        return
      fi
      host=${PAI_CURRENT_TASK_ROLE_NAME-}-${PAI_CURRENT_TASK_ROLE_CURRENT_TASK_INDEX-}
      ;;
  esac
  find_task_by_alias "$host" || find_task_by_address "$host" "$2"
}

# find_task_by_alias ROLE-INDEX: find a task by its role's name or alias, ignoring case.
find_task_by_alias() {
  local role index=${1##*-} name
  for role in "${!PSL_ROLE_NAME[@]}"; do
    for name in "${PSL_ROLE_NAME[role]}" ${PSL_ROLE_ALIASES[role]}; do
      [[ ${1,,} == "${name,,}-$index" && $index =~ ^(0|[1-9][0-9]{0,8})$ ]] || continue
      find_slot "$role" "$index" && return
    done
  done
  return 1
}

# find_task_by_address HOST PORT: find a task by the name or address of its node.
find_task_by_address() {
  local host=$1 port=$2 role index node
  if ((PSL_GANG)) && [[ $port && $port != 22 ]]; then
    # shellcheck source=/dev/null # written by write_peers
    source "$PSL_ATTEMPT_FOLDER/peers.sh"
  elif ((!PSL_GANG)); then
    read_peers
  fi
  for role in "${!PSL_ROLE_NAME[@]}"; do
    nodes_of "$role"
    for ((index = 0; index < PSL_INSTANCES[role]; index++)); do
      if ((!PSL_GANG)); then
        [[ ${PSL_PEER_OF[$role.$index]-} ]] || continue
      fi
      find_slot "$role" "$index"
      node=${PSL_NODES[PSL_FOUND_SLOT]}
      [[ $host == "$node" || $host == "${PSL_ADDRESS_OF[$node]}" ]] || continue
      if [[ ! $port || $port == 22 || ,$PSL_FOUND_PORTS, == *",$port,"* ]]; then
        return 0
      fi
    done
  done
  return 1
}

# find_slot ROLE INDEX: set PSL_FOUND_SLOT to the slot of a task, and PSL_FOUND_PORTS to its ssh
# ports. Without gang allocation read the task's current or last slot from the file of its node.
find_slot() {
  local ports=PAI_PORT_LIST_${PSL_ROLE_ALIASES[$1]%% *}_$2_ssh
  PSL_FOUND_ROLE=$1 PSL_FOUND_SLOT=$2 PSL_FOUND_PORTS=${!ports-}
  (($2 < PSL_INSTANCES[$1])) || return
  if ((PSL_GANG)); then
    return 0
  fi
  if ((!${#PSL_PEER_OF[@]})); then
    read_peers
  fi
  [[ ${PSL_PEER_OF[$1.$2]-} ]] || refuse "task ${PSL_ROLE_NAME[$1]}-$2 has not begun"
  describe_peer "$1" "$2"
  PSL_FOUND_SLOT=$PSL_PEER_SLOT PSL_FOUND_PORTS=$PSL_PEER_SSH
}

# real_ssh REFUSAL ARGUMENT ...: become the ssh of the node, with the same arguments. If the node
# has none, refuse; without REFUSAL because the host is no task.
real_ssh() {
  local program role list=''
  local -a programs
  mapfile -t programs < <(type -aP ssh)
  set_user_umask
  for program in ${programs[@]+"${programs[@]}"}; do
    [[ $program -ef $PSL_ATTEMPT_FOLDER/bin/ssh ]] || exec "$program" "${@:2}"
  done
  for role in "${!PSL_ROLE_NAME[@]}"; do
    list+=" ${PSL_ROLE_NAME[role]}-0"
    if ((PSL_INSTANCES[role] > 1)); then
      list+="..$((PSL_INSTANCES[role] - 1))"
    fi
  done
  refuse "${1:-$PSL_SSH_HOST is no task of this job; its tasks are$list}"
}
