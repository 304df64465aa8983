# InfiniBand: what the site profile allows jobs to use is looked for on their nodes before any task starts.

# Ask all nodes at once. What is missing where is said for every node, and ends the job.
check_fabric() {
  local component node problem first='' count=0
  local -a asked=()
  [[ ${FABRIC[*]-} ]] || return 0
  for component in "${EVERY_COMPONENT[@]}"; do
    [[ $LAYOUT == het && ! ${FABRIC[component]-} ]] || asked+=("$component")
  done
  ask_nodes fabric "${asked[@]}"
  ((!${#UNANSWERED[@]})) || first="cannot look at the nodes' InfiniBand: see srun/fabric-${UNANSWERED[0]}.log"
  for component in "${asked[@]}"; do
    while read -r node problem; do
      count=$((count + 1))
      ((count > 1)) || first="node $node: $problem"
      say "error: node $node: $problem"
    done <"$SCRATCH/fabric.$component"
  done
  ((count < 2)) || first+=", and $((count - 1)) more"
  [[ ! $first ]] || give_up "$first" 252 permanent
}
