# Losses: tasks of which no report comes, because their node is lost, or the shell around them, or their step ends.

# step ROLE STATUS: every task of the step that has not reported is looked up in its slot's file, else it is lost.
on_step_end() {
  local role=$1 status=$2 index slot
  unset "STEP_OPEN[$role]"
  [[ ! $OUTCOME ]] && has_open_tasks "$role" || return 0
  for ((slot = 0; slot < SLOTS[role]; slot++)); do read_slot_file "$role" "$slot"; done
  has_open_tasks "$role" || return 0
  find_cause_of_loss "$role"
  # Without gang allocation, tasks that no slot has been given yet have not begun, either.
  if [[ ! $OUTCOME && ( $GANG == 1 || ! ${STEP_ID[role]-} ) ]] && has_unbegun_tasks "$role"; then
    lose_unbegun "$role" "$status" ''
    return
  fi
  for ((index = 0; index < INSTANCES[role]; index++)); do
    is_open "$role.$index" && lose_task "$role.$index" "$status"
  done
}

# died ROLE FIRST LAST STATUS: the shells of these slots have ended so. What they ran has either reported before, be it
# only in a file, or is lost; the step goes on without them.
on_death() {
  local role=$1 slot index
  [[ ! $OUTCOME ]] || return 0
  for ((slot = 10#$2; slot <= 10#$3 && slot < SLOTS[role]; slot++)); do
    index=$slot
    if ((!GANG)); then
      index=${GIVEN[$role.$slot]-} FREE_SLOTS[role]=" ${FREE_SLOTS[role]-} "
      FREE_SLOTS[role]=${FREE_SLOTS[role]/ $slot / }
    fi
    if [[ ! $index ]] || ! is_open "$role.$index"; then continue; fi
    read_slot_file "$role" "$slot"
    is_open "$role.$index" || continue
    unset "GIVEN[$role.$slot]"
    if [[ ${STATE[$role.$index]-} == running ]]; then
      find_cause_of_loss "$role"
      lose_task "$role.$index" "$4"
    elif ((GANG)); then
      find_cause_of_loss "$role"
      nodes_of "$role"
      lose_unbegun "$role" "$4" "${NODES[slot]-}"
    else
      # It has not begun there: another slot takes it.
      WAITING[role]+=" $index:$((NOW + 1))"
    fi
  done
}

# lost ROLE NODE, or lost ROLE where the node is not known: Slurm ends a job that loses a node, and so does this, whatever
# the completion policy says. Source: OpenPAI exit specification, PodNodeLost, which is the whole job's.
on_node_loss() {
  local role=$1 node=${2-} task
  [[ ! $OUTCOME ]] || return 0
  for task in "${!STATE[@]}"; do
    if [[ $node && ${NODE_OF[$task]-} == "$node" ]] && is_open "$task"; then
      STATE[$task]=failed CODE_OF[$task]=-1001 BEHAVIOUR_OF[$task]=transient ENDED[$task]=$NOW
    fi
  done
  decide failed -1001 transient "${node:+node }${node:-a node} was lost while role ${ROLE_NAME[role]} ran"
}

# The job has what all steps need. One that has not begun after so long, though Slurm answers, never will: Slurm counts
# cores as it did not when it gave them, and srun waits without a word. Without an answer steps wait for the controller.
give_up_waiting_steps() {
  local role
  [[ $ROOM_BY ]] && ((NOW >= ROOM_BY)) || return 0
  ROOM_BY=$((NOW + STEP_SECONDS / 2))
  for role in "${!STEP_OPEN[@]}"; do
    [[ ! ${STEP_ID[role]-} ]] || continue
    scontrol show job "$SLURM_JOB_ID" >/dev/null 2>&1 || { NO_ROOM=''; return; }
    [[ $NO_ROOM ]] || { NO_ROOM=1; return; }
    unset "STEP_OPEN[$role]"
    SWEEP=1
    decide failed 252 permanent \
      "Slurm gave role ${ROLE_NAME[role]} its CPUs but found no room for its step in $STEP_SECONDS s, as happens where cores have several threads (site profile: threadsPerCore)"
    return
  done
}

read_slot_file() {
  local file=tasks/${ROLE_FOLDER[$1]}/$2.log
  local -a event
  [[ -r $file ]] || return 0
  while read -r -a event; do take_in ${event[@]+"${event[@]}"}; done <"$file"
}

# lose_unbegun ROLE STATUS NODE: the end of what never began, on a node if it is known.
lose_unbegun() {
  log_of_step "$1"
  explain_launch "$LOG" "$2"
  if [[ $LOSS == -1200* ]]; then LAUNCH=$LOSS; else LAUNCH=${LAUNCH:--1402 transient}; fi
  LAUNCH_NODE=${LAUNCH_NODE:-$3}
  launch_failed "$1"
}

# What srun said of a role's step, in LOG.
log_of_step() {
  local world=${WORLD_OF[$1]-$1}
  LOG=srun/${ROLE_FOLDER[${world%% *}]}.log
}

# What srun said when its step, or a task of it, ended without a report; into LOSS. A lost node ends the job.
find_cause_of_loss() {
  log_of_step "$1"
  LOSS='255 unknown'
  if grep -qsiE 'node failure|node_fail' -- "$LOG"; then
    on_node_loss "$1"
  elif grep -qsiE 'out of memory|oom.kill' -- "$LOG"; then
    LOSS='-1200 permanent'
  fi
}

lose_task() {
  local task=$1
  STATE[$task]=ended STATUS[$task]=$2 CODE_OF[$task]=${LOSS% *} BEHAVIOUR_OF[$task]=${LOSS#* } ENDED[$task]=$NOW
  ATTEMPTS[$task]=${ATTEMPTS[$task]-0}
  EXITS+=("$task") SWEEP=1
  PROVISIONAL[$task]=$((NOW + PROVISIONAL_SECONDS))
}
