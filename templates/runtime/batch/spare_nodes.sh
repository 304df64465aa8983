# Start all tasks anew, in the same job, after the loss of a node.
#
# The job has more nodes than its tasks use. With --no-kill it outlives the loss of any node: Slurm
# removes the node from the job. srun has --no-kill, too: without it, Slurm kills the whole step at
# once, and tasks cannot save. srun reports the loss, goes on with the other nodes and ends when
# their tasks have ended; new steps can use the remaining nodes. The accounts have a row RESIZING
# for the time before each loss, and in the end the state of the batch script, not NODE_FAIL. A
# signal to a step that includes a lost node reaches the other nodes at once, but scancel then waits
# MessageTimeout. Slurm never requeues such a job, not even with --requeue=expedite. If it loses the
# batch node, it stays without a batch script: see watch_nodes. Slurm 22.05 does not free the cores
# and the memory of steps that end after a loss, so there steps share both (--overlap, --mem=0).
# Source: observed on Slurm 22.05, 24.11 and 26.05; sbatch(1) and srun(1), --no-kill.
#
# Each start runs in a subshell, so that no state of an earlier one is left: all counters begin
# again. Tasks of a later start have higher attempt numbers, which also name their logs; reports
# with lower numbers are ignored.

# The first attempt number of the tasks of this start, and the restarts so far in JSON.
PSL_FIRST_RUN=0 PSL_RESTARTS=''
# The nodes of the next start, by position in the placement, spare ones last; the lost nodes of
# these positions, and when the loss was noticed. Whether a restart has failed, whether the job has
# lost this node, and a node that Slurm has not lost but on which a step did not start.
PSL_NEXT_NODES=() PSL_LOST_NODES=() PSL_LOST_AT=0 PSL_NO_RESTART='' PSL_HEADLESS=''
PSL_UNUSABLE_NODE=''
# Exit status of the subshell before a restart.
readonly PSL_RESTART_STATUS=8
# How long a lost node may take to report that its tasks have ended, in seconds.
readonly PSL_LOST_TASKS_SECONDS=5

