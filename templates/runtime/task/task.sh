# Run the task of a slot, on its node.
#
# Slurm starts `bash job.sbatch --task FOLDER ATTEMPT ROLE` here, once for each slot. Reports are
# short lines. They go to the batch script through the standard output of the step, and into the
# file of the node, to which all its tasks append.

# task_main FOLDER ATTEMPT ROLE: serve one slot.
task_main() {
  outlive_signals
  # Children do not inherit the descriptor of reports, so no output is taken for one.
  exec {PSL_REPORT_FD}>&1 1>&2
  if ! open_attempt "$1" "$2"; then
    log "cannot read $PSL_ATTEMPT_FOLDER"
    exit 1
  fi
  find_rank "$3"
  PSL_REPORT_FILE=$PSL_ATTEMPT_FOLDER/tasks/$SLURMD_NODENAME.log
  keep_cpu_masks  # only: binding
  # Steps that the commands start have their own hosts and binding.
  unset SLURM_HOSTFILE SLURM_OVERCOMMIT
  unset SLURM_CPU_BIND SLURM_CPU_BIND_LIST SLURM_CPU_BIND_TYPE SLURM_CPU_BIND_VERBOSE
  if ((PSL_GANG)); then
    await_begin || exit 0
  fi
  end_as_follower  # only: native-mpi
  prepare_slot  # only: slots
  open_control_fifo "$PSL_ROLE.$PSL_SLOT$PSL_HOST_SUFFIX"
  run_slot
  close_control_fifo "$PSL_ROLE.$PSL_SLOT"
  exit 0
}

# await_begin: wait until all nodes are ready. The first task of a node prepares it. Fail if the
# task must not start.
await_begin() {
  local word=''
  report_launch
  if ((SLURM_LOCALID == 0)) && is_first_of_node; then
    prepare_node
  fi
  read_command
  [[ $word == begin ]]
}

# report_launch: report the step of the role, once.
report_launch() {
  if ((PSL_SLOT == 0 && PSL_RANK == 0)); then
    send "$PSL_REPORT_FD" launched "$PSL_ROLE" "$SLURM_STEP_ID"
  fi
}

# Ranks, and slots without gang allocation, have others.
find_rank() { PSL_ROLE=$1 PSL_SLOT=$SLURM_PROCID; }  # unless: native-mpi
read_command() { read -r word; }  # unless: native-mpi
run_slot() { run_task "$PSL_SLOT" 0; }  # unless: slots

# run_task INDEX ATTEMPT: run a task to its end, and report how it ended.
run_task() {
  local index=$1 attempt=$2 status=0 age began
  attempt=$((PSL_GANG ? PSL_FIRST_RUN : attempt))  # only: restarts
  name_logs "$index" "$attempt"
  read_clock
  report start "$PSL_ROLE" "$PSL_SLOT" "$index" "$attempt" \
    "$SLURMD_NODENAME" "$SLURM_STEP_ID" "$PSL_NOW"
  began=$PSL_NOW
  PSL_RUNNING="$index $attempt" PSL_CODE=255 PSL_BEHAVIOUR=unknown
  if ! : >>"$PSL_STDERR_LOG"; then
    log "error: task ${PSL_ROLE_NAME[PSL_ROLE]}-$index cannot write to its logs on $SLURMD_NODENAME"
    status=1
  elif prepare_task "$index" "$attempt" 2>>"$PSL_STDERR_LOG"; then
    if [[ $PSL_CONTAINER_RUNTIME == none ]]; then
      run_task_commands "$index" "$attempt"
    else
      run_contained "$index" "$attempt"
    fi
    status=$?
    classify_exit "$status"
    read_late_term "$status"
  else
    status=1
  fi
  release_ports  # only: slots
  remove_logins  # only: hooks
  pass_on_term
  read_clock
  read_uptime
  PSL_RUNNING='' age=$((PSL_UPTIME - ${PSL_COMMANDS_ENDED:-PSL_UPTIME}))
  report exit "$PSL_ROLE" "$PSL_SLOT" "$index" "$attempt" \
    "$status" "$PSL_CODE" "$PSL_BEHAVIOUR" "$PSL_NOW" "$((age > 0 ? age : 0))"
  if ((status && !PSL_STOPPED)); then
    report_evidence "$index" "$attempt" "$began"
  fi
}

# report_evidence INDEX ATTEMPT TIME: report what the node knows of a failed task that began then.
report_evidence() {
  local kills line
  {
    read -r kills
    if ((kills)); then
      report kills "$PSL_ROLE" "$1" "$2" "$kills"
    fi
    while IFS= read -r line; do
      report evidence "$PSL_ROLE" "$1" "$2" "${line:0:300}"
    done
  } < <(
    # The batch script may be stopping the step.
    trap '' TERM
    exec bash -p "$PSL_SCRIPT" --evidence "$PSL_FOLDER" "$PSL_ATTEMPT" "$3"
  )
}

