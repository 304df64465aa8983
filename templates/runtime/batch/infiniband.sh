# InfiniBand: what the site profile allows jobs to use is looked for on their nodes before any task starts.

# Ask all nodes at once. What is missing where is said for every node, and ends the job.
check_infiniband() {
  local component node problem first='' count=0
  local -a asked=()
  for component in "${PSL_EVERY_COMPONENT[@]}"; do
    [[ $PSL_LAYOUT == het && ! ${PSL_INFINIBAND_CHECKS[component]-} ]] || asked+=("$component")
  done
  ask_nodes fabric "${asked[@]}"
  ((!${#PSL_FAILED_COMPONENTS[@]})) || first="cannot look at the nodes' InfiniBand: see srun/fabric-${PSL_FAILED_COMPONENTS[0]}.log"
  for component in "${asked[@]}"; do
    while read -r node problem; do
      count=$((count + 1))
      ((count > 1)) || first="node $node: $problem"
      log "error: node $node: $problem"
    done <"$PSL_SCRATCH/fabric.$component"
  done
  ((count < 2)) || first+=", and $((count - 1)) more"
  if [[ $first ]]; then
    die "$first" 252 permanent
  fi
}
