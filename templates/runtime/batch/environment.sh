# The variables of a job: env.sh holds those that all tasks share, a task adds its own.
# Source: OpenPAI environment variables, protocol v1 and v2.

# Variables about peers, bytes in all, that are exported; a process may have 2 MiB of arguments and environment.
readonly MOST_PEER_BYTES=1048576

write_placement() {
  local role node
  JOB_USER=${SLURM_JOB_USER:-$(id -un)}
  {
    printf 'RUN_ID=%s\nJOB_ID=%s\nCALLS=%s\n' "$RUN_ID" "$SLURM_JOB_ID" "$CALLS"
    quote "$SECRETS_FOLDER"
    printf 'SECRETS_FOLDER=%s\n' "$QUOTED"
    quote "$SUBMIT_DIR"
    printf 'SUBMIT_DIR=%s\n' "$QUOTED"
    quote "$JOB_USER"
    printf 'JOB_USER=%s\n' "$QUOTED"
    for role in "${!NODES_OF[@]}"; do printf "NODES_OF[%d]='%s'\n" "$role" "${NODES_OF[role]}"; done
    for node in "${!ADDRESS_OF[@]}"; do printf "ADDRESS_OF['%s']='%s'\n" "$node" "${ADDRESS_OF[$node]}"; done
    [[ ! ${GPU_GRES-} ]] || print_gpus_on_nodes
    print_submitted
  } >placement.sh || give_up "cannot write to $ATTEMPT_FOLDER"
}

# SUBMITTED, for the tasks.
print_submitted() {
  local setting
  for setting in ${SUBMITTED[@]+"${SUBMITTED[@]}"}; do
    quote "$setting"
    printf 'SUBMITTED+=(%s)\n' "$QUOTED"
  done
}

write_environment() {
  local name=$JOB_USER~$JOB_NAME digest
  read -r digest _ < <(printf '%s' "$name" | md5sum)
  {
    quote "$JOB_USER"
    printf 'export PAI_USER_NAME=%s PAI_USERNAME=%s\n' "$QUOTED" "$QUOTED"
    emit_job_environment
    quote "$name"
    printf 'export PAI_FRAMEWORK_NAME=%s FRAMEWORK_NAME=%s\n' "$QUOTED" "$QUOTED"
    ((!FULL_JOB_NAME)) || printf 'export PAI_JOB_NAME=%s\n' "$QUOTED"
    printf 'export FC_FRAMEWORK_NAME=%s FC_FRAMEWORK_NAMESPACE=default FC_FRAMEWORK_ATTEMPT_ID=%s\n' "$digest" "$ATTEMPT"
    print_instances
    print_mpi_settings
    ((!GANG)) || print_peers
  } >env.sh.new || give_up "cannot write to $ATTEMPT_FOLDER"
  mv -- env.sh.new env.sh || give_up "cannot write to $ATTEMPT_FOLDER"
}

# To Open MPI 5 what has one host name is one node, but for its daemons, of which each task that is called has one. Ranks of
# two tasks on a node would share what each daemon made for its own alone: they crash in the shared memory of btl/sm, and
# never agree in coll/han. Where tasks share nodes, their ranks talk by TCP or UCX, and in flat collectives.
# Source: runs of Open MPI 5.0.7; ompi_info --all, btl_sm_exclusivity and coll_han_priority.
print_mpi_settings() {
  local role node
  local -A taken=()
  for role in "${!NODES_OF[@]}"; do
    for node in ${NODES_OF[role]}; do
      if [[ ${taken[$node]-} ]]; then
        printf 'export OMPI_MCA_btl_sm_exclusivity=0 OMPI_MCA_coll_han_priority=0\n'
        return
      fi
      taken[$node]=1
    done
  done
}

# PAI_TASK_ROLE_INSTANCES: "role:index" of every task, by the names that OpenPAI's controller gave the roles; one that
# it had none for, as `..` of protocol v1, stands under its own.
print_instances() {
  local role index name list='' prefix='export '
  for role in "${!ROLE_NAME[@]}"; do
    name=${ROLE_ALIASES[role]##* }
    name=${name:-${ROLE_NAME[role]}}
    for ((index = 0; index < INSTANCES[role]; index++)); do list+=${list:+,}$name:$index; done
  done
  ((${#list} < LONGEST_VALUE)) || prefix=''
  quote "$list"
  printf '%sPAI_TASK_ROLE_INSTANCES=%s\n' "$prefix" "$QUOTED"
}

# The variables about every task of every role, all of which are placed.
print_peers() {
  local role index label name lines='' port
  for role in "${!ROLE_NAME[@]}"; do
    nodes_of "$role"
    for index in "${!NODES[@]}"; do
      for name in ${ROLE_ALIASES[role]}; do
        lines+="PAI_HOST_IP_${name}_$index=${ADDRESS_OF[${NODES[index]}]}"$'\n'
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
  for role in "${!ROLE_NAME[@]}"; do
    nodes_of "$role"
    list=''
    for index in "${!NODES[@]}"; do
      port=${PORTS_OF[$role.$index.http]}
      list+=${list:+,}${ADDRESS_OF[${NODES[index]}]}:${port%%,*}
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

# Names of the tasks for the containers, after those that the node knows: nothing else knows them there.
write_hosts() {
  [[ $CONTAINER_RUNTIME != none ]] || return 0
  local role index name
  ((GANG)) || { : >"$ATTEMPT_FOLDER/hosts"; return; }
  for role in "${!ROLE_NAME[@]}"; do
    nodes_of "$role"
    for index in "${!NODES[@]}"; do
      for name in ${ROLE_ALIASES[role]}; do printf '%s %s-%s\n' "${ADDRESS_OF[${NODES[index]}]}" "$name" "$index"; done
    done
  done >"$ATTEMPT_FOLDER/hosts"
}

# Left in the attempt's folder, first on the PATH of every task: ssh, and what copies by it.
write_ssh() {
  local folder=$ATTEMPT_FOLDER/bin
  {
    quote "$SCRIPT"
    printf '#!/usr/bin/env bash\nexec bash -p %s --ssh ' "$QUOTED"
    quote "$FOLDER"
    printf '%s %s "$@"\n' "$QUOTED" "$ATTEMPT"
  } >"$folder/ssh" && print_copier >"$folder/scp" && print_copier >"$folder/sftp" && chmod 0700 "$folder"/{ssh,scp,sftp}
}

# scp and sftp know one ssh alone, /usr/bin/ssh, unless they are told. Source: scp(1), sftp(1), -S.
print_copier() {
  emit <<'END_OF_COPIER'
#!/usr/bin/env bash
mapfile -t programs < <(type -aP "${0##*/}")
for program in ${programs[@]+"${programs[@]}"}; do
  [[ $program -ef $0 ]] || exec "$program" -S "${0%/*}/ssh" "$@"
done
printf '%s: command not found\n' "${0##*/}" >&2
exit 127
END_OF_COPIER
}
