# Write the variables that all tasks share, in env.sh. A task adds its own.
# Source: OpenPAI environment variables, protocol v1 and v2.

# Variables about peers are exported up to this size, in bytes, because a process may have 2 MiB of
# arguments and environment.
readonly PSL_MAX_PEER_BYTES=1048576

# Write what the other parts of the job need to know: its folders, and the nodes of its tasks.
write_placement() {
  local role node
  PSL_JOB_USER=${SLURM_JOB_USER:-$(id -un)}
  {
    printf 'PSL_RUN_ID=%s\nPSL_JOB_ID=%s\n' "$PSL_RUN_ID" "$SLURM_JOB_ID"
    printf 'PSL_NODE_FOLDER=%s\n' "$PSL_NODE_FOLDER"
    print_setting PSL_SECRETS_FOLDER "$PSL_SECRETS_FOLDER"
    print_setting PSL_SUBMIT_DIR "$PSL_SUBMIT_DIR"
    print_setting PSL_JOB_USER "$PSL_JOB_USER"
    for role in "${!PSL_NODES_OF[@]}"; do
      printf "PSL_NODES_OF[%d]='%s'\n" "$role" "${PSL_NODES_OF[role]}"
    done
    for node in "${!PSL_ADDRESS_OF[@]}"; do
      printf "PSL_ADDRESS_OF['%s']='%s'\n" "$node" "${PSL_ADDRESS_OF[$node]}"
    done
    if [[ ${PSL_GPU_GRES-} ]]; then
      print_gpus_on_nodes
    fi
  } >placement.sh || die "cannot write to $PSL_ATTEMPT_FOLDER"
}

# print_setting NAME VALUE: print a line of bash that sets a variable.
print_setting() {
  quote "$2"
  printf '%s=%s\n' "$1" "$PSL_QUOTED"
}

# Write env.sh; a task never reads half a file, because the file gets its name at the end.
write_environment() {
  local name=$PSL_JOB_USER~$PSL_JOB_NAME digest
  read -r digest _ < <(printf '%s' "$name" | md5sum)
  {
    quote "$PSL_JOB_USER"
    printf 'export PAI_USER_NAME=%s PAI_USERNAME=%s\n' "$PSL_QUOTED" "$PSL_QUOTED"
    job_environment
    quote "$name"
    printf 'export PAI_FRAMEWORK_NAME=%s FRAMEWORK_NAME=%s\n' "$PSL_QUOTED" "$PSL_QUOTED"
    if ((PSL_FULL_JOB_NAME)); then
      printf 'export PAI_JOB_NAME=%s\n' "$PSL_QUOTED"
    fi
    printf 'export FC_FRAMEWORK_NAME=%s FC_FRAMEWORK_NAMESPACE=default' "$digest"
    printf ' FC_FRAMEWORK_ATTEMPT_ID=%s\n' "$PSL_ATTEMPT"
    print_instances
    if ((PSL_GANG)); then
      print_launcher_settings
    fi
    print_mpi_settings
    if ((PSL_GANG)); then
      print_peers
    fi
  } >env.sh.new && mv -- env.sh.new env.sh
}

# Print variables that make MPI launchers start their daemons with the ssh of the tasks. Launchers
# that find Slurm's variables would call srun, which a container does not have, and which would not
# start in the task that was named. What the commands set themselves wins.
# Source: Open MPI 4, mpirun(1), MCA; PRRTE, plm/ssh; MPICH, "Using the Hydra process manager";
# Intel MPI, Hydra environment.
print_launcher_settings() {
  cat_stdin <<'END_OF_SETTINGS'
export OMPI_MCA_plm=rsh OMPI_MCA_plm_rsh_agent=ssh OMPI_MCA_ras=^slurm
export PRTE_MCA_plm=ssh PRTE_MCA_plm_ssh_agent=ssh PRTE_MCA_ras=^slurm
export HYDRA_LAUNCHER=ssh HYDRA_RMK=user I_MPI_HYDRA_BOOTSTRAP=ssh
END_OF_SETTINGS
}

# Print settings of Open MPI 5 for tasks that share nodes: their ranks talk by TCP or UCX, and in
# flat collectives. Open MPI takes ranks with one host name for ranks of one node, but each task has
# a daemon of its own. Ranks of two tasks on a node would share what each daemon made for its own
# ranks only: they crash in the shared memory of btl/sm, and never agree in coll/han.
# Source: runs of Open MPI 5.0.7; ompi_info --all, btl_sm_exclusivity and coll_han_priority.
print_mpi_settings() {
  local role node
  local -A taken=()
  for role in "${!PSL_NODES_OF[@]}"; do
    for node in ${PSL_NODES_OF[role]}; do
      if [[ ${taken[$node]-} ]]; then
        printf 'export OMPI_MCA_btl_sm_exclusivity=0 OMPI_MCA_coll_han_priority=0\n'
        return
      fi
      taken[$node]=1
    done
  done
}

