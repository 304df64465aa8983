# End a job with spare nodes from a task if the job has lost its batch node.

# A job with --no-kill outlives the loss of its batch node: it then runs without a batch script
# until its time limit. Source: Slurm, job_mgr.c, kill_running_job_by_node_name; observed.

# The time of the next question to Slurm.
PSL_ASK_AT=0
# Three nodes of a job, taken at random, ask once in so many seconds. More nodes ask less often.
readonly PSL_ASK_SECONDS=60

# watch_batch_node LOST: end the job if its batch node is lost; LOST are the listed nodes. Slurm may
# answer late, so ask in the background.
watch_batch_node() {
  local turns=$((PSL_ASK_SECONDS * ((${#PSL_ADDRESS_OF[@]} + 2) / 3)))
  if ((${SLURM_LOCALID-1} || PSL_NOW < PSL_ASK_AT)); then
    return 0
  fi
  if ((PSL_ASK_AT)); then
    end_headless_job "$1" </dev/null >/dev/null 2>&1 &
    PSL_ASK_AT=$((PSL_NOW + turns))
  else
    PSL_ASK_AT=$((PSL_NOW + 1 + RANDOM % turns))
  fi
}

# end_headless_job LOST: end the job if Slurm has removed its batch node from it. The monitor then
# starts a fresh attempt, as after any lost node. LOST are the listed nodes; list all that the job
# has lost. Slurm's programs are missing in containers; the shell outside does this, too.
end_headless_job() {
  local job nodes host node lost=$1 folder=$PSL_ATTEMPT_FOLDER
  job=$(scontrol --oneliner show job "$SLURM_JOB_ID") || return 0
  [[ $job =~ \ BatchHost=([^ ]+) ]] || return 0
  host=${BASH_REMATCH[1]}
  [[ $job =~ \ NodeList=([^ ]+) ]] || return 0
  nodes=$(scontrol show hostnames "${BASH_REMATCH[1]}") || return 0
  nodes=" ${nodes//$'\n'/ } "
  [[ $nodes != *" $host "* ]] || return 0
  # A TERM of Slurm on the lost node is no cancellation.
  if ! grep -qE '"outcome": "(succeeded|failed)"' "$folder/result.json" &&
    mkdir -- "$folder/headless"; then
    print_headless_result "$host" >"$folder/headless/result.json" &&
      mv -- "$folder/headless/result.json" "$folder/result.json"
  fi
  for node in "${!PSL_ADDRESS_OF[@]}"; do
    [[ $nodes == *" $node "* ]] || lost+=" $node"
  done
  printf '%s\n' "$lost" >"$folder/lost-nodes"
  scancel "$SLURM_JOB_ID"
}

# print_headless_result HOST: print the result of a job whose batch node is lost.
print_headless_result() {
  printf '{"version": 2, "job_id": "%s", "outcome": "failed",\n' "$SLURM_JOB_ID"
  printf ' "exit_code": -1001, "behaviour": "transient",\n'
  printf ' "reason": "the batch node %s was lost",\n' "$1"
  printf ' "trigger": null, "started_at": null, "ended_at": %d, "tasks": []}\n' "$PSL_NOW"
}
