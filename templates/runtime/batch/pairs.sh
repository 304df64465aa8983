# Run commands on pairs of nodes, and find the nodes whose pairs are bad.

# The pairs of all rounds, "NODE NODE NUMBER FAULT": the number that rank 0 printed, or `-`, and why
# the pair failed, or nothing.
PSL_PAIRS=()
# What judge_pairs finds.
declare -A PSL_GOOD_NODES=() PSL_SUSPECTS=() PSL_BAD_PAIRS=()

# check_pairs: run the rounds of all roles with `pairs`. Nodes that seem to be bad have a last
# round, each with a good partner: a measurement may be wrong for other reasons, but not each time.
check_pairs() {
  local role node
  for role in "${!PSL_PREFLIGHT[@]}"; do
    [[ " ${PSL_PREFLIGHT[role]} " == *" pairs:$role "* ]] || continue
    try_pairs "$role"
    judge_pairs
    if ((${#PSL_SUSPECTS[@]})); then
      print_last_pairs >"commands/pairs-$role.$PSL_ROUNDS"
      try_round "$role.$PSL_ROUNDS"
      judge_pairs
    fi
    report_bad_pairs
    end_by_bad_nodes
  done
}

# print_last_pairs: print pairs of the nodes that seem to be bad and of good ones, as print_pairs.
print_last_pairs() {
  local node number=0
  local -a good=("${!PSL_GOOD_NODES[@]}")
  for node in "${!PSL_SUSPECTS[@]}"; do
    if ((number < ${#good[@]})); then
      printf '%s %s\n' "$node" "${good[number]}"
    fi
    number=$((number + 1))
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

# try_pairs ROLE: run the rounds of the `pairs` commands of this role, and fill PSL_PAIRS.
try_pairs() {
  local round
  PSL_PAIRS=()
  list_paired_nodes "$1"
  count_rounds "${#PSL_NODES[@]}"
  for ((round = 0; round < PSL_ROUNDS; round++)); do
    print_pairs "$1" "$round" >"commands/pairs-$1.$round"
    try_round "$1.$round"
  done
}

# try_round ROLE.ROUND: run the pairs in the file of this name, and add them to PSL_PAIRS.
try_round() {
  local node peer
  ask_for_preflight "pairs.$1" "pairs:${1%.*}"
  end_by_bad_nodes
  while read -r node peer; do
    note_pair "$node" "$peer"
  done <"commands/pairs-$1"
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

# judge_pairs: find the nodes of which no pair is good, if a partner of it has a good pair: a good
# pair clears both. A pair is bad if it failed, or if its number is less than half of the median of
# the nodes' best numbers. Set PSL_GOOD_NODES, PSL_SUSPECTS to the reason by node, and
# PSL_BAD_PAIRS to the reason by "NODE NODE".
judge_pairs() {
  local pair node peer number fault
  PSL_GOOD_NODES=() PSL_SUSPECTS=() PSL_BAD_PAIRS=()
  find_reference
  for pair in ${PSL_PAIRS[@]+"${PSL_PAIRS[@]}"}; do
    read -r node peer number fault <<<"$pair"
    if [[ ! $fault && $number != - ]]; then
      read_number "$number"
      ((2 * PSL_VALUE >= PSL_REFERENCE)) || fault=$number
    fi
    if [[ $fault ]]; then
      PSL_BAD_PAIRS[$node $peer]=$fault
    else
      PSL_GOOD_NODES[$node]=1 PSL_GOOD_NODES[$peer]=1
    fi
  done
  for pair in "${!PSL_BAD_PAIRS[@]}"; do
    node=${pair% *} peer=${pair#* } fault=${PSL_BAD_PAIRS[$pair]}
    if [[ ! ${PSL_GOOD_NODES[$node]-} && ${PSL_GOOD_NODES[$peer]-} ]]; then
      PSL_SUSPECTS[$node]+="${PSL_SUSPECTS[$node]+, }$fault with $peer"
    elif [[ ${PSL_GOOD_NODES[$node]-} && ! ${PSL_GOOD_NODES[$peer]-} ]]; then
      PSL_SUSPECTS[$peer]+="${PSL_SUSPECTS[$peer]+, }$fault with $node"
    fi
  done
}

# report_bad_pairs: blame the nodes that seem to be bad, and warn of other bad pairs. End the
# attempt if a node has no good pair, and it cannot be told which one is bad.
report_bad_pairs() {
  local pair node peer words first=''
  for node in "${!PSL_SUSPECTS[@]}"; do
    PSL_BLAMED_BY_COMMANDS=1
    blame_node "$node" "all of its pairs are bad: ${PSL_SUSPECTS[$node]}$PSL_HALF"
  done
  for pair in "${!PSL_BAD_PAIRS[@]}"; do
    node=${pair% *} peer=${pair#* } words="nodes ${pair/ / and }: ${PSL_BAD_PAIRS[$pair]}$PSL_HALF"
    if [[ ${PSL_GOOD_NODES[$node]-} && ${PSL_GOOD_NODES[$peer]-} ]]; then
      log "warning: $words; both have good pairs"
    elif [[ ! ${PSL_GOOD_NODES[$node]-} && ! ${PSL_GOOD_NODES[$peer]-} ]]; then
      log "error: $words"
      first=${first:-$words}
    fi
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
