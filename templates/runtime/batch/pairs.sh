# Run commands on pairs of nodes, and find the nodes whose pairs are bad.

# The pairs of all rounds, "NODE NODE NUMBER FAULT": the number that rank 0 printed, or `-`, and why
# the pair failed, or nothing.
PSL_PAIRS=()

# check_pairs: run the rounds of all roles with `pairs`.
check_pairs() {
  local role
  for role in "${!PSL_PREFLIGHT[@]}"; do
    if [[ " ${PSL_PREFLIGHT[role]} " == *" pairs:$role "* ]]; then
      try_pairs "$role"
      judge_pairs
      end_by_bad_nodes
    fi
  done
}

# count_rounds COUNT: set PSL_ROUNDS to the rounds for so many nodes: log2 of it, but three at
# least, and not more than all meet in.
count_rounds() {
  local cycle=$(($1 - 1 + $1 % 2))
  PSL_ROUNDS=3
  while ((1 << PSL_ROUNDS < $1)); do
    PSL_ROUNDS=$((PSL_ROUNDS + 1))
  done
  if (($1 < 2)); then
    PSL_ROUNDS=0
  elif ((PSL_ROUNDS > cycle)); then
    PSL_ROUNDS=$cycle
  fi
}

# try_pairs ROLE: run all rounds of the `pairs` commands of this role, and fill PSL_PAIRS.
try_pairs() {
  local round place fault
  local -a nodes
  PSL_PAIRS=()
  list_paired_nodes "$1"
  nodes=("${PSL_NODES[@]}")
  count_rounds "${#nodes[@]}"
  for ((round = 0; round < PSL_ROUNDS; round++)); do
    ask_for_preflight "pairs.$1.$round" "pairs:$1"
    end_by_bad_nodes
    for place in "${!nodes[@]}"; do
      if find_partner "$place" "${#nodes[@]}" "$round" && ((PSL_PAIR_RANK == 0)); then
        note_pair "${nodes[place]}" "${nodes[PSL_PARTNER]}"
      fi
    done
  done
}

# note_pair NODE PEER: add a pair to PSL_PAIRS.
note_pair() {
  local node status number='' of_node fault='' line
  for node; do
    read -r status of_node line <<<"${PSL_TRIED[$node]-1 - it ran nothing}"
    number=${number:-$of_node}
    if ((status)) && [[ ! $fault ]]; then
      fault="status $status on $node: ${line:-it printed nothing}"
    fi
  done
  PSL_PAIRS+=("$1 $2 $number $fault")
}

# read_number TEXT: set PSL_VALUE to a number in thousandths.
read_number() {
  local fraction=000
  if [[ $1 == *.* ]]; then
    fraction=${1#*.}000
  fi
  PSL_VALUE=$((10#${1%.*}${fraction:0:3}))
}

# judge_pairs: blame each node of which no pair is good, if a partner of it has a good pair: a good
# pair clears both. A pair is bad if it failed, or if its number is less than half of the median of
# the nodes' best numbers. End the attempt if a node has no good pair, and it cannot be told which
# one is bad.
judge_pairs() {
  local pair node peer number fault first=''
  local -A good=() faults=() bad=()
  find_reference
  for pair in ${PSL_PAIRS[@]+"${PSL_PAIRS[@]}"}; do
    read -r node peer number fault <<<"$pair"
    if [[ ! $fault && $number != - ]]; then
      read_number "$number"
      ((2 * PSL_VALUE >= PSL_REFERENCE)) || fault=$number
    fi
    if [[ ! $fault ]]; then
      good[$node]=1 good[$peer]=1
      continue
    fi
    faults[$node $peer]=$fault
  done
  for pair in "${!faults[@]}"; do
    node=${pair% *} peer=${pair#* } fault=${faults[$pair]}
    if [[ ! ${good[$node]-} && ${good[$peer]-} ]]; then
      bad[$node]+="${bad[$node]+, }$fault with $peer"
    elif [[ ${good[$node]-} && ! ${good[$peer]-} ]]; then
      bad[$peer]+="${bad[$peer]+, }$fault with $node"
    elif [[ ${good[$node]-} ]]; then
      log "warning: nodes $node and $peer, which are good in other pairs: $fault$PSL_HALF"
    else
      first="nodes $node and $peer: $fault$PSL_HALF"
      log "error: $first"
    fi
  done
  for node in "${!bad[@]}"; do
    PSL_BLAMED_BY_COMMANDS=1
    blame_node "$node" "all of its pairs are bad: ${bad[$node]}$PSL_HALF"
  done
  if [[ $first ]] && ((!${#PSL_BAD_NODES[@]})); then
    die "the preflight cannot tell which node of a pair is bad, and excludes none: $first" \
      252 permanent
  fi
}

# find_reference: set PSL_REFERENCE to the median of the nodes' best numbers, in thousandths, and
# PSL_HALF to a remark about its half. With one bad node most pairs may be bad, but not most nodes.
find_reference() {
  local pair node peer number fault
  local -A best=()
  local -a values=()
  PSL_REFERENCE=0 PSL_HALF=''
  for pair in ${PSL_PAIRS[@]+"${PSL_PAIRS[@]}"}; do
    read -r node peer number fault <<<"$pair"
    if [[ ! $fault && $number != - ]]; then
      read_number "$number"
      for node in "$node" "$peer"; do
        if ((PSL_VALUE > ${best[$node]--1})); then
          best[$node]=$PSL_VALUE
        fi
      done
    fi
  done
  ((${#best[@]})) || return 0
  mapfile -t values < <(printf '%d\n' ${best[@]+"${best[@]}"} | sort -n)
  PSL_REFERENCE=${values[${#values[@]} / 2]}
  printf -v PSL_HALF ' (the median of the nodes is %d.%03d)' "$((PSL_REFERENCE / 1000))" \
    "$((PSL_REFERENCE % 1000))"
}