# Print PAI_TASK_ROLE_INSTANCES: "role:index" of every task. Roles have the names that OpenPAI's
# controller gave them; a role without such a name, as `..` of protocol v1, keeps its own.
print_instances() {
  local role index name list='' prefix='export '
  for role in "${!PSL_ROLE_NAME[@]}"; do
    name=${PSL_ROLE_ALIASES[role]##* }
    name=${name:-${PSL_ROLE_NAME[role]}}
    for ((index = 0; index < PSL_INSTANCES[role]; index++)); do
      list+=${list:+,}$name:$index
    done
  done
  if ((${#list} >= PSL_LONGEST_VALUE)); then
    prefix=''
  fi
  quote "$list"
  printf '%sPAI_TASK_ROLE_INSTANCES=%s\n' "$prefix" "$PSL_QUOTED"
}

# Print the variables about every task of every role; all tasks have their nodes by now.
print_peers() {
  local role index label name peers='' port
  for role in "${!PSL_ROLE_NAME[@]}"; do
    nodes_of "$role"
    for index in "${!PSL_NODES[@]}"; do
      for name in ${PSL_ROLE_ALIASES[role]}; do
        peers+="PAI_HOST_IP_${name}_$index=${PSL_ADDRESS_OF[${PSL_NODES[index]}]}"$'\n'
        for label in ${PSL_PORT_COUNTS[role]}; do
          label=${label%:*}
          if [[ $label == *[.~]* ]]; then
            continue
          fi
          port=${PSL_PORTS_OF[$role.$index.$label]}
          peers+="PAI_PORT_LIST_${name}_${index}_$label=$port"$'\n'
          peers+="PAI_${name}_${index}_${label}_PORT=$port"$'\n'
        done
      done
    done
  done
  if ((${#peers} <= PSL_MAX_PEER_BYTES)); then
    printf 'set -a\n'
  fi
  printf '%sset +a\n' "$peers"
  print_unnamed_ports
  print_host_lists
}

# Print the ports whose label or role cannot be part of a variable's name. A task finds its other
# ports in PAI_PORT_LIST_*.
print_unnamed_ports() {
  local role index label task_port
  for role in "${!PSL_ROLE_NAME[@]}"; do
    for label in ${PSL_PORT_COUNTS[role]}; do
      label=${label%:*}
      if [[ ${PSL_ROLE_ALIASES[role]} && $label != *[.~]* ]]; then
        continue
      fi
      for ((index = 0; index < PSL_INSTANCES[role]; index++)); do
        task_port=$role.$index.$label
        printf "PSL_PORTS_OF['%s']=%s\n" "$task_port" "${PSL_PORTS_OF[$task_port]}"
      done
    done
  done
}

# Print PAI_TASK_ROLE_<role>_HOST_LIST: "address:first http port" of each task, by index. Variables
# with a role's name come after those with its position, because a name may be a number.
print_host_lists() {
  local role index name list prefix port named=''
  for role in "${!PSL_ROLE_NAME[@]}"; do
    nodes_of "$role"
    list=''
    for index in "${!PSL_NODES[@]}"; do
      port=${PSL_PORTS_OF[$role.$index.http]}
      list+=${list:+,}${PSL_ADDRESS_OF[${PSL_NODES[index]}]}:${port%%,*}
    done
    prefix='export '
    if ((${#list} >= PSL_LONGEST_VALUE)); then
      prefix=''
    fi
    printf '%sPAI_TASK_ROLE_%s_HOST_LIST=%s\n' "$prefix" "$role" "$list"
    for name in ${PSL_ROLE_ALIASES[role]}; do
      named+="${prefix}PAI_TASK_ROLE_${name}_HOST_LIST=$list"$'\n'
    done
  done
  printf '%s' "$named"
}

# Write the names and addresses of the tasks for the containers, which add them to the names that
# the node knows.
write_hosts() {
  local role index name
  if [[ $PSL_CONTAINER_RUNTIME == none ]]; then
    return 0
  fi
  if ((!PSL_GANG)); then
    : >"$PSL_ATTEMPT_FOLDER/hosts"
    return
  fi
  for role in "${!PSL_ROLE_NAME[@]}"; do
    nodes_of "$role"
    for index in "${!PSL_NODES[@]}"; do
      for name in ${PSL_ROLE_ALIASES[role]}; do
        printf '%s %s-%s\n' "${PSL_ADDRESS_OF[${PSL_NODES[index]}]}" "$name" "$index"
      done
    done
  done >"$PSL_ATTEMPT_FOLDER/hosts"
}

# Write the job's own ssh, scp and sftp into a folder that is first on the PATH of every task.
write_ssh() {
  local folder=$PSL_ATTEMPT_FOLDER/bin
  {
    quote "$PSL_SCRIPT"
    printf '#!/usr/bin/env bash\nexec bash -p %s --ssh ' "$PSL_QUOTED"
    quote "$PSL_FOLDER"
    printf '%s %s "$@"\n' "$PSL_QUOTED" "$PSL_ATTEMPT"
  } >"$folder/ssh" || return
  print_copier >"$folder/scp" || return
  print_copier >"$folder/sftp" || return
  chmod 0700 "$folder"/{ssh,scp,sftp}
}

# Print a scp or sftp that runs the node's own with the job's ssh; without -S they use /usr/bin/ssh.
# Source: scp(1), sftp(1), -S.
print_copier() {
  cat_stdin <<'END_OF_COPIER'
#!/usr/bin/env bash
mapfile -t programs < <(type -aP "${0##*/}")
for program in ${programs[@]+"${programs[@]}"}; do
  [[ $program -ef $0 ]] || exec "$program" -S "${0%/*}/ssh" "$@"
done
printf '%s: command not found\n' "${0##*/}" >&2
exit 127
END_OF_COPIER
}
