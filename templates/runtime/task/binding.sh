# Check that a task got what its binding plans: CPUs that no other task of its step needs, and GPUs
# and adapters near to them. PSL_MISMATCHES has a line for each mismatch that was found before.
# Source: srun(1), SLURM_CPU_BIND_LIST and SLURM_CPUS_PER_TASK.

# The CPU masks of the step's tasks on this node.
PSL_CPU_MASKS=''

# keep_cpu_masks: set PSL_CPU_MASKS. Masks of --cpu-bind come without a prefix, and then look like
# the numbers of map_cpu.
keep_cpu_masks() {
  PSL_CPU_MASKS=${SLURM_CPU_BIND_LIST-}
  if [[ ${SLURM_CPU_BIND_TYPE-} == mask_cpu:* && $PSL_CPU_MASKS != 0x* ]]; then
    PSL_CPU_MASKS=0x${PSL_CPU_MASKS//,/,0x}
  fi
}

# check_role_binding ROLE: check the binding of a task that has GPUs or needs an exact one.
check_role_binding() {
  if ((PSL_ROLE_GPUS[$1])) || [[ ${PSL_BINDING[$1]-} == *strict* ]]; then
    check_binding "$1"
  fi
}

# check_binding ROLE: log each mismatch, and report it to the batch script. Fail if there is one and
# the role does not allow it.
check_binding() {
  local mismatch kind=warning
  [[ ${PSL_BINDING[$1]-} != *none* ]] || return 0
  if [[ ${PSL_BINDING[$1]-} == *strict* ]]; then
    kind=error
  fi
  if ((PSL_RANK == 0)); then
    note_shared_cpus
  fi
  [[ ${PSL_MISMATCHES-} ]] || return 0
  while IFS= read -r mismatch; do
    log "$kind: $mismatch"
    if ((PSL_RANK == 0)) && [[ ${PSL_REPORT_FD-} ]]; then
      send "$PSL_REPORT_FD" mismatch "$1" "${PSL_RUNNING%% *}" "$kind: $mismatch"
    fi
  done <<<"${PSL_MISMATCHES%$'\n'}"
  # A slot may run another task.
  PSL_MISMATCHES=''
  [[ $kind == warning ]]
}

# note_shared_cpus: add to PSL_MISMATCHES if this task shares CPUs, and the tasks of the step on
# this node have fewer CPUs than they need. Tasks that Slurm binds to a whole socket share it, but
# have enough.
note_shared_cpus() {
  local item position width=0 own others every shared=0 count=0 wanted=${SLURM_CPUS_PER_TASK:-1}
  local -a masks
  IFS=, read -ra masks <<<"$PSL_CPU_MASKS"
  ((${#masks[@]} > 1 && SLURM_LOCALID < ${#masks[@]})) || return 0
  for item in "${!masks[@]}"; do
    [[ ${masks[item]} =~ ^0x([0-9A-Fa-f]+)$ ]] || return 0
    masks[item]=${BASH_REMATCH[1]}
    width=$((${#masks[item]} > width ? ${#masks[item]} : width))
  done
  # Numbers of bash have 63 bits: twelve digits at a time.
  for ((position = 0; position < width; position += 12)); do
    own=0 others=0
    for item in "${!masks[@]}"; do
      digits_of_mask "${masks[item]}" "$position"
      if ((item == SLURM_LOCALID)); then
        own=$PSL_DIGITS
      else
        others=$((others | PSL_DIGITS))
      fi
    done
    shared=$((shared | (own & others)))
    for ((every = own | others; every; every &= every - 1)); do
      count=$((count + 1))
    done
  done
  if ((shared && count < wanted * ${#masks[@]})); then
    PSL_MISMATCHES+="this task shares CPUs: the ${#masks[@]} tasks of its step on"
    PSL_MISMATCHES+=" $SLURMD_NODENAME need $((wanted * ${#masks[@]})) CPUs and are bound to $count"
    PSL_MISMATCHES+=$'\n'
  fi
}

# digits_of_mask DIGITS POSITION: set PSL_DIGITS to the number of twelve digits, from a position
# that counts from the last one.
digits_of_mask() {
  local end=$((${#1} - $2))
  PSL_DIGITS=0
  if ((end > 12)); then
    PSL_DIGITS=$((16#${1:end - 12:12}))
  elif ((end > 0)); then
    PSL_DIGITS=$((16#${1:0:end}))
  fi
}
