# Pair nodes for the preflight: in each round each node has another partner, so that a bad node can
# be distinguished from its partners.

# list_paired_nodes ROLE: set PSL_NODES to the nodes on which the `pairs` commands of this role run:
# each node once, of all roles with the same commands.
list_paired_nodes() {
  local role node
  local -A seen=()
  PSL_NODES=()
  for role in "${!PSL_NODES_OF[@]}"; do
    [[ " ${PSL_PREFLIGHT[role]-} " == *" pairs:$1 "* ]] || continue
    for node in ${PSL_NODES_OF[role]}; do
      if [[ ! ${seen[$node]-} ]]; then
        seen[$node]=1
        PSL_NODES+=("$node")
      fi
    done
  done
}

# find_partner PLACE COUNT ROUND: set PSL_PARTNER to the place of a node's partner, and
# PSL_PAIR_RANK to the node's rank in the pair; fail for the node that has no partner, if their
# number is odd. These are rounds of a tournament in which all meet, by the circle method; a node's
# rank alternates.
find_partner() {
  local place=$1 round=$3 cycle=$(($2 - 1 + $2 % 2)) steps
  if ((place == cycle)); then
    PSL_PARTNER=$round PSL_PAIR_RANK=$((round % 2))
  elif ((place == round)); then
    PSL_PARTNER=$cycle PSL_PAIR_RANK=$((1 - round % 2))
    ((cycle < $2))
  else
    PSL_PARTNER=$(((2 * round - place + cycle) % cycle))
    steps=$(((place - round + cycle) % cycle))
    PSL_PAIR_RANK=$((1 - steps % 2))
    if ((2 * steps > cycle)); then
      PSL_PAIR_RANK=$(((cycle - steps) % 2))
    fi
  fi
}

# print_pairs ROLE ROUND: print the pairs of a round, "NODE NODE", rank 0 first.
print_pairs() {
  local place
  list_paired_nodes "$1"
  for place in "${!PSL_NODES[@]}"; do
    if find_partner "$place" "${#PSL_NODES[@]}" "$2" && ((PSL_PAIR_RANK == 0)); then
      printf '%s %s\n' "${PSL_NODES[place]}" "${PSL_NODES[PSL_PARTNER]}"
    fi
  done
}

# try_pair ROLE.ROUND: run the `pairs` commands on this node, if it has a partner in this round.
try_pair() {
  local role=${1%.*} round=${1#*.} first second peer rank=''
  while read -r first second; do
    case $SLURMD_NODENAME in
      "$first") rank=0 peer=$second ;;
      "$second") rank=1 peer=$first ;;
      *) continue ;;
    esac
    break
  done <"$PSL_ATTEMPT_FOLDER/commands/pairs-$1"
  [[ $rank ]] || return 0
  export PAISLURM_PAIR_RANK=$rank PAISLURM_PAIR_ROUND=$round PAISLURM_PAIR_NODES=$first,$second
  export PAISLURM_PAIR_ADDRESS=${PSL_ADDRESS_OF[$SLURMD_NODENAME]}
  export PAISLURM_PAIR_PEER=${PSL_ADDRESS_OF[$peer]}
  export PAISLURM_PAIR_PORT=$((PSL_FIRST_PORT +
    (PSL_JOB_ID * 17 + round * 131) % (PSL_LAST_PORT - PSL_FIRST_PORT + 1)))
  try_commands "pairs-$role"
}
