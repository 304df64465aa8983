# Find the GPUs whose GRES is not called `gpu`.

# print_gpus_on_nodes: print a line for each node: the GPUs of the job on this node whose GRES is
# not called `gpu`.
# Source: scontrol(1), show job --details.
print_gpus_on_nodes() {
  local line nodes node item number list
  [[ ${PSL_GPU_GRES-} ]] || return 0
  while read -r line; do
    [[ $line =~ ^Nodes=([^\ ]+)\ .*[=,]"$PSL_GPU_GRES"(:[^\(,]+)?:[0-9]+\(IDX:([0-9,-]+)\) ]] ||
      continue
    nodes=${BASH_REMATCH[1]} list=''
    for item in ${BASH_REMATCH[3]//,/ }; do
      for ((number = ${item%-*}; number <= ${item#*-}; number++)); do
        list+=${list:+,}$number
      done
    done
    while read -r node; do
      printf "PSL_GPUS_ON['%s']=%s\n" "$node" "$list"
    done < <(scontrol show hostnames "$nodes")
  done < <(scontrol --details show job "$SLURM_JOB_ID")
}
