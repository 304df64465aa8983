# Check the InfiniBand of all nodes before any task starts. The site profile lists the requirements.
# Problems end the job; differences between the nodes of a component are warnings.

# check_infiniband: check all nodes at once. Log the problems of each node, and end the job if one
# has any.
check_infiniband() {
  local component node problem first='' count=0
  local -a asked=()
  for component in "${PSL_EVERY_COMPONENT[@]}"; do
    if [[ $PSL_LAYOUT != het || ${PSL_INFINIBAND_CHECKS[component]-} ]]; then
      asked+=("$component")
    fi
  done
  ask_nodes fabric "${asked[@]}"
  if ((${#PSL_FAILED_COMPONENTS[@]})); then
    first="cannot look at the nodes' InfiniBand: see srun/fabric-${PSL_FAILED_COMPONENTS[0]}.log"
  fi
  for component in "${asked[@]}"; do
    while read -r node problem; do
      if [[ $node == + ]]; then
        continue
      fi
      blame_for infiniband "$node" "$problem" && continue  # only: preflight
      count=$((count + 1))
      if ((count == 1)); then
        first="node $node: $problem"
      fi
      log "error: node $node: $problem"
    done <"$PSL_SCRATCH/fabric.$component"
    compare_nodes "$component"
    # A failed task compares its node's readings with these.
    cat -- "$PSL_SCRATCH/fabric.$component" >>srun/infiniband.log
  done
  if ((count > 1)); then
    first+=", and $((count - 1)) more"
  fi
  if [[ $first ]]; then
    die "$first" 252 permanent
  fi
}
