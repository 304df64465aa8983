# The variables of a task: env.sh has what all tasks share, it adds its own. Without gang allocation what is known of other
# tasks comes from files that those left which began before.
# Source: OpenPAI environment variables, protocol v1 and v2.

# is_listed NAME: extras.slurm.exportEnv names a variable, or a beginning that it has.
is_listed() {
  # shellcheck disable=SC2053 # patterns
  [[ $1 == @(${EXPORT_ENV-}) ]]
}

# read_environment INDEX: what all tasks share, and in PORTS_OF the ports of this one.
read_environment() {
  # shellcheck source=/dev/null # written by write_environment
  source "$ATTEMPT_FOLDER/env.sh" || return
  if ((GANG)); then
    read_own_ports "$1"
  else
    remember_ports "${PORT_LINES[@]}"
    source_known_peers
  fi
}

# Fill PORTS_OF from "ROLE INDEX LABEL N,N" lines.
remember_ports() {
  local line role index label ports
  for line; do
    read -r role index label ports <<<"$line"
    PORTS_OF[$role.$index.$label]=$ports
  done
}

read_own_ports() {
  local index=$1 label name
  for label in ${PORT_COUNTS[ROLE]}; do
    label=${label%:*}
    [[ ! ${PORTS_OF[$ROLE.$index.$label]-} ]] || continue
    name=PAI_PORT_LIST_${ROLE_ALIASES[ROLE]%% *}_${index}_$label
    PORTS_OF[$ROLE.$index.$label]=${!name}
  done
}

# The variables of one task; PORTS_OF holds its ports.
export_task_environment() {
  local role=$1 index=$2 attempt=$3 label list='' port
  local address=${ADDRESS_OF[$SLURMD_NODENAME]} programs=$ATTEMPT_FOLDER/bin
  export PAI_CURRENT_TASK_ROLE_CURRENT_TASK_INDEX=$index PAI_TASK_INDEX=$index PAI_TASK_ROLE_INDEX=$index
  export PAI_CONTAINER_ID=$RUN_ID.${ROLE_FOLDER[role]}.$index.$attempt
  export PAI_CONTAINER_HOST_IP=$address PAI_CURRENT_CONTAINER_IP=$address
  export FC_TASK_INDEX=$index FC_TASK_ATTEMPT_ID=$attempt PAI_WORK_DIR=$PWD PAISLURM_SUBMIT_DIR=$SUBMIT_DIR
  for label in ${PORT_COUNTS[role]}; do
    label=${label%:*}
    port=${PORTS_OF[$role.$index.$label]}
    list+="$label:$port;"
    [[ $label == *[.~]* ]] || export "PAI_CONTAINER_HOST_${label}_PORT_LIST=$port"
  done
  export PAI_CONTAINER_HOST_PORT_LIST=$list
  port=${PORTS_OF[$role.$index.http]}
  export PAI_CONTAINER_HOST_PORT=${port%%,*} PAI_CURRENT_CONTAINER_PORT=${port%%,*}
  port=${PORTS_OF[$role.$index.ssh]}
  export PAI_CONTAINER_SSH_PORT=${port%%,*} PAISLURM_BELL=$CALLS/$ROLE.$SLOT
  # Between colons are the folders of PATH.
  [[ $programs != *:* ]] || { programs=$CALLS/$ROLE.$SLOT.bin && ln -sfn -- "$ATTEMPT_FOLDER/bin" "$programs"; }
  export PATH=$programs:$PATH
  "environment_of_role_$role"
  name_gloo_interface "$address"
}

# name_gloo_interface ADDRESS [HOSTS ROUTES]: Gloo takes the interface of the node's own name. Where that is a loopback
# address, as Debian has it, tell it the interface that has the node's address, unless something else is said already.
# Source: PyTorch, torch.distributed, choosing the network interface to use; proc(5), net/route.
name_gloo_interface() {
  local hosts=${2:-/etc/hosts} routes=${3:-/proc/net/route} text own loopback address interface network gateway mask
  local -a bytes
  [[ ! ${GLOO_SOCKET_IFNAME-} && $1 == *.*.*.* && -r $hosts && -r $routes ]] || return 0
  # HOSTNAME is what Slurm has set for the batch script.
  read -r own </proc/sys/kernel/hostname
  IFS= read -r -d '' text <"$hosts"
  loopback=$'(^|\n)127\\.[^\n]*[ \t]'$own$'([ \t\n]|$)'
  [[ $text =~ $loopback ]] || return 0
  IFS=. read -ra bytes <<<"$1"
  # Networks that need no gateway; their numbers have the first byte last.
  address=$((bytes[0] | bytes[1] << 8 | bytes[2] << 16 | bytes[3] << 24))
  while read -r interface network gateway _ _ _ _ mask _; do
    [[ $gateway == 00000000 && $mask != 00000000 ]] || continue
    (((address & 16#$mask) != 16#$network)) || { export GLOO_SOCKET_IFNAME=$interface; return; }
  done <"$routes"
}

# Gang off: what is known of the tasks that have started so far, each from a file that it left.
source_known_peers() {
  local role index name file list
  local -a files
  for role in "${!ROLE_NAME[@]}"; do
    files=()
    for file in "$ATTEMPT_FOLDER/tasks/${ROLE_FOLDER[role]}"/*.env; do
      [[ ! -e $file ]] || files+=("$file")
    done
    list=''
    for ((index = 0; index < INSTANCES[role] && ${#files[@]}; index++)); do
      file=$ATTEMPT_FOLDER/tasks/${ROLE_FOLDER[role]}/$index.env
      # shellcheck source=/dev/null # written by our own tasks
      [[ ! -e $file ]] || { set -a && source "$file" && set +a && list+=${list:+,}$HTTP_ADDRESS; }
    done
    unset HTTP_ADDRESS SLOT_OF_TASK
    for name in ${ROLE_ALIASES[role]} "$role"; do
      export "PAI_TASK_ROLE_${name}_HOST_LIST=$list"
    done
  done
}

# Gang off: leave this task's address and ports where tasks that start later find them.
leave_peer_file() {
  local role=$1 index=$2 name label port file
  file=$ATTEMPT_FOLDER/tasks/${ROLE_FOLDER[role]}/$index.env
  {
    for name in ${ROLE_ALIASES[role]}; do
      printf 'PAI_HOST_IP_%s_%s=%s\n' "$name" "$index" "${ADDRESS_OF[$SLURMD_NODENAME]}"
      for label in ${PORT_COUNTS[role]}; do
        label=${label%:*} port=${PORTS_OF[$role.$index.${label%:*}]}
        printf 'PAI_PORT_LIST_%s_%s_%s=%s\n' "$name" "$index" "$label" "$port"
        printf 'PAI_%s_%s_%s_PORT=%s\n' "$name" "$index" "$label" "$port"
      done
    done
    port=${PORTS_OF[$role.$index.http]}
    printf 'HTTP_ADDRESS=%s:%s\nSLOT_OF_TASK=%s\n' "${ADDRESS_OF[$SLURMD_NODENAME]}" "${port%%,*}" "$SLOT"
  } >"$file.new" && mv -- "$file.new" "$file"
}
