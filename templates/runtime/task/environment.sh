# Set the environment variables of a task.
#
# env.sh sets the variables that all tasks share, and each task adds its own.
# Source: OpenPAI environment variables, protocol v1 and v2.

# read_environment: read the shared variables, and put this task's ports into PSL_PORTS_OF.
read_environment() {
  local line
  # shellcheck source=/dev/null # written by write_environment
  source "$PSL_ATTEMPT_FOLDER/env.sh" || return
  read_own_peers && return  # only: slots
  # The first task of the node found the ports of all.
  read -r line <"$PSL_NODE_FOLDER/$PSL_ROLE.$PSL_SLOT.ports" || return
  # shellcheck disable=SC2086 # words
  remember_ports $line
}

# remember_ports ROLE INDEX LABEL:N,N ...: fill PSL_PORTS_OF with the ports of a task. A list that
# begins with `+` continues the previous list of its label.
remember_ports() {
  local ports key
  for ports in "${@:3}"; do
    key=$1.$2.${ports%%:*} ports=${ports#*:}
    if [[ $ports == +* ]]; then
      ports=${PSL_PORTS_OF[$key]},${ports#+}
    fi
    PSL_PORTS_OF[$key]=$ports
  done
}

# export_task_environment ROLE INDEX ATTEMPT: export the task's own variables. PSL_PORTS_OF must
# contain the task's ports.
export_task_environment() {
  local role=$1 index=$2 attempt=$3
  local address=${PSL_ADDRESS_OF[$SLURMD_NODENAME]} programs=$PSL_ATTEMPT_FOLDER/bin
  export PAI_CURRENT_TASK_ROLE_CURRENT_TASK_INDEX=$index
  export PAI_TASK_INDEX=$index PAI_TASK_ROLE_INDEX=$index
  export PAI_CONTAINER_ID=$PSL_RUN_ID.${PSL_ROLE_FOLDER[role]}.$index.$attempt
  export PAI_CONTAINER_HOST_IP=$address PAI_CURRENT_CONTAINER_IP=$address
  export FC_TASK_INDEX=$index FC_TASK_ATTEMPT_ID=$attempt PAI_WORK_DIR=$PWD
  export PAISLURM_SUBMIT_DIR=$PSL_SUBMIT_DIR
  if ((PSL_GANG)); then
    export PAISLURM_PEERS=$PSL_ATTEMPT_FOLDER/peers.sh
    export PAISLURM_DISCOVER_HOSTS=$PSL_ATTEMPT_FOLDER/bin/discover_hosts.sh  # only: spare
  fi
  export_own_variables "$role" "$index" "$address"
  export PAISLURM_CONTROL=$PSL_NODE_FOLDER/$PSL_ROLE.$PSL_SLOT
  # A colon separates the folders of PATH, so a folder with a colon in its name gets a link.
  if [[ $programs == *:* ]]; then
    programs=$PSL_NODE_FOLDER/$PSL_ROLE.$PSL_SLOT.bin
    ln -sfn -- "$PSL_ATTEMPT_FOLDER/bin" "$programs"
  fi
  export PATH=$programs:$PATH
  "environment_of_role_$role"
  # Keep a value of the submitting shell or the image; variables of the job come later.
  if [[ ${PSL_BINDING[role]-} != *none* && ! ${OMP_NUM_THREADS-} ]]; then
    export OMP_NUM_THREADS=$((${PAI_TASK_CPU_NUM:-1} / ${PSL_RANKS_OF[role]:-1}))
  fi
  export_adapters "$role"  # only: infiniband
  if [[ ! ${GLOO_SOCKET_IFNAME-} && -s $PSL_NODE_FOLDER/gloo ]]; then
    read -r GLOO_SOCKET_IFNAME <"$PSL_NODE_FOLDER/gloo"
    export GLOO_SOCKET_IFNAME
  fi
}

# export_port_variables ROLE INDEX: export the variables that name the task's ports.
export_port_variables() {
  local role=$1 index=$2 label list='' port
  for label in ${PSL_PORT_COUNTS[role]}; do
    label=${label%:*}
    port=${PSL_PORTS_OF[$role.$index.$label]}
    list+="$label:$port;"
    # The name of a variable cannot contain these characters.
    if [[ $label != *[.~]* ]]; then
      export "PAI_CONTAINER_HOST_${label}_PORT_LIST=$port"
    fi
  done
  export PAI_CONTAINER_HOST_PORT_LIST=$list
  port=${PSL_PORTS_OF[$role.$index.http]}
  export PAI_CONTAINER_HOST_PORT=${port%%,*} PAI_CURRENT_CONTAINER_PORT=${port%%,*}
  port=${PSL_PORTS_OF[$role.$index.ssh]}
  export PAI_CONTAINER_SSH_PORT=${port%%,*}
}

# export_own_variables ROLE INDEX ADDRESS: export the variables about the task's ports, and those
# with its name: the variables about all tasks may be too many.
export_own_variables() {
  export_port_variables "$1" "$2"
  describe_task "$@"
  if ((${#PSL_TASK_VARIABLES[@]})); then
    export "${PSL_TASK_VARIABLES[@]}"
  fi
}

# describe_task ROLE INDEX ADDRESS: fill PSL_TASK_VARIABLES with "NAME=VALUE" for the address and
# the ports of a task.
describe_task() {
  local role=$1 index=$2 name label port
  PSL_TASK_VARIABLES=()
  for name in ${PSL_ROLE_ALIASES[role]}; do
    PSL_TASK_VARIABLES+=("PAI_HOST_IP_${name}_$index=$3")
    for label in ${PSL_PORT_COUNTS[role]}; do
      label=${label%:*}
      if [[ $label != *[.~]* ]]; then
        port=${PSL_PORTS_OF[$role.$index.$label]}
        PSL_TASK_VARIABLES+=("PAI_PORT_LIST_${name}_${index}_$label=$port")
        PSL_TASK_VARIABLES+=("PAI_${name}_${index}_${label}_PORT=$port")
      fi
    done
  done
}

# take_devices ROLE: expose the task's GPUs, which Slurm lists, and hide the others. For a task
# without GPUs Slurm sets no list, so a library would see every GPU.
# Source: OpenPAI environment variables.
take_devices() {
  local name=CUDA_VISIBLE_DEVICES
  # HIP reads its list as positions in ROCm's list, so setting both would be wrong.
  unset HIP_VISIBLE_DEVICES
  if [[ $PSL_GPU_VENDOR == amd ]]; then
    name=ROCR_VISIBLE_DEVICES
    unset CUDA_VISIBLE_DEVICES GPU_DEVICE_ORDINAL
  fi
  if ((PSL_ROLE_GPUS[$1])); then
    take_gpus "$name" "$1"
  else
    export "$name=" NVIDIA_VISIBLE_DEVICES=none
  fi
}
