# Find fixed ports, which are the same on all nodes, and report long lists of ports.

# first_fixed_port ROLE LABEL: set PSL_FIRST_FIXED to the first fixed port of a label; 0 for none.
first_fixed_port() {
  local pair
  PSL_FIRST_FIXED=0
  for pair in ${PSL_FIXED_PORTS[$1]-}; do
    if [[ ${pair%:*} == "$2" ]]; then
      PSL_FIRST_FIXED=${pair#*:}
    fi
  done
}

# take_fixed_ports ROLE INDEX: take the fixed ports of a task, before another task takes them.
take_fixed_ports() {
  local ask end
  for ask in ${PSL_PORT_COUNTS[$1]}; do
    first_fixed_port "$1" "${ask%:*}"
    end=$((PSL_FIRST_FIXED + ${ask#*:}))
    for ((PSL_PORT = PSL_FIRST_FIXED; PSL_FIRST_FIXED && PSL_PORT < end; PSL_PORT++)); do
      if ! take_port; then
        log "error: port $PSL_PORT of task ${PSL_ROLE_NAME[$1]}-$2 is taken on $SLURMD_NODENAME"
        return 1
      fi
    done
  done
}

# report_ports_in_pieces "ROLE INDEX LABEL:N,N ...": report the ports of a task. Slurm splits lines
# of more than 1024 bytes, and other lines may come between the parts. So send the list in pieces
# that begin with `+`. Source: slurmstepd, io.c, MAX_MSG_LEN.
report_ports_in_pieces() {
  local pair rest piece plus
  local -a words
  read -ra words <<<"$1"
  for pair in "${words[@]:2}"; do
    rest=${pair#*:} plus=''
    while [[ $rest ]]; do
      piece=${rest:0:700}
      if ((${#rest} > 700)); then
        piece=${piece%,*}
      fi
      send "$PSL_REPORT_FD" ports "${words[@]:0:2}" "${pair%%:*}:$plus$piece"
      rest=${rest#"$piece"} rest=${rest#,} plus=+
    done
  done
}
