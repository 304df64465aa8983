# Write the variables that all tasks share to env.sh. Each task adds its own.
# Source: OpenPAI environment variables, protocol v1 and v2.

# write_placement: write the job's folders and the nodes of its tasks for the other parts of the
# job.
write_placement() {
  local role node
  PSL_JOB_USER=${SLURM_JOB_USER:-$(id -un)}
  {
    printf 'PSL_RUN_ID=%s\nPSL_JOB_ID=%s\n' "$PSL_RUN_ID" "$SLURM_JOB_ID"
    printf 'PSL_NODE_FOLDER=%s\n' "$PSL_NODE_FOLDER"
    printf 'PSL_FIRST_RUN=%s\n' "$PSL_FIRST_RUN"  # only: restarts
    print_setting PSL_SECRETS_FOLDER "$PSL_SECRETS_FOLDER"
    print_setting PSL_SUBMIT_DIR "$PSL_SUBMIT_DIR"
    print_setting PSL_JOB_USER "$PSL_JOB_USER"
    print_setting PSL_UMASK "$PSL_UMASK"
    for role in "${!PSL_NODES_OF[@]}"; do
      printf "PSL_NODES_OF[%d]='%s'\n" "$role" "${PSL_NODES_OF[role]}"
    done
    for node in "${!PSL_ADDRESS_OF[@]}"; do
      printf "PSL_ADDRESS_OF['%s']='%s'\n" "$node" "${PSL_ADDRESS_OF[$node]}"
    done
    print_gpus_on_nodes  # only: gpu-gres
  } >placement.sh || die "cannot write to $PSL_ATTEMPT_FOLDER"
}

# print_setting NAME VALUE: print a line of bash that sets a variable.
print_setting() {
  quote "$2"
  printf '%s=%s\n' "$1" "$PSL_QUOTED"
}

# write_environment: write env.sh without the variables about other tasks, which write_peers adds.
write_environment() {
  local name=$PSL_JOB_USER~$PSL_JOB_NAME digest
  read -r digest _ < <(printf '%s' "$name" | md5sum)
  list_instances
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
    ((PSL_GANG)) || print_peer_settings  # only: slots
    ((PSL_GANG)) && print_launcher_settings
    print_mpi_settings
  } >env.sh || die "cannot write to $PSL_ATTEMPT_FOLDER"
}

# print_launcher_settings: print variables that make pdsh and MPI launchers start their daemons with
# the ssh of the tasks. Launchers that find Slurm's variables would call srun, which containers
# lack, and which would not start daemons in the named task. Values that the commands set take
# precedence. Hydra would give Slurm's options for srun (since 23.11) to ssh.
# Source: Open MPI 4, mpirun(1), MCA; PRRTE, plm/ssh; MPICH, "Using the Hydra process manager";
# Intel MPI, Hydra environment; pdsh(1).
print_launcher_settings() {
  cat_stdin <<'END_OF_SETTINGS'
export OMPI_MCA_plm=rsh OMPI_MCA_plm_rsh_agent=ssh OMPI_MCA_ras=^slurm
export PRTE_MCA_plm=ssh PRTE_MCA_plm_ssh_agent=ssh PRTE_MCA_ras=^slurm
export HYDRA_LAUNCHER=ssh HYDRA_RMK=user I_MPI_HYDRA_BOOTSTRAP=ssh
unset HYDRA_LAUNCHER_EXTRA_ARGS I_MPI_HYDRA_BOOTSTRAP_EXEC_EXTRA_ARGS
export PDSH_RCMD_TYPE=ssh
END_OF_SETTINGS
}

# print_mpi_settings: print settings of Open MPI 5 for tasks that share nodes: their ranks talk by
# TCP or UCX, and in flat collectives. Open MPI groups ranks by host name, but each task has a
# separate daemon. Ranks of two tasks on a node would share resources that each daemon made for its
# own ranks: they crash in the shared memory of btl/sm, and hang in coll/han.
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

# list_instances: set PSL_INSTANCES_LINE to the setting of PAI_TASK_ROLE_INSTANCES, "role:index" of
# every task. Roles have the names that OpenPAI's controller gave them. A role without such a name,
# such as `..` of protocol v1, keeps its own name.
list_instances() {
  local role index name list
  local -a tasks=()
  for role in "${!PSL_ROLE_NAME[@]}"; do
    name=${PSL_ROLE_ALIASES[role]##* }
    name=${name:-${PSL_ROLE_NAME[role]}}
    for ((index = 0; index < PSL_INSTANCES[role]; index++)); do
      tasks+=("$name:$index")
    done
  done
  printf -v list '%s,' "${tasks[@]}"
  quote "${list%,}"
  PSL_INSTANCES_LINE=PAI_TASK_ROLE_INSTANCES=$PSL_QUOTED
}

# write_programs: write the job's own ssh, scp, sftp, pdsh and paislurm-peer into a folder that is
# first on the PATH of every task.
write_programs() {
  local folder=$PSL_ATTEMPT_FOLDER/bin program
  print_program ssh >"$folder/ssh" || return
  print_program peer >"$folder/paislurm-peer" || return
  for program in scp sftp pdsh; do
    print_user_of_ssh >"$folder/$program" || return
  done
  chmod 0700 "$folder"/{ssh,scp,sftp,pdsh,paislurm-peer}
  write_host_discovery "$folder/discover_hosts.sh"  # only: spare
}

# print_program NAME: print a program that runs this script with --NAME.
print_program() {
  quote "$PSL_SCRIPT"
  printf '#!/usr/bin/env bash\nexec bash -p %s --%s ' "$PSL_QUOTED" "$1"
  quote "$PSL_FOLDER"
  printf '%s %s "$@"\n' "$PSL_QUOTED" "$PSL_ATTEMPT"
}

# print_user_of_ssh: print a scp, sftp or pdsh that runs the node's program with the job's ssh.
# Without -S, scp and sftp use /usr/bin/ssh, and pdsh exits with 0 even if no command ran.
# Source: scp(1), sftp(1), pdsh(1), -S.
print_user_of_ssh() {
  cat_stdin <<'END_OF_PROGRAM'
#!/usr/bin/env bash
name=${0##*/} ssh=${0%/*}/ssh
if [[ $name == pdsh ]]; then
  ssh=''
fi
mapfile -t programs < <(type -aP "$name")
for program in ${programs[@]+"${programs[@]}"}; do
  [[ $program -ef $0 ]] || exec "$program" -S ${ssh:+"$ssh"} "$@"
done
printf '%s: command not found\n' "$name" >&2
exit 127
END_OF_PROGRAM
}
