# Check the nodes before any task starts. A bad node ends the attempt; the next one excludes it.

# By node, why it is bad. PSL_BLAMED_BY_COMMANDS is set if commands of the job or the site have
# decided so; PSL_LACKING is the number of nodes on which a program of theirs does not exist.
declare -A PSL_BAD_NODES=()
PSL_BLAMED_BY_COMMANDS='' PSL_LACKING=0
# By node, "STATUS NUMBER LINE" of the commands that it has run.
declare -A PSL_TRIED=()
# Milliseconds by which the clocks of two nodes may differ.
readonly PSL_CLOCK_MS=2000

# check_preflight: check all nodes, then run the commands on each node, then on pairs. End the
# attempt after a stage that finds bad nodes.
check_preflight() {
  local role word
  for role in "${!PSL_PREFLIGHT[@]}"; do
    for word in ${PSL_PREFLIGHT[role]}; do
      if [[ $word == *:"$role" ]]; then
        "preflight_${word%:*}_of_role_$role" >"commands/preflight-${word%:*}-$role.sh" ||
          die "cannot write to $PSL_ATTEMPT_FOLDER"
      fi
    done
  done
  # The check of InfiniBand may have found some.
  end_by_bad_nodes
  ask_for_preflight checks '@(gpu|disk|clock)'
  end_by_bad_nodes
  ask_for_preflight command 'command:*'
  blame_failed_nodes
  end_by_bad_nodes
  check_pairs  # only: pairs
}

# ask_for_preflight CALL WORDS: run a part of the preflight on the nodes of the roles with a word
# that matches. Blame the nodes that report a problem or do not answer.
ask_for_preflight() {
  local component node word rest seconds=$((PSL_PREFLIGHT_SECONDS + 30)) asked answered
  local -a components=()
  local -A waiting=()
  PSL_TRIED=()
  find_nodes_with "$2"
  ((${#components[@]})) || return 0
  asked=$(date +%s%3N)
  ask_nodes "preflight-$1" ${components[@]+"${components[@]}"}
  answered=$(date +%s%3N)
  for component in ${components[@]+"${components[@]}"}; do
    while read -r node word rest; do
      case $word in
        problem) blame_node "$node" "$rest" ;;
        clock) check_clock "$node" "$((asked - rest))" "$((rest - answered))" ;;
        tried) PSL_TRIED[$node]=$rest ;;
        end) unset 'waiting[$node]' ;;
      esac
    done <"$PSL_SCRATCH/preflight-$1.$component"
    cat -- "$PSL_SCRATCH/preflight-$1.$component" >>srun/preflight.log
  done
  for node in "${!waiting[@]}"; do
    blame_node "$node" "it did not answer in $seconds s"
  done
}

# find_nodes_with WORDS: set the caller's `components` to those with a role whose checks match, and
# `waiting` to 1 for each node of these roles.
find_nodes_with() {
  local role node component=0 pattern="* $1 *"
  for role in "${!PSL_PREFLIGHT[@]}"; do
    # shellcheck disable=SC2053 # a pattern
    if [[ " ${PSL_PREFLIGHT[role]} " != $pattern ]]; then
      continue
    fi
    if [[ $PSL_LAYOUT == het ]]; then
      component=$role
    fi
    components[component]=$component
    for node in ${PSL_NODES_OF[role]}; do
      waiting[$node]=1
    done
  done
}

# run_for_preflight NAME COMPONENT: do as run_on_nodes, with all CPUs and GPUs of the job, within
# the time of the preflight.
run_for_preflight() {
  local name=$1 status
  local -a group=()
  if [[ $PSL_LAYOUT == het ]]; then
    group=("--het-group=$2")
  fi
  component_value SLURM_JOB_NUM_NODES "$2"
  timeout -k 10 "$((PSL_PREFLIGHT_SECONDS + 30))" \
    "${PSL_SRUN[@]}" ${group[@]+"${group[@]}"} --job-name="$name" --overlap --mem=0 \
    --cpu-bind=none --nodes="$PSL_VALUE" --ntasks="$PSL_VALUE" --ntasks-per-node=1 \
    --input=none --chdir=/ bash -p "$PSL_SCRIPT" "--$name" "$PSL_FOLDER" "$PSL_ATTEMPT" \
    2>"srun/$name-$2.log"
  status=$?
  # A node that does not answer is no failed launch.
  ((status == 124 || status == 137)) || return "$status"
}

# check_clock NODE BEHIND AHEAD: blame a node whose time is that many milliseconds before the
# question or after the last answer; most are negative.
check_clock() {
  if (($2 > PSL_CLOCK_MS)); then
    blame_node "$1" "its clock is at least $(($2 / 1000)) s behind that of $SLURMD_NODENAME"
  elif (($3 > PSL_CLOCK_MS)); then
    blame_node "$1" "its clock is at least $(($3 / 1000)) s ahead of that of $SLURMD_NODENAME"
  fi
}

# blame_failed_nodes: blame the nodes on which the commands failed.
blame_failed_nodes() {
  local node status line
  for node in "${!PSL_TRIED[@]}"; do
    read -r status _ line <<<"${PSL_TRIED[$node]}"
    if ((status)); then
      PSL_BLAMED_BY_COMMANDS=1
      line=${line:-it printed nothing}
      if ((status == 126 || status == 127)); then
        PSL_LACKING=$((PSL_LACKING + 1))
      fi
      blame_node "$node" "the preflight command ended with status $status: $line"
    fi
  done
}

# blame_node NODE REASON: note a bad node, and log why it is bad.
blame_node() {
  log "error: node $1: $2"
  PSL_BAD_NODES[$1]=${PSL_BAD_NODES[$1]-$2}
}

# blame_for WORD NODE REASON: blame a node if a role on it has this check; fail otherwise.
blame_for() {
  local -a components=()
  local -A waiting=()
  find_nodes_with "$1"
  [[ ${waiting[$2]-} ]] && blame_node "$2" "$3"
}

# end_by_bad_nodes: end the attempt if nodes are bad. If most are, exclude none: something else may
# be wrong. The commands' failure on the only node tells nothing about the node.
end_by_bad_nodes() {
  local node reason='' count=${#PSL_BAD_NODES[@]} all
  local -a components=()
  local -A waiting=()
  ((count)) || return 0
  find_nodes_with '*'
  for node in "${!PSL_BAD_NODES[@]}"; do
    reason="node $node: ${PSL_BAD_NODES[$node]}"
    break
  done
  if ((count > 1)); then
    reason+=", and $((count - 1)) more"
  fi
  if ((2 * count > ${#waiting[@]})) && [[ $PSL_BLAMED_BY_COMMANDS || ${#waiting[@]} -gt 1 ]]; then
    all="$count of ${#waiting[@]} nodes, and none is excluded if most fail"
    if ((${#waiting[@]} == 1)); then
      all='the only node, which is not excluded'
    fi
    if ((PSL_LACKING == count)); then
      die "a program of the preflight cannot be run, correct its path: $reason" 252 permanent
    fi
    die "the preflight fails on $all: $reason" 252 permanent
  fi
  decide failed -1408 transient "the preflight found bad nodes: $reason"
  for node in "${!PSL_BAD_NODES[@]}"; do
    end_by_failed_launch preflight '-1408 transient' "$node" "${PSL_BAD_NODES[$node]}"
  done
  die "$PSL_OUTCOME_REASON"
}
