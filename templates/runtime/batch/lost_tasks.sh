# Decide how tasks ended that did not report their end.

# The node of such a task is lost, or the shell around it died, or its step has ended.

# on_step_end ROLE STATUS: after the end of a step, search the nodes' files for reports of its open
# tasks; tasks without a report are lost.
on_step_end() {
  local role=$1 status=$2 index
  unset 'PSL_STEP_RUNNING[$role]'
  if [[ $PSL_OUTCOME ]]; then
    return 0
  fi
  has_open_tasks "$role" || return 0
  nodes_of "$role"
  read_reports_of ${PSL_NODES[@]+"${PSL_NODES[@]}"}
  has_open_tasks "$role" || return 0
  find_cause_of_loss "$role"
  if [[ ! $PSL_OUTCOME ]] && left_tasks_unbegun "$role"; then
    mark_unbegun_lost "$role" "$status" ''
    return
  fi
  for ((index = 0; index < PSL_INSTANCES[role]; index++)); do
    if is_open "$role.$index"; then
      mark_task_lost "$role.$index" "$status"
    fi
  done
}

# left_tasks_unbegun ROLE: succeed if the role's step has ended before one of its tasks started.
left_tasks_unbegun() {
  local index
  has_waiting_tasks "$1" && return 1  # only: slots
  for ((index = 0; index < PSL_INSTANCES[$1]; index++)); do
    [[ ${PSL_STATE[$1.$index]-} ]] || return 0
  done
  return 1
}

