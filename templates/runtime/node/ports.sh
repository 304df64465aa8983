# Find free ports for the tasks of a node.
#
# The search starts at a hash. It finds the first port that no process listens on and no other task
# of the node has. Fixed ports (`beginAt` of protocol v1) must be free as they are.
# Source: OpenPAI runtime, port allocation (md5 of "[uid][label][k]", and then the sum of its 12, 12
# and 8 hexadecimal digits).

# The prefix of the paths by which slots reserve ports.
PSL_RESERVE_PORTS=''
PSL_PORT_DIGESTS=() PSL_NEXT_DIGEST=0 PSL_PORT_TAKEN=() PSL_FIRST_FIXED=0

# assign_ports "ROLE INDEX ATTEMPT" ...: fill PSL_PORT_LINES with a line "ROLE INDEX LABEL:N,N ..."
# for each of these tasks. Fail if no port is free.
assign_ports() {
  local request role index
  hash_requests "$@" || return
  read_listeners
  for request; do
    read -r role index _ <<<"$request"
    if [[ ${PSL_FIXED_PORTS[role]-} ]]; then
      take_fixed_ports "$role" "$index" || return
    fi
  done
  PSL_PORT_LINES=() PSL_NEXT_DIGEST=0
  for request; do
    read -r role index _ <<<"$request"
    take_ports_of_task "$role" "$index" || return
  done
}

# hash_requests "ROLE INDEX ATTEMPT" ...: fill PSL_PORT_DIGESTS with a digest for each port.
# Each digest is followed by the name of its file. One md5sum reads the files of all ports.
hash_requests() {
  local request role index attempt ask label k uid file
  local -a files=()
  for request; do
    read -r role index attempt <<<"$request"
    uid=$PSL_RUN_ID-${PSL_ROLE_NAME[role]}-$index-$attempt
    for ask in ${PSL_PORT_COUNTS[role]}; do
      label=${ask%:*}
      for ((k = 0; k < ${ask#*:}; k++)); do
        file=port.$BASHPID.${#files[@]}
        files+=("$file")
        printf '[%s][%s][%d]' "$uid" "$label" "$k" >"$PSL_NODE_FOLDER/$file" || return
      done
    done
  done
  # From a pipe, `read` and `mapfile` would take one byte at a time.
  # shellcheck disable=SC2207
  PSL_PORT_DIGESTS=(
    $(cd -- "$PSL_NODE_FOLDER" && md5sum -- "${files[@]}" && rm -- "${files[@]}")
  ) || return
}

# take_ports_of_task ROLE INDEX: take all ports of a task, and add its line to PSL_PORT_LINES.
take_ports_of_task() {
  local role=$1 ask label k ports line="$1 $2"
  for ask in ${PSL_PORT_COUNTS[role]}; do
    label=${ask%:*} ports='' PSL_FIRST_FIXED=0
    if [[ ${PSL_FIXED_PORTS[role]-} ]]; then
      first_fixed_port "$role" "$label"
    fi
    for ((k = 0; k < ${ask#*:}; k++, PSL_NEXT_DIGEST++)); do
      if ((PSL_FIRST_FIXED)); then
        PSL_PORT=$((PSL_FIRST_FIXED + k))
      else
        hash_port "${PSL_PORT_DIGESTS[2 * PSL_NEXT_DIGEST]}"
        take_free_port || return
      fi
      ports+=${ports:+,}$PSL_PORT
    done
    line+=" $label:$ports"
  done
  PSL_PORT_LINES+=("$line")
}

# hash_port DIGEST: set PSL_PORT to the port of a digest.
hash_port() {
  local sum=$((16#${1:0:12} + 16#${1:12:12} + 16#${1:24:8}))
  PSL_PORT=$((sum % (PSL_LAST_PORT + 1 - PSL_FIRST_PORT) + PSL_FIRST_PORT))
}

# take_port: take PSL_PORT for a task of this node; fail if it is in use.
take_port() {
  if [[ ${PSL_PORT_TAKEN[$PSL_PORT]-} ]]; then
    return 1
  fi
  if [[ $PSL_RESERVE_PORTS ]]; then
    reserve_port || return
  fi
  PSL_PORT_TAKEN[PSL_PORT]=1
}

# take_free_port: take the first free port from PSL_PORT upwards, around the end of the range.
take_free_port() {
  local tries=$((PSL_LAST_PORT + 1 - PSL_FIRST_PORT))
  until take_port; do
    if ((--tries == 0)); then
      log "no free port from $PSL_FIRST_PORT to $PSL_LAST_PORT on $SLURMD_NODENAME"
      return 1
    fi
    PSL_PORT=$((PSL_PORT == PSL_LAST_PORT ? PSL_FIRST_PORT : PSL_PORT + 1))
  done
}

# read_listeners: mark in PSL_PORT_TAKEN each port with a listening (TCP) or bound (UDP) socket, of
# IPv4 or IPv6.
read_listeners() {
  local table port pattern
  local -a tables=()
  for table in /proc/net/{tcp,tcp6,udp,udp6}; do
    if [[ -r $table ]]; then
      tables+=("$table")
    fi
  done
  # The fields are: number, local address and port, other address and port, state.
  pattern='^ *[0-9]+: [0-9A-F]+:([0-9A-F]{4}) [0-9A-F]+:[0-9A-F]{4} (0A|07) .*'
  while read -r port; do
    PSL_PORT_TAKEN[16#$port]=1
  done < <(sed -nE "s/$pattern/\\1/p" "${tables[@]}")
}
