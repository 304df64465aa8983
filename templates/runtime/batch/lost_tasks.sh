# Losses: tasks of which no report comes, because their node is lost, or the shell around them, or their step ends.

# step ROLE STATUS: every task of the step that has not reported is looked up in its slot's file, else it is lost.
on_step_end() {
  local role=$1 status=$2 index slot
  unset "PSL_STEP_RUNNING[$role]"
  [[ ! $PSL_OUTCOME ]] && has_open_tasks "$role" || return 0
  for ((slot = 0; slot < PSL_SLOTS[role]; slot++)); do read_slot_file "$role" "$slot"; done
  has_open_tasks "$role" || return 0
  find_cause_of_loss "$role"
  # Without gang allocation, tasks that no slot has been given yet have not begun, either.
  if [[ ! $PSL_OUTCOME && ( $PSL_GANG == 1 || ! ${PSL_STEP_ID[role]-} ) ]] && has_unbegun_tasks "$role"; then
    mark_unbegun_lost "$role" "$status" ''
    return
  fi
  for ((index = 0; index < PSL_INSTANCES[role]; index++)); do
    is_open "$role.$index" && mark_task_lost "$role.$index" "$status"
  done
}

# died ROLE FIRST LAST STATUS: the shells of these slots have ended so. What they ran has either reported before, be it
# only in a file, or is lost; the step goes on without them.
on_task_killed() {
  local role=$1 slot index
  if [[ $PSL_OUTCOME ]]; then
    return 0
  fi
  for ((slot = 10#$2; slot <= 10#$3 && slot < PSL_SLOTS[role]; slot++)); do
    index=$slot
    if ((!PSL_GANG)); then
      index=${PSL_ASSIGNED[$role.$slot]-} PSL_FREE_SLOTS[role]=" ${PSL_FREE_SLOTS[role]-} "
      PSL_FREE_SLOTS[role]=${PSL_FREE_SLOTS[role]/ $slot / }
    fi
    if [[ ! $index ]] || ! is_open "$role.$index"; then continue; fi
    read_slot_file "$role" "$slot"
    is_open "$role.$index" || continue
    unset "PSL_ASSIGNED[$role.$slot]"
    if [[ ${PSL_STATE[$role.$index]-} == running ]]; then
      find_cause_of_loss "$role"
      mark_task_lost "$role.$index" "$4"
    elif ((PSL_GANG)); then
      find_cause_of_loss "$role"
      nodes_of "$role"
      mark_unbegun_lost "$role" "$4" "${PSL_NODES[slot]-}"
    else
      # It has not begun there: another slot takes it.
      PSL_WAITING[role]+=" $index:$((PSL_NOW + 1))"
    fi
  done
}

# lost ROLE NODE, or lost ROLE where the node is not known: Slurm ends a job that loses a node, and so does this, whatever
# the completion policy says. Source: OpenPAI exit specification, PodNodeLost, which is the whole job's.
on_node_loss() {
  local role=$1 node=${2-} task
  if [[ $PSL_OUTCOME ]]; then
    return 0
  fi
  for task in "${!PSL_STATE[@]}"; do
    if [[ $node && ${PSL_NODE_OF[$task]-} == "$node" ]] && is_open "$task"; then
      PSL_STATE[$task]=failed PSL_CODE_OF[$task]=-1001 PSL_BEHAVIOUR_OF[$task]=transient PSL_ENDED[$task]=$PSL_NOW
    fi
  done
  decide failed -1001 transient "${node:+node }${node:-a node} was lost while role ${PSL_ROLE_NAME[role]} ran"
}

# The job has what all steps need. One that has not begun after so long, though Slurm answers, never will: Slurm counts
# cores as it did not when it gave them, and srun waits without a word. Without an answer steps wait for the controller.
fail_waiting_steps() {
  local role
  [[ $PSL_STEP_DEADLINE ]] && ((PSL_NOW >= PSL_STEP_DEADLINE)) || return 0
  PSL_STEP_DEADLINE=$((PSL_NOW + PSL_STEP_SECONDS / 2))
  for role in "${!PSL_STEP_RUNNING[@]}"; do
    if [[ ${PSL_STEP_ID[role]-} ]]; then
      continue
    fi
    scontrol show job "$SLURM_JOB_ID" >/dev/null 2>&1 || { PSL_NO_ROOM=''; return; }
    [[ $PSL_NO_ROOM ]] || { PSL_NO_ROOM=1; return; }
    unset "PSL_STEP_RUNNING[$role]"
    PSL_NEEDS_CLEANUP=1
    decide failed 252 permanent \
      "Slurm gave role ${PSL_ROLE_NAME[role]} its CPUs but found no room for its step in $PSL_STEP_SECONDS s, as happens where cores have several threads (site profile: threadsPerCore)"
    return
  done
}

read_slot_file() {
  local file=tasks/${PSL_ROLE_FOLDER[$1]}/$2.log
  local -a event
  [[ -r $file ]] || return 0
  while read -r -a event; do dispatch_event ${event[@]+"${event[@]}"}; done <"$file"
}

# mark_unbegun_lost ROLE STATUS NODE: the end of what never began, on a node if it is known.
mark_unbegun_lost() {
  log_of_step "$1"
  explain_launch "$PSL_LOG" "$2"
  if [[ $PSL_LOSS == -1200* ]]; then PSL_LAUNCH=$PSL_LOSS; else PSL_LAUNCH=${PSL_LAUNCH:--1402 transient}; fi
  PSL_LAUNCH_NODE=${PSL_LAUNCH_NODE:-$3}
  launch_failed "$1"
}

# What srun said of a role's step, in LOG.
log_of_step() {
  local world=${PSL_MPI_WORLD_OF[$1]-$1}
  PSL_LOG=srun/${PSL_ROLE_FOLDER[${world%% *}]}.log
}

# What srun said when its step, or a task of it, ended without a report; into LOSS. A lost node ends the job.
find_cause_of_loss() {
  log_of_step "$1"
  PSL_LOSS='255 unknown'
  if grep -qsiE 'node failure|node_fail' -- "$PSL_LOG"; then
    on_node_loss "$1"
  elif grep -qsiE 'out of memory|oom.kill' -- "$PSL_LOG"; then
    PSL_LOSS='-1200 permanent'
  fi
}

mark_task_lost() {
  local task=$1
  PSL_STATE[$task]=ended PSL_STATUS[$task]=$2 PSL_CODE_OF[$task]=${PSL_LOSS% *} PSL_BEHAVIOUR_OF[$task]=${PSL_LOSS#* } PSL_ENDED[$task]=$PSL_NOW
  PSL_ATTEMPTS[$task]=${PSL_ATTEMPTS[$task]-0}
  PSL_EXITS+=("$task") PSL_NEEDS_CLEANUP=1
  PSL_PROVISIONAL[$task]=$((PSL_NOW + PSL_PROVISIONAL_SECONDS))
}
