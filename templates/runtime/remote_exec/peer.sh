# Tell a command the address and ports of another task.

# peer_main FOLDER ATTEMPT ROLE INDEX: print "NAME=VALUE" for each variable about a task. ROLE is
# the name of a role, as in the job file or as in variables.
peer_main() {
  local role name index=${4-} alias=''
  open_attempt "$1" "$2" || exit
  for role in "${!PSL_ROLE_NAME[@]}"; do
    name=${PSL_ROLE_ALIASES[role]%% *}
    if [[ " ${PSL_ROLE_NAME[role]} ${PSL_ROLE_ALIASES[role]} " == *" ${3-} "* ]]; then
      alias=$name
      break
    fi
  done
  if [[ ! $alias || ! $index =~ ^(0|[1-9][0-9]{0,8})$ ]] || ((index >= PSL_INSTANCES[role])); then
    refuse "${3-}-$index is no task of this job (usage: paislurm-peer ROLE INDEX)"
  fi
  if ((PSL_GANG)); then
    grep -E "^PAI_((HOST_IP|PORT_LIST)_${alias}_$index(_|=)|${alias}_${index}_[^=]*_PORT=)" \
      "$PSL_ATTEMPT_FOLDER/peers.sh"
    return
  fi
  read_peers
  [[ ${PSL_PEER_OF[$role.$index]-} ]] || refuse "task ${PSL_ROLE_NAME[role]}-$index has not begun"
  describe_peer "$role" "$index"
  printf '%s\n' ${PSL_PEER_VARIABLES[@]+"${PSL_PEER_VARIABLES[@]}"}
}