# run_starts: start the tasks, and start them anew after each restart.
run_starts() {
  local status
  : >lost-nodes || die "cannot write to $PSL_ATTEMPT_FOLDER"
  while :; do
    (
      trap end_script EXIT
      run_start
    )
    status=$?
    ((status == PSL_RESTART_STATUS)) || break
    # shellcheck source=/dev/null # written by end_start
    source "$PSL_SCRATCH/restart"
    rm -f -- "$PSL_SCRATCH"/*
    # The code has been fetched.
    PSL_STAGE_CODE=''
  done
  trap - EXIT
  exit "$status"
}

# stop_for_restart: stop all tasks after the loss of a node, to start them anew without it. Fail if
# there are too few nodes.
stop_for_restart() {
  local role
  if [[ $PSL_NO_RESTART ]]; then
    return 1
  fi
  if ! find_next_nodes; then
    note_lost_nodes
    return 1
  fi
  read_clock
  PSL_OUTCOME=restarting PSL_LOST_AT=$PSL_NOW PSL_STOP_AT=$((PSL_NOW + PSL_GRACE))
  log "node ${PSL_LOST_NODES[*]} was lost: all tasks stop, and start anew on ${PSL_NEXT_NODES[*]}"
  note_lost_nodes
  send_to_all_steps quit
  # Each scancel may wait for the lost node.
  for role in "${!PSL_STEP_RUNNING[@]}"; do
    signal_steps TERM "$role" &
  done
}

# restart_after_failed_launch WHAT FAILURE NODE WORDS: stop all tasks to start them anew without the
# node on which a step did not start, or without those that Slurm has lost meanwhile. Fail if other
# nodes would not help, or if there are too few.
restart_after_failed_launch() {
  [[ $2 == *transient && $3 != "$SLURMD_NODENAME" ]] || return
  PSL_UNUSABLE_NODE=$3
  stop_for_restart && return
  PSL_UNUSABLE_NODE=''
  return 1
}

# note_lost_nodes: list the lost nodes for their tasks. Write to the same file, which NFS notices.
note_lost_nodes() {
  local before
  read -r before <lost-nodes
  printf '%s\n' "$before ${PSL_LOST_NODES[*]-}" >lost-nodes
}

# find_next_nodes: set PSL_NEXT_NODES and PSL_LOST_NODES. A spare node takes the position of a lost
# one, so that all other tasks keep their nodes. Fail unless the job has lost nodes with tasks, has
# spare nodes for them, and has this node: without its batch node Slurm does not notice its end.
find_next_nodes() {
  local job node position=0
  local -a names living=() spare=()
  job=$(scontrol --oneliner show job "$SLURM_JOB_ID") || return
  [[ $job =~ \ NodeList=([^ ]+) ]] || return
  mapfile -t living < <(scontrol show hostnames "${BASH_REMATCH[1]}")
  mapfile -t names < <(scontrol show hostnames "$SLURM_JOB_NODELIST")
  PSL_NEXT_NODES=() PSL_LOST_NODES=()
  for node in "${names[@]}"; do
    if [[ " ${living[*]-} " != *" $node "* || $node == "$PSL_UNUSABLE_NODE" ]]; then
      ((position >= ${#PSL_ADDRESS_OF[@]})) || PSL_LOST_NODES[position]=$node
    elif ((position >= ${#PSL_ADDRESS_OF[@]})); then
      spare+=("$node")
    else
      PSL_NEXT_NODES[position]=$node
    fi
    position=$((position + 1))
  done
  if [[ ${PSL_LOST_NODES[0]-} == "$SLURMD_NODENAME" ]]; then
    PSL_HEADLESS=1
    return 1
  fi
  ((${#PSL_LOST_NODES[@]} && ${#PSL_LOST_NODES[@]} <= ${#spare[@]})) || return
  for position in "${!PSL_LOST_NODES[@]}"; do
    PSL_NEXT_NODES[position]=${spare[0]}
    spare=("${spare[@]:1}")
  done
  PSL_NEXT_NODES+=(${spare[@]+"${spare[@]}"})
}

# see_own_loss: end the job if its tasks have found that Slurm has lost this node.
see_own_loss() {
  local nodes
  read -r nodes <lost-nodes
  if [[ ! $PSL_HEADLESS && " $nodes " == *" $SLURMD_NODENAME "* ]]; then
    PSL_HEADLESS=1 PSL_NO_RESTART=1
    on_node_loss 0 "$SLURMD_NODENAME"
  fi
}

# stop_restarting: give up a restart because Slurm is ending the job.
stop_restarting() {
  if [[ $PSL_OUTCOME == restarting ]]; then
    PSL_OUTCOME=''
  fi
}

# end_start: end this start if the tasks start anew; its steps have ended. If one has not, or the
# spare nodes are gone by now, the job ends as after any loss of a node.
end_start() {
  local node
  if [[ $PSL_HEADLESS ]]; then
    stop_restarting
    on_node_loss 0 "$SLURMD_NODENAME"
    write_result
    scancel "$SLURM_JOB_ID"
  fi
  [[ $PSL_OUTCOME == restarting ]] || return 0
  await_lost_tasks
  [[ $PSL_OUTCOME == restarting ]] || return 0
  PSL_OUTCOME='' node=${PSL_LOST_NODES[*]:0:1}
  if ((PSL_KILL_SENT && PSL_NOW >= PSL_STOP_AT)) || ! find_next_nodes; then
    PSL_NO_RESTART=1
    on_node_loss 0 "$node"
    return
  fi
  note_lost_nodes
  export SLURM_JOB_NUM_NODES=${#PSL_NEXT_NODES[@]}
  clean_up_nodes
  note_restart
  trap - EXIT
  exit "$PSL_RESTART_STATUS"
}

# await_lost_tasks: wait until the tasks on the lost nodes have ended. Those nodes may be dead, so
# wait for a few seconds only.
await_lost_tasks() {
  local task open=1
  while ((PSL_NOW < PSL_LOST_AT + PSL_LOST_TASKS_SECONDS)); do
    read_reports_of "${PSL_LOST_NODES[@]}"
    open=''
    for task in "${!PSL_NODE_OF[@]}"; do
      if [[ " ${PSL_LOST_NODES[*]} " == *" ${PSL_NODE_OF[$task]} "* ]] && is_open "$task"; then
        open=1
      fi
    done
    [[ $open && $PSL_OUTCOME == restarting ]] || return 0
    read_all_events
    read_clock
  done
}

# note_restart: pass the nodes and numbers of the next start to run_starts.
note_restart() {
  local position entry run=$PSL_FIRST_RUN list PSL_NEWEST=''
  for position in "${!PSL_ATTEMPTS[@]}"; do
    ((run >= ${PSL_ATTEMPTS[$position]:-0})) || run=${PSL_ATTEMPTS[$position]}
  done
  find_checkpoint  # only: checkpoints
  for position in "${!PSL_LOST_NODES[@]}"; do
    printf -v entry '{"at": %d, "lost_node": "%s", "spare_node": "%s", "checkpoint_at": %s}' \
      "$PSL_LOST_AT" "${PSL_LOST_NODES[position]}" "${PSL_NEXT_NODES[position]}" \
      "${PSL_NEWEST:-null}"
    PSL_RESTARTS+=${PSL_RESTARTS:+, }$entry
  done
  printf -v list '%s,' "${PSL_NEXT_NODES[@]}"
  {
    printf 'SLURM_JOB_NODELIST=%s SLURM_JOB_NUM_NODES=%s\n' "${list%,}" "${#PSL_NEXT_NODES[@]}"
    printf 'PSL_FIRST_RUN=%s\n' "$((run + 1))"
    print_setting PSL_RESTARTS "$PSL_RESTARTS"
  } >"$PSL_SCRATCH/restart" || die "cannot write to $PSL_SCRATCH"
  # Messages about the steps of this start say nothing about later ones.
  mv -- srun "srun.$PSL_FIRST_RUN" || die "cannot write to $PSL_ATTEMPT_FOLDER"
  mkdir -- srun || die "cannot write to $PSL_ATTEMPT_FOLDER"
}

# write_host_discovery FILE: write a program that prints "TASK:SLOTS" of each task whose node is not
# lost. The ssh of the tasks knows these names.
# Source: Horovod, elastic, --host-discovery-script.
write_host_discovery() {
  local role slot
  quote "$PSL_ATTEMPT_FOLDER/lost-nodes"
  {
    printf '#!/usr/bin/env bash\nread -r lost <%s\n' "$PSL_QUOTED"
    cat_stdin <<'END_OF_LOOP'
while read -r node host; do
  [[ " $lost " == *" $node "* ]] || printf '%s\n' "$host"
done <<'END'
END_OF_LOOP
    for role in "${!PSL_ROLE_NAME[@]}"; do
      nodes_of "$role"
      for slot in "${!PSL_NODES[@]}"; do
        printf '%s %s-%d:%d\n' "${PSL_NODES[slot]}" "${PSL_ROLE_NAME[role]}" "$slot" \
          "$((PSL_ROLE_GPUS[role] ? PSL_ROLE_GPUS[role] : 1))"
      done
    done
    printf 'END\n'
  } >"$1" || return
  chmod 0700 "$1"
}
