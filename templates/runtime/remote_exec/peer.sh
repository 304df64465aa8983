# Print the address and ports of another task, for commands.

# peer_main FOLDER ATTEMPT ROLE INDEX: print "NAME=VALUE" for each variable about a task. ROLE is
# the name of a role, as in the job file or as in variables.
peer_main() {
  local task=${3-}-${4-} name
  open_attempt "$1" "$2" || exit
  if ! find_task_by_alias "$task" || [[ ! ${PSL_ROLE_ALIASES[PSL_FOUND_ROLE]} ]]; then
    refuse "$task is no task of this job (usage: paislurm-peer ROLE INDEX)"
  fi
  if ((!PSL_GANG)); then
    printf '%s\n' ${PSL_TASK_VARIABLES[@]+"${PSL_TASK_VARIABLES[@]}"}
    return
  fi
  name=${PSL_ROLE_ALIASES[PSL_FOUND_ROLE]%% *}
  grep -E "^PAI_((HOST_IP|PORT_LIST)_${name}_$4(_|=)|${name}_$4_[^=]*_PORT=)" \
    "$PSL_ATTEMPT_FOLDER/peers.sh"
}