# classify_exit STATUS: set PSL_CODE and PSL_BEHAVIOUR for a task that ended with STATUS.
classify_exit() {
  local code behaviour
  PSL_CODE=0 PSL_BEHAVIOUR=success
  if (($1)); then
    PSL_CODE=255 PSL_BEHAVIOUR=unknown
    if read -r code behaviour < <(print_code_of_exit "$1"); then
      PSL_CODE=$code PSL_BEHAVIOUR=$behaviour
    fi
  fi
}

# print_code_of_exit STATUS: print "CODE BEHAVIOUR" of a failure, from the runtime or else from the
# exit specification.
print_code_of_exit() {
  if [[ $PSL_CODE_OF_SCRIPT ]]; then
    printf '%s\n' "$PSL_CODE_OF_SCRIPT"
  else
    exec bash -p "$PSL_SCRIPT" --exit "$1" "$PSL_ROLE" "$PSL_STDOUT_LOG" "$PSL_STDERR_LOG"
  fi
}

# read_late_term STATUS: read a TERM that the command got before this shell did: Slurm signals the
# processes of a step one after the other. Successful commands are rarely stopped, so wait less for
# them. A task that closes its connections may die a moment after the tasks that this fails: their
# wait lets it say why before it is stopped.
read_late_term() {
  local wait=0.01
  if (($1)); then
    wait=0.25
  fi
  if ((!PSL_STOPPED)) && read_words "$PSL_CONTROL_FD" "$wait"; then
    handle_control_message
  fi
}

# prepare_task INDEX ATTEMPT: check the node, and set the working directory, ports, devices and
# variables of the task. Set PSL_CODE and PSL_BEHAVIOUR before each step, for its failure.
prepare_task() {
  local index=$1 attempt=$2
  PSL_CODE=252 PSL_BEHAVIOUR=permanent
  check_slot_node || return
  # Another attempt has a different folder, and maybe a different node.
  PSL_BEHAVIOUR=transient
  check_node_folder || return
  PSL_CODE=255 PSL_BEHAVIOUR=unknown
  enter_task_folder "$index" || return
  note_process "$index" "$attempt"  # only: progress
  take_ports_for_slot "$index" "$attempt" || return  # only: slots
  # In a container the shell inside reads its environment.
  if [[ $PSL_CONTAINER_RUNTIME == none ]]; then
    read_environment || return
  fi
  PSL_CODE=252 PSL_BEHAVIOUR=permanent
  take_devices "$PSL_ROLE" || return
  prepare_adapters "$PSL_ROLE"  # only: infiniband
  check_role_binding "$PSL_ROLE" || return  # only: binding
  PSL_CODE=255 PSL_BEHAVIOUR=unknown
  [[ $PSL_CONTAINER_RUNTIME == none ]] || return 0
  export_task_environment "$PSL_ROLE" "$index" "$attempt"
  if [[ ${PSL_WORKDIR[PSL_ROLE]-task} != task ]]; then
    PSL_CODE=252 PSL_BEHAVIOUR=permanent
    enter_workdir
  fi
}

# check_slot_node: fail unless this is the node that the batch script expects for the slot.
check_slot_node() {
  nodes_of "$PSL_ROLE"
  if [[ ${PSL_NODES[PSL_SLOT]-} == "$SLURMD_NODENAME" ]]; then
    return 0
  fi
  log "error: slot $PSL_SLOT of role ${PSL_ROLE_NAME[PSL_ROLE]} belongs on" \
    "${PSL_NODES[PSL_SLOT]-no node} but runs on $SLURMD_NODENAME"
  return 1
}

# enter_task_folder INDEX: enter the task's folder, and copy the job's code there. The first task of
# the node may have made the folders of all its tasks.
enter_task_folder() {
  local folder=$PSL_ATTEMPT_FOLDER/work/${PSL_ROLE_FOLDER[PSL_ROLE]}/$1
  if [[ ! -d $folder ]] && ! mkdir -- "$folder"; then
    log "error: the task's folder $folder cannot be made on $SLURMD_NODENAME"
    return 1
  fi
  cd -- "$folder" || return
  if ((PSL_RANK == 0)) && [[ $PSL_STAGE_CODE ]]; then  # only: code
    cp -R -- "$PSL_ATTEMPT_FOLDER/code/." .  # only: code
  fi  # only: code
}
