# Compare the readings of the nodes of a component, and warn of what differs. Components may have
# different nodes. A reading is a line "+ NODE THING QUALITY VALUE" in the output of the node check.

# The values of a quality are words of this sentence: THING, its port, the words, and the value.
declare -A PSL_WORDS_OF=([rate]='runs at' [link]='has the link layer' [firmware]='has firmware'
  [module]='is')

# compare_nodes COMPONENT: log a warning for each reading that nodes do not share with most nodes of
# their component, and for each error counter that stands out.
compare_nodes() {
  local mark node thing quality value key counters=''
  local -a keys=()
  local -A nodes_with=() values_of=() total_of=() seen=()
  while read -r mark node thing quality value; do
    [[ $mark == + ]] || continue
    seen[$node]=1
    if [[ ! ${PSL_WORDS_OF[$quality]-} ]]; then
      counters+="$thing $quality $value $node"$'\n'
      continue
    fi
    key="$thing $quality"
    if [[ ! ${total_of[$key]-} ]]; then
      keys+=("$key")
    fi
    total_of[$key]=$((${total_of[$key]-0} + 1))
    if [[ ! ${nodes_with[$key $value]-} ]]; then
      values_of[$key]+=$value$'\n'
    fi
    nodes_with[$key $value]+=" $node"
  done <"$PSL_SCRATCH/fabric.$1"
  for key in ${keys[@]+"${keys[@]}"}; do
    warn_of_minority
  done
  if [[ $counters ]]; then
    warn_of_counters "${#seen[@]}" < <(LC_ALL=C sort -k1,2 -k3,3n <<<"${counters%$'\n'}")
  fi
}

# warn_of_minority: log a warning for each value of `key` that most nodes do not have. Use the
# variables of compare_nodes.
warn_of_minority() {
  local value usual='' rest='' text differing=''
  local -a list
  while IFS= read -r value; do
    read -ra list <<<"${nodes_with[$key $value]}"
    if ((2 * ${#list[@]} > ${total_of[$key]})); then
      usual=$value rest="other ${#list[@]} nodes"
    fi
  done <<<"${values_of[$key]%$'\n'}"
  if [[ $rest == 'other 1 nodes' ]]; then
    rest='other node'
  fi
  text="$(thing_of "${key% *}") ${PSL_WORDS_OF[${key##* }]}"
  while IFS= read -r value; do
    [[ $value != "$usual" ]] || continue
    # shellcheck disable=SC2086 # names of nodes
    list_nodes ${nodes_with[$key $value]}
    if [[ $usual ]]; then
      log "warning: $PSL_LIST: $text $value; on the $rest $usual"
    else
      differing+="${differing:+, and }$value on $PSL_LIST"
    fi
  done <<<"${values_of[$key]%$'\n'}"
  if [[ $differing ]]; then
    log "warning: the nodes differ: $text $differing"
  fi
}

# warn_of_counters NODES: read lines "PORT COUNTER VALUE NODE" with the counters that are not 0,
# sorted by port, counter and value. Log a warning for each that is at least 10 and more than ten
# times the median of the nodes: counters count from the last reset of a port, so nodes differ a
# little.
warn_of_counters() {
  local port counter value node last='' median=0
  local -a values=() names=()
  while read -r port counter value node; do
    if [[ $port\ $counter != "$last" ]]; then
      warn_of_counter "$1"
      last="$port $counter" values=() names=()
    fi
    values+=("$value")
    names+=("$node")
  done
  warn_of_counter "$1"
}

# warn_of_counter NODES: the same for one counter. Use the variables of warn_of_counters.
warn_of_counter() {
  local middle=$((($1 - 1) / 2)) zeros=$(($1 - ${#values[@]})) item
  (($1 > 1 && ${#values[@]})) || return 0
  median=0
  if ((middle >= zeros)); then
    median=${values[middle - zeros]}
  fi
  for item in "${!values[@]}"; do
    if ((values[item] >= 10 && values[item] > 10 * median)); then
      log "warning: node ${names[item]}: $(thing_of "${last% *}") has counted ${values[item]}" \
        "${last##* }; the median of the $1 nodes is $median"
    fi
  done
}

# thing_of NAME[:PORT]: print a thing as a warning names it.
thing_of() {
  case $1 in
    *:*) printf '%s port %s' "${1%:*}" "${1##*:}" ;;
    nvidia_peermem | gdrdrv) printf 'the kernel module %s' "$1" ;;
    *) printf '%s' "$1" ;;
  esac
}

# list_nodes NODE ...: set PSL_LIST to the names of some nodes, at most three.
list_nodes() {
  local IFS=,
  PSL_LIST="nodes ${*:1:3}"
  if (($# == 1)); then
    PSL_LIST="node $1"
  elif (($# > 3)); then
    PSL_LIST+=" and $(($# - 3)) more"
  fi
}
