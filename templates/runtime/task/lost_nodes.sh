# Act in the tasks on the loss of their node.

# Slurm may lose a node whose processes still run, because its slurmd has died. Slurm can signal
# none of them, but they read the run folder: the list of lost nodes is always written, never
# replaced, because opening a file makes NFS ask its server.
# Source: observed on 24.11 and 26.05; nfs(5), close-to-open cache consistency.

# The time of the next look at the list.
PSL_LOOK_AT=0

# watch_nodes: kill the commands if this node is on the list of lost nodes.
watch_nodes() {
  local nodes=''
  read_clock
  ((PSL_NOW >= PSL_LOOK_AT)) || return 0
  PSL_LOOK_AT=$((PSL_NOW + 2))
  read -r nodes 2>/dev/null <"$PSL_ATTEMPT_FOLDER/lost-nodes"
  if [[ " $nodes " == *" ${SLURMD_NODENAME-?} "* && $PSL_COMMAND ]]; then
    PSL_STOPPED=1
    kill -KILL -- "-$PSL_COMMAND" 2>/dev/null
  fi
  watch_batch_node "$nodes"  # only: spare
}
