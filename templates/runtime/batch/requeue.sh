# Start all tasks anew after Slurm has restarted the job (sbatch --requeue=expedite).
#
# After the loss of any node, Slurm ends all steps, and starts the script anew in the same job, on
# the other nodes and a new one, before all jobs that wait. `scontrol show job` counts the restart
# as soon as the node is lost. A lost node may still run the script and its tasks, for example if
# its slurmd has died, so the owner of the attempt is the latest restart: others write no result and
# signal no steps, and tasks on lost nodes end (see watch_nodes).
# Source: sbatch(1), --requeue; observed on Slurm 26.05.

# The first attempt number of the tasks of this start, and the restarts so far in JSON.
PSL_FIRST_RUN=0 PSL_RESTARTS=''
# How long tasks on lost nodes may take to end, in seconds.
readonly PSL_GHOST_SECONDS=5

# note_start: note the time, the newest checkpoint and the nodes of this start.
note_start() {
  local -a nodes=()
  [[ ${PSL_CLAIMED-} ]] || return 0
  mapfile -t nodes < <(scontrol show hostnames "$SLURM_JOB_NODELIST")
  ((${#nodes[@]})) || die "cannot read the nodes of the job"
  [[ -e lost-nodes ]] || : >lost-nodes
  printf '%s\n' "$PSL_NOW ${PSL_RESUMED_FROM:-null} ${nodes[*]}" >>claim/starts ||
    die "cannot write to $PSL_ATTEMPT_FOLDER"
  if ((PSL_FIRST_RUN)); then
    find_lost_nodes
    await_ends_on_lost_nodes
  fi
}

# take_over_attempt OWNER RESTARTS: claim the attempt anew. Fail if Slurm has restarted the job too
# often, or if an earlier start was interrupted for another reason: a fresh attempt follows.
take_over_attempt() {
  local count file
  local -a starts=()
  mapfile -t starts 2>/dev/null <claim/starts
  if [[ -e result.json ]]; then
    if grep -q '"outcome": "interrupted"' result.json; then
      return 1
    fi
    log "attempt $PSL_ATTEMPT has ended already"
    exit 3
  fi
  if ((${#starts[@]} == 0 || $2 > PSL_MAX_TRANSIENT_RETRIES)); then
    return 1
  fi
  printf '%s\n' "$1 $2" >claim/owner.new || die "cannot write to $PSL_ATTEMPT_FOLDER"
  mv -- claim/owner.new claim/owner || die "cannot write to $PSL_ATTEMPT_FOLDER"
  mv -- srun "srun.${#starts[@]}" || die "cannot write to $PSL_ATTEMPT_FOLDER"
  PSL_CLAIMED=1
  # The earlier start may not have fetched all of it.
  rm -rf -- code
  # Logs have the attempt numbers of their tasks.
  PSL_FIRST_RUN=${#starts[@]}
  for file in logs/*/*.stdout.*.log; do
    count=${file##*.stdout.} count=${count%.log}
    if [[ $count != *[!0-9]* ]] && ((count >= PSL_FIRST_RUN)); then
      PSL_FIRST_RUN=$((count + 1))
    fi
  done
}

# find_lost_nodes: compare the nodes of each start with those of the next one: set PSL_RESTARTS, and
# list the nodes that the job has lost for their tasks. PSL_RESUMED_FROM is that of the first start.
find_lost_nodes() {
  local node entry
  local -a words=() lost=() new=()
  local -A before=() after=() gone=()
  PSL_RESUMED_FROM=''
  while read -ra words; do
    PSL_RESUMED_FROM=${PSL_RESUMED_FROM:-${words[1]}} lost=() new=() after=()
    for node in "${words[@]:2}"; do
      after[$node]=1
      [[ ${before[$node]-} ]] || new+=("$node")
      unset 'gone[$node]'
    done
    for node in "${!before[@]}"; do
      [[ ${after[$node]-} ]] || lost+=("$node")
    done
    for node in ${lost[@]+"${lost[@]}"}; do
      printf -v entry '{"at": %d, "lost_node": "%s", "spare_node": "%s", "checkpoint_at": %s}' \
        "${words[0]}" "$node" "${new[0]-}" "${words[1]}"
      PSL_RESTARTS+=${PSL_RESTARTS:+, }$entry
      new=("${new[@]:1}") gone[$node]=1
    done
    before=()
    for node in "${!after[@]}"; do
      before[$node]=1
    done
  done <claim/starts
  # Write to the same file, which NFS notices.
  printf '%s\n' "${!gone[*]}" >lost-nodes
  log "Slurm has restarted the job${lost[0]+ after the loss of ${lost[*]}}: all tasks start anew"
}

# await_ends_on_lost_nodes: give tasks that live on lost nodes the time to read the list and end.
await_ends_on_lost_nodes() {
  local until
  read_clock
  until=$((PSL_NOW + PSL_GHOST_SECONDS))
  while ((PSL_NOW < until)); do
    read_event
    read_clock
  done
}

# stop_for_requeue: stop all tasks if Slurm will restart the job. Fail otherwise.
stop_for_requeue() {
  local job
  job=$(scontrol --oneliner show job "$SLURM_JOB_ID") || return
  [[ $job =~ \ Restarts=([0-9]+) ]] || return
  ((BASH_REMATCH[1] > ${SLURM_RESTART_COUNT:-0})) || return
  read_clock
  PSL_OUTCOME=restarting PSL_STOP_AT=$((PSL_NOW + PSL_INTERRUPTED_GRACE))
  log "the job has lost a node: all tasks stop, and Slurm restarts the job"
  if ((PSL_SUPERVISING)); then
    send_to_all_steps quit
  fi
}

# owns_attempt: succeed if this start of the job owns the attempt, and Slurm does not restart the
# job. A run by hand owns its folder.
owns_attempt() {
  local restarts=''
  [[ $PSL_OUTCOME != restarting ]] || return
  [[ ${PSL_CLAIMED-} ]] || return 0
  read -r _ restarts 2>/dev/null <"$PSL_ATTEMPT_FOLDER/claim/owner"
  [[ $restarts == "${SLURM_RESTART_COUNT:-0}" ]]
}

# end_before_restart: end this start if Slurm restarts the job. No step can start, so nothing is
# cleaned up on the nodes.
end_before_restart() {
  if [[ $PSL_OUTCOME == restarting ]]; then
    exit 3
  fi
}