# on_slots_died ROLE FIRST LAST STATUS: act on the death of the shells of these slots in a running
# step. Their tasks have reported before, maybe only in the node's file, or are lost.
on_slots_died() {
  local role=$1 slot index
  if [[ $PSL_OUTCOME ]]; then
    return 0
  fi
  nodes_of "$role"
  read_reports_of "${PSL_NODES[@]:10#$2:10#$3-10#$2+1}"
  for ((slot = 10#$2; slot <= 10#$3 && slot < PSL_SLOTS[role]; slot++)); do
    index=$slot
    take_from_slot "$role" "$slot"  # only: slots
    [[ $index ]] || continue  # only: slots
    is_open "$role.$index" || continue
    mark_slot_lost "$role" "$slot" "$index" "$4"
  done
}

# mark_slot_lost ROLE SLOT INDEX STATUS: end the task of a slot whose shell died.
mark_slot_lost() {
  local role=$1 slot=$2 index=$3 status=$4
  if [[ ${PSL_STATE[$role.$index]-} == running ]]; then
    find_cause_of_loss "$role"
    mark_task_lost "$role.$index" "$status"
    return
  fi
  give_to_other_slot "$role" "$index" && return  # only: slots
  find_cause_of_loss "$role"
  nodes_of "$role"
  mark_unbegun_lost "$role" "$status" "${PSL_NODES[slot]-}"
}

# on_node_loss ROLE [NODE]: end the job after the loss of a node, which may be unknown. Like Slurm,
# ignore the completion policy.
# Source: OpenPAI exit specification, PodNodeLost, which ends the whole job.
on_node_loss() {
  local role=$1 node=${2-} task
  if [[ $PSL_OUTCOME ]]; then
    return 0
  fi
  complete_by_settled && return  # only: background
  if stop_for_restart; then  # only: spare
    return 0  # only: spare
  fi  # only: spare
  for task in "${!PSL_STATE[@]}"; do
    if [[ $node && ${PSL_NODE_OF[$task]-} == "$node" ]] && is_open "$task"; then
      PSL_STATE[$task]=failed
      note_end "$task" 0
      PSL_CODE_OF[$task]=-1001 PSL_BEHAVIOUR_OF[$task]=transient
    fi
  done
  decide failed -1001 transient \
    "${node:+node }${node:-a node} was lost while role ${PSL_ROLE_NAME[role]} ran"
}

# fail_waiting_steps: give up a step that Slurm never starts. The allocation fits all steps, but
# Slurm may count cores of steps and jobs differently; then srun waits silently. While Slurm does
# not answer, steps wait for its controller and are not given up.
fail_waiting_steps() {
  local role
  [[ $PSL_STEP_DEADLINE ]] && ((PSL_NOW >= PSL_STEP_DEADLINE)) || return 0
  PSL_STEP_DEADLINE=$((PSL_NOW + PSL_STEP_SECONDS / 2))
  for role in "${!PSL_STEP_RUNNING[@]}"; do
    if [[ ${PSL_STEP_ID[role]-} ]]; then
      continue
    fi
    if ! scontrol show job "$SLURM_JOB_ID" >/dev/null 2>&1; then
      PSL_FOUND_NO_ROOM=''
    elif [[ ! $PSL_FOUND_NO_ROOM ]]; then
      PSL_FOUND_NO_ROOM=1
    else
      unset 'PSL_STEP_RUNNING[$role]'
      PSL_NEEDS_CLEANUP=1
      decide failed 252 permanent \
        "Slurm gave role ${PSL_ROLE_NAME[role]} its CPUs but found no room for its step in \
$PSL_STEP_SECONDS s, as happens where cores have several threads (site profile: threadsPerCore)"
    fi
    return
  done
}

# read_reports_of NODE ...: act on the reports in the files of these nodes. A report that was read
# before has no effect.
read_reports_of() {
  local node
  local -a lines
  local -A seen=()
  for node; do
    if [[ ! ${seen[$node]-} && -r tasks/$node.log ]]; then
      seen[$node]=1
      mapfile -t lines <"tasks/$node.log"
      dispatch_lines ${lines[@]+"${lines[@]}"}
    fi
  done
}

# mark_unbegun_lost ROLE STATUS NODE: mark the tasks of a step as lost that ended with this status
# before they started, or only those of NODE if it is known.
mark_unbegun_lost() {
  find_srun_log "$1"
  explain_launch "$PSL_SRUN_LOG" "$2"
  if [[ $PSL_CAUSE_OF_LOSS == -1200* ]]; then
    PSL_LAUNCH_FAILURE=$PSL_CAUSE_OF_LOSS
  else
    PSL_LAUNCH_FAILURE=${PSL_LAUNCH_FAILURE:--1402 transient}
  fi
  PSL_LAUNCH_NODE=${PSL_LAUNCH_NODE:-$3}
  note_failed_launch "$1"
}

# find_srun_log ROLE: set PSL_SRUN_LOG, the file with the messages of srun for the role's step.
find_srun_log() {
  local world=${PSL_MPI_WORLD_OF[$1]-$1}
  PSL_SRUN_LOG=srun/${PSL_ROLE_FOLDER[${world%% *}]}.log
}

# find_cause_of_loss ROLE: set PSL_CAUSE_OF_LOSS to the "CODE BEHAVIOUR" of the role's lost tasks,
# from srun's messages about their step. If a node is lost, end the job.
find_cause_of_loss() {
  find_srun_log "$1"
  PSL_CAUSE_OF_LOSS='255 unknown'
  if grep -qsiE 'node failure|node_fail' -- "$PSL_SRUN_LOG"; then
    on_node_loss "$1"
  elif grep -qsiE 'out of memory|oom.kill' -- "$PSL_SRUN_LOG"; then
    PSL_CAUSE_OF_LOSS='-1200 permanent'
  fi
}

# mark_task_lost TASK STATUS: end a task with the cause in PSL_CAUSE_OF_LOSS.
mark_task_lost() {
  local task=$1
  settle_task "$task" && return  # only: background
  PSL_STATE[$task]=ended PSL_STATUS[$task]=$2
  note_end "$task" 0
  PSL_CODE_OF[$task]=${PSL_CAUSE_OF_LOSS% *} PSL_BEHAVIOUR_OF[$task]=${PSL_CAUSE_OF_LOSS#* }
  PSL_ATTEMPTS[$task]=${PSL_ATTEMPTS[$task]-0}
  PSL_EXITS+=("$task") PSL_NEEDS_CLEANUP=1
  PSL_PROVISIONAL_UNTIL[$task]=$((PSL_NOW + PSL_PROVISIONAL_SECONDS))
}
