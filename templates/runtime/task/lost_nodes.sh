# Act in the tasks on the loss of nodes: of the task's node, and of the batch node.

# Slurm may lose a node whose processes still run, because its slurmd has died. Slurm can signal
# none of them, but they read the run folder. A job with --no-kill outlives the loss of its batch
# node, too: it then runs without a batch script until its time limit. Both files are always
# written, never replaced: opening a file makes NFS ask its server.
# Source: Slurm, job_mgr.c, kill_running_job_by_node_name; observed on 24.11; nfs(5), close-to-open
# cache consistency.

# The time of the next look, and the last sign of life of the batch script with its time.
PSL_LOOK_AT=0 PSL_LAST_SIGN=none PSL_SIGN_AT=0
# Seconds without such a sign before Slurm is asked for the batch node.
readonly PSL_SILENT_SECONDS=30

# watch_nodes: kill the commands if the batch script has listed this node as lost. End the job if
# its batch node is lost.
watch_nodes() {
  local nodes='' sign=''
  read_clock
  ((PSL_NOW >= PSL_LOOK_AT)) || return 0
  PSL_LOOK_AT=$((PSL_NOW + 2))
  read -r nodes 2>/dev/null <"$PSL_ATTEMPT_FOLDER/lost-nodes"
  if [[ " $nodes " == *" ${SLURMD_NODENAME-?} "* && $PSL_COMMAND ]]; then
    PSL_STOPPED=1
    kill -KILL -- "-$PSL_COMMAND" 2>/dev/null
  fi
  read -r sign 2>/dev/null <"$PSL_ATTEMPT_FOLDER/alive"
  if [[ $sign != "$PSL_LAST_SIGN" ]]; then
    PSL_LAST_SIGN=$sign PSL_SIGN_AT=$PSL_NOW
  elif ((PSL_NOW - PSL_SIGN_AT >= PSL_SILENT_SECONDS && !${SLURM_LOCALID-1})); then
    PSL_SIGN_AT=$PSL_NOW
    end_headless_job
  fi
}

# end_headless_job: end the job if Slurm has removed its batch node from it. The monitor then starts
# a fresh attempt, as after any lost node. Slurm's programs are missing in containers; the shell
# outside does this, too.
end_headless_job() {
  local job nodes host folder=$PSL_ATTEMPT_FOLDER
  job=$(scontrol --oneliner show job "$SLURM_JOB_ID" 2>/dev/null) || return 0
  [[ $job =~ \ BatchHost=([^ ]+) ]] || return 0
  host=${BASH_REMATCH[1]}
  [[ $job =~ \ NodeList=([^ ]+) ]] || return 0
  nodes=$(scontrol show hostnames "${BASH_REMATCH[1]}") || return 0
  [[ " ${nodes//$'\n'/ } " != *" $host "* ]] || return 0
  if [[ ! -e $folder/result.json ]] && mkdir -- "$folder/headless" 2>/dev/null; then
    print_headless_result "$host" >"$folder/headless/result.json" &&
      mv -n -- "$folder/headless/result.json" "$folder/result.json"
  fi
  scancel "$SLURM_JOB_ID" 2>/dev/null
}

# print_headless_result HOST: print the result of a job whose batch node is lost.
print_headless_result() {
  printf '{"version": 2, "job_id": "%s", "outcome": "failed",\n' "$SLURM_JOB_ID"
  printf ' "exit_code": -1001, "behaviour": "transient",\n'
  printf ' "reason": "the batch node %s was lost",\n' "$1"
  printf ' "trigger": null, "started_at": null, "ended_at": %d, "tasks": []}\n' "$PSL_NOW"
}
