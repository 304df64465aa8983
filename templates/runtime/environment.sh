# The variables of a job: env.sh holds those that all tasks share, a task adds its own.
# Source: OpenPAI environment variables, protocol v1 and v2.

# A value longer than this cannot pass execve(2) (MAX_ARG_STRLEN, 128 KiB with the name); it stays in the file.
readonly LONGEST_VALUE=131000
# Variables about peers, bytes in all, that are exported; a process may have 2 MiB of arguments and environment.
readonly MOST_PEER_BYTES=1048576

write_placement() {
  local role node
  {
    quote "$SECRETS_FOLDER"
    printf 'RUN_ID=%s\nJOB_ID=%s\nCALLS=%s\nSECRETS_FOLDER=%s\n' "$RUN_ID" "$SLURM_JOB_ID" "$CALLS" "$QUOTED"
    for role in "${!NODES_OF[@]}"; do printf "NODES_OF[%d]='%s'\n" "$role" "${NODES_OF[role]}"; done
    for node in "${!ADDRESS_OF[@]}"; do printf "ADDRESS_OF['%s']='%s'\n" "$node" "${ADDRESS_OF[$node]}"; done
  } >placement.sh || give_up "cannot write to $ATTEMPT_FOLDER"
}

write_environment() {
  local user=${SLURM_JOB_USER:-$(id -un)} name digest
  name=$user~$JOB_NAME
  read -r digest _ < <(printf '%s' "$name" | md5sum)
  {
    quote "$user"
    printf 'export PAI_USER_NAME=%s PAI_USERNAME=%s\n' "$QUOTED" "$QUOTED"
    emit_job_environment
    quote "$name"
    printf 'export PAI_FRAMEWORK_NAME=%s FRAMEWORK_NAME=%s\n' "$QUOTED" "$QUOTED"
    ((!FULL_JOB_NAME)) || printf 'export PAI_JOB_NAME=%s\n' "$QUOTED"
    printf 'export FC_FRAMEWORK_NAME=%s FC_FRAMEWORK_NAMESPACE=default FC_FRAMEWORK_ATTEMPT_ID=%s\n' "$digest" "$ATTEMPT"
    print_instances
    ((!GANG)) || print_peers
  } >env.sh.new || give_up "cannot write to $ATTEMPT_FOLDER"
  mv -- env.sh.new env.sh || give_up "cannot write to $ATTEMPT_FOLDER"
}

# PAI_TASK_ROLE_INSTANCES: "role:index" of every task, by the names that OpenPAI's controller gave the roles.
print_instances() {
  local role index name list='' prefix='export '
  for role in "${!ROLE_NAME[@]}"; do
    name=${ROLE_ALIASES[role]##* }
    for ((index = 0; index < INSTANCES[role]; index++)); do list+=${list:+,}$name:$index; done
  done
  ((${#list} < LONGEST_VALUE)) || prefix=''
  printf '%sPAI_TASK_ROLE_INSTANCES=%s\n' "$prefix" "$list"
}

# The variables about every task of every role, all of which are placed.
print_peers() {
  local role index label name lines='' port
  local -a nodes
  for role in "${!ROLE_NAME[@]}"; do
    read -ra nodes <<<"${NODES_OF[role]}"
    for index in "${!nodes[@]}"; do
      for name in ${ROLE_ALIASES[role]}; do
        lines+="PAI_HOST_IP_${name}_$index=${ADDRESS_OF[${nodes[index]}]}"$'\n'
        for label in ${PORT_COUNTS[role]}; do
          label=${label%:*}
          [[ $label != *[.~]* ]] || continue
          port=${PORTS_OF[$role.$index.$label]}
          lines+="PAI_PORT_LIST_${name}_${index}_$label=$port"$'\n'"PAI_${name}_${index}_${label}_PORT=$port"$'\n'
        done
      done
    done
  done
  ((${#lines} > MOST_PEER_BYTES)) || printf 'set -a\n'
  printf '%sset +a\n' "$lines"
  print_unnamed_ports
  print_host_lists
}

# A task finds its own ports in PAI_PORT_LIST_*, but for those that no variable can be named after.
print_unnamed_ports() {
  local role index label
  for role in "${!ROLE_NAME[@]}"; do
    for label in ${PORT_COUNTS[role]}; do
      label=${label%:*}
      [[ ! ${ROLE_ALIASES[role]} || $label == *[.~]* ]] || continue
      for ((index = 0; index < INSTANCES[role]; index++)); do
        printf "PORTS_OF['%s']=%s\n" "$role.$index.$label" "${PORTS_OF[$role.$index.$label]}"
      done
    done
  done
}

# PAI_TASK_ROLE_<role>_HOST_LIST: "address:first http port" of each task, by index. A role's name comes after all
# positions, because it may be the number of another one.
print_host_lists() {
  local role index name list prefix port named=''
  local -a nodes
  for role in "${!ROLE_NAME[@]}"; do
    read -ra nodes <<<"${NODES_OF[role]}"
    list=''
    for index in "${!nodes[@]}"; do
      port=${PORTS_OF[$role.$index.http]}
      list+=${list:+,}${ADDRESS_OF[${nodes[index]}]}:${port%%,*}
    done
    prefix='export '
    ((${#list} < LONGEST_VALUE)) || prefix=''
    printf '%sPAI_TASK_ROLE_%s_HOST_LIST=%s\n' "$prefix" "$role" "$list"
    for name in ${ROLE_ALIASES[role]}; do
      named+="${prefix}PAI_TASK_ROLE_${name}_HOST_LIST=$list"$'\n'
    done
  done
  printf '%s' "$named"
}

# The variables of one task; PORTS_OF holds its ports.
export_task_environment() {
  local role=$1 index=$2 attempt=$3 label list='' port
  local address=${ADDRESS_OF[$SLURMD_NODENAME]}
  export PAI_CURRENT_TASK_ROLE_CURRENT_TASK_INDEX=$index PAI_TASK_INDEX=$index PAI_TASK_ROLE_INDEX=$index
  export PAI_CONTAINER_ID=$RUN_ID.${ROLE_FOLDER[role]}.$index.$attempt
  export PAI_CONTAINER_HOST_IP=$address PAI_CURRENT_CONTAINER_IP=$address
  export FC_TASK_INDEX=$index FC_TASK_ATTEMPT_ID=$attempt PAI_WORK_DIR=$PWD
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
  export PAI_CONTAINER_SSH_PORT=${port%%,*} PATH=$ATTEMPT_FOLDER/bin:$PATH PAISLURM_BELL=$CALLS/$ROLE.$SLOT
  ((RANKS == 1)) || take_devices
  export NVIDIA_VISIBLE_DEVICES=${CUDA_VISIBLE_DEVICES:-none}
  "environment_of_role_$role"
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
