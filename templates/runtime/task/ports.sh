# Ports: a hash says where to begin, then the first port that nobody listens on and no other task of the node has.
# Fixed ones (`beginAt` of protocol v1) are what they are, or taken.
# Source: OpenPAI runtime, port allocation (md5 of "[uid][label][k]", 12+12+8 hexadecimal digits added).

# assign_ports "ROLE INDEX ATTEMPT" ...: fill PSL_PORT_LINES with "ROLE INDEX LABEL N,N". Nonzero when no port is free.
assign_ports() {
  local request role index attempt ask label count k ports number=0
  local -a digests files=()
  for request; do
    read -r role index attempt <<<"$request"
    for ask in ${PSL_PORT_COUNTS[role]}; do
      label=${ask%:*} count=${ask#*:}
      for ((k = 0; k < count; k++, number++)); do
        files+=("port.$BASHPID.$number")
        printf '[%s][%s][%d]' "$PSL_RUN_ID-${PSL_ROLE_NAME[role]}-$index-$attempt" "$label" "$k" >"$PSL_NODE_FOLDER/${files[number]}" ||
          return
      done
    done
  done
  # Words: a digest, and the name of its file. From a pipe, `read` and `mapfile` would take one byte at a time.
  # shellcheck disable=SC2207
  digests=($(cd -- "$PSL_NODE_FOLDER" && md5sum -- "${files[@]}" && rm -- "${files[@]}")) || return
  read_listeners
  for request; do
    read -r role index attempt <<<"$request"
    take_fixed_ports "$role" "$index" || return
  done
  PSL_PORT_LINES=() number=0
  for request; do
    read -r role index attempt <<<"$request"
    for ask in ${PSL_PORT_COUNTS[role]}; do
      label=${ask%:*} count=${ask#*:} ports=''
      first_fixed_port "$role" "$label"
      for ((k = 0; k < count; k++, number++)); do
        if ((PSL_FIRST_FIXED)); then
          PSL_PORT=$((PSL_FIRST_FIXED + k))
        else
          hash_port "${digests[2 * number]}"
          take_free_port || return
        fi
        ports+=${ports:+,}$PSL_PORT
      done
      PSL_PORT_LINES+=("$role $index $label $ports")
    done
  done
}

# The port that a digest stands for, in PORT.
hash_port() {
  local sum=$((16#${1:0:12} + 16#${1:12:12} + 16#${1:24:8}))
  PSL_PORT=$((sum % (PSL_LAST_PORT + 1 - PSL_FIRST_PORT) + PSL_FIRST_PORT))
}

# The first of the ports that are fixed for a label of a role, in PSL_FIRST_FIXED; 0 for none.
first_fixed_port() {
  local pair
  PSL_FIRST_FIXED=0
  for pair in ${PSL_FIXED_PORTS[$1]-}; do
    if [[ ${pair%:*} == "$2" ]]; then
      PSL_FIRST_FIXED=${pair#*:}
    fi
  done
}

# Take all fixed ports of a task, before any other takes one of them.
take_fixed_ports() {
  local ask
  for ask in ${PSL_PORT_COUNTS[$1]}; do
    first_fixed_port "$1" "${ask%:*}"
    for ((PSL_PORT = PSL_FIRST_FIXED; PSL_FIRST_FIXED && PSL_PORT < PSL_FIRST_FIXED + ${ask#*:}; PSL_PORT++)); do
      take_port || { log "error: port $PSL_PORT of task ${PSL_ROLE_NAME[$1]}-$2 is taken on $SLURMD_NODENAME"; return 1; }
    done
  done
}

# Take PORT for a task of this node, unless somebody else has it.
take_port() {
  if [[ ${PSL_PORT_TAKEN[$PSL_PORT]-} ]]; then
    return 1
  fi
  if [[ $PSL_RESERVE_PORTS ]]; then
    mkdir -- "$PSL_RESERVE_PORTS$PSL_PORT" 2>/dev/null || return 1
    PSL_TAKEN_PORTS+=("$PSL_PORT")
  fi
  PSL_PORT_TAKEN[PSL_PORT]=1
}

# Go up from PORT to the first free one, around the end of the range if need be, and take it.
take_free_port() {
  local tries=$((PSL_LAST_PORT + 1 - PSL_FIRST_PORT))
  until take_port; do
    ((--tries)) || { log "no free port from $PSL_FIRST_PORT to $PSL_LAST_PORT on $SLURMD_NODENAME"; return 1; }
    PSL_PORT=$((PSL_PORT == PSL_LAST_PORT ? PSL_FIRST_PORT : PSL_PORT + 1))
  done
}

# Mark every port in PSL_PORT_TAKEN that somebody listens on (TCP) or is bound to (UDP), IPv4 and IPv6.
read_listeners() {
  local table port
  local -a tables=()
  for table in /proc/net/{tcp,tcp6,udp,udp6}; do
    if [[ -r $table ]]; then
      tables+=("$table")
    fi
  done
  while read -r port; do
    PSL_PORT_TAKEN[16#$port]=1
  done < <(sed -nE 's/^ *[0-9]+: [0-9A-F]+:([0-9A-F]{4}) [0-9A-F]+:[0-9A-F]{4} (0A|07) .*/\1/p' "${tables[@]}")
}
