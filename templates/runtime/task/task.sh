# What runs in a slot, on a node: `bash job.sbatch --task FOLDER ATTEMPT ROLE`.
#
# With gang allocation slot i runs task i once. Without it a slot announces that it is free and runs what the
# batch script tells it on standard input. Reports go to the batch script by way of the step's standard output, one
# short line at a time, and into the slot's file.

task_main() {
  outlive_signals
  # The user's output never reaches the channel: it is kept open here under another number, and closed for children.
  exec {PSL_REPORT_FD}>&1 1>&2
  open_attempt "$1" "$2" || { log "cannot read $PSL_ATTEMPT_FOLDER"; exit 1; }
  find_rank "$3"
  PSL_REPORT_FILE=$PSL_ATTEMPT_FOLDER/tasks/${PSL_ROLE_FOLDER[PSL_ROLE]}/$PSL_SLOT.log
  # The hosts and the binding of this step are not those of one which the commands start.
  unset SLURM_HOSTFILE SLURM_CPU_BIND SLURM_CPU_BIND_LIST SLURM_CPU_BIND_TYPE SLURM_CPU_BIND_VERBOSE
  if ((PSL_RANK)); then run_follower_rank; exit; fi
  # The last task of another role may just be removing the folder.
  ((PSL_GANG)) || make_control_fifos "$PSL_ROLE.$PSL_SLOT" || make_control_fifos "$PSL_ROLE.$PSL_SLOT"
  open_control_fifo "$PSL_ROLE.$PSL_SLOT$PSL_HOST_SUFFIX"
  if ((PSL_GANG)); then
    run_task "$PSL_SLOT" 0
  else
    serve_slot
  fi
  close_control_fifo "$PSL_ROLE.$PSL_SLOT"
  exit 0
}

# find_rank FIRST: of which role, slot and rank this process of Slurm's is; FIRST is the first role of the step, in which
# Slurm numbers the processes through, role after role, task after task.
find_rank() {
  local number=$SLURM_PROCID count
  for PSL_ROLE in ${PSL_MPI_WORLD_OF[$1]-$1}; do
    PSL_RANKS=${PSL_RANKS_OF[PSL_ROLE]:-1} count=$((PSL_SLOTS[PSL_ROLE] * ${PSL_RANKS_OF[PSL_ROLE]:-1}))
    ((number >= count)) || break
    number=$((number - count))
  done
  PSL_SLOT=$((number / PSL_RANKS)) PSL_RANK=$((number % PSL_RANKS))
}

run_task() {
  local index=$1 attempt=$2 status=0
  name_logs "$index" "$attempt"
  read_clock
  report start "$PSL_ROLE" "$PSL_SLOT" "$index" "$attempt" "$SLURMD_NODENAME" "$SLURM_STEP_ID" "$PSL_NOW"
  PSL_RUNNING="$index $attempt"
  if prepare_task "$index" "$attempt" 2>>"$PSL_STDERR_LOG"; then
    if [[ $PSL_CONTAINER_RUNTIME == none ]]; then run_and_hold "$index" "$attempt"; else run_contained "$index" "$attempt"; fi
    status=$?
    classify_exit "$status"
  else
    status=1
  fi
  ((PSL_GANG)) || release_ports
  remove_logins
  read_late_term
  pass_on_term
  read_clock
  PSL_RUNNING=''
  report exit "$PSL_ROLE" "$PSL_SLOT" "$index" "$attempt" "$status" "$PSL_CODE" "$PSL_BEHAVIOUR" "$PSL_NOW"
}

# Slurm signals the processes of a step one after the other. A command that ends of its TERM may have got it before this
# shell, and the batch script must know why it ended.
read_late_term() {
  local line=''
  ((!PSL_STOPPED)) && IFS= read -r -t 0.05 line <&"$PSL_CONTROL_FD" || return 0
  read -ra PSL_WORDS <<<"$line"
  handle_control_message
}

# Check the node, find the ports and devices, set the variables and the working directory. Sets CODE and BEHAVIOUR on failure.
prepare_task() {
  local index=$1 attempt=$2
  nodes_of "$PSL_ROLE"
  PSL_CODE=252 PSL_BEHAVIOUR=permanent
  if [[ ${PSL_NODES[PSL_SLOT]-} != "$SLURMD_NODENAME" ]]; then
    log "error: slot $PSL_SLOT of role ${PSL_ROLE_NAME[PSL_ROLE]} was to run on ${PSL_NODES[PSL_SLOT]-no node} and runs on $SLURMD_NODENAME"
    return 1
  fi
  # Another attempt has another folder, and maybe another node.
  PSL_BEHAVIOUR=transient
  check_node_folder || return
  PSL_CODE=255 PSL_BEHAVIOUR=unknown
  cd -- "$PSL_ATTEMPT_FOLDER/work/${PSL_ROLE_FOLDER[PSL_ROLE]}/$index" || return
  ((PSL_RANK)) || [[ ! ${PSL_STAGE_CODE-} ]] || cp -R -- "$PSL_ATTEMPT_FOLDER/code/." . || return
  if ((!PSL_GANG)); then
    PSL_CODE=253 PSL_BEHAVIOUR=transient
    assign_ports "$PSL_ROLE $index $attempt" || return
    remember_ports "${PSL_PORT_LINES[@]}"
    PSL_CODE=255 PSL_BEHAVIOUR=unknown
    leave_peer_file "$PSL_ROLE" "$index" || return
  fi
  # In a container the shell inside reads its environment.
  [[ $PSL_CONTAINER_RUNTIME != none ]] || read_environment "$index" || return
  PSL_CODE=252 PSL_BEHAVIOUR=permanent
  take_devices "$PSL_ROLE" || return
  PSL_CODE=255 PSL_BEHAVIOUR=unknown
  raise_memlock "$PSL_ROLE"
  [[ $PSL_CONTAINER_RUNTIME == none ]] || return 0
  export_task_environment "$PSL_ROLE" "$index" "$attempt"
  PSL_CODE=252 PSL_BEHAVIOUR=permanent
  enter_workdir
}

# What the plugin git was told goes with the task.
remove_logins() {
  local file
  is_own_folder "$PSL_NODE_FOLDER" || return 0
  for file in "$PSL_NODE_FOLDER/$PSL_ROLE.$PSL_SLOT.git."*; do [[ ! -f $file ]] || command -p rm -f -- "$file"; done
}
