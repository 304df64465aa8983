# Check the GPUs of this node before tasks start.

# Errors of NVIDIA GPUs that no program causes: double-bit ECC, a failed row remap, NVLink, a GPU
# off the bus, uncontained ECC, and the GSP. Source: NVIDIA, XID Errors.
readonly PSL_GPU_FAULTS='NVRM: Xid[^,]*: (48|64|74|79|95|119|120),'
# The age in seconds of the kernel's messages that count.
readonly PSL_FAULT_SECONDS=3600

# check_gpus: print a problem if tools see fewer GPUs than Slurm gave, do not answer, or report a
# fault: a memory error, a clock slowed by heat or power, or an error in the kernel's messages.
# Source: nvidia-smi(1), Performance State; rocm-smi, --showid.
check_gpus() {
  local given=${CUDA_VISIBLE_DEVICES-} tool='nvidia-smi -L' pattern='^GPU [0-9]+:' list found
  if [[ $PSL_GPU_VENDOR == amd ]]; then
    given=${ROCR_VISIBLE_DEVICES-} tool='rocm-smi --showid' pattern='^GPU\[[0-9]+\]'
  fi
  # shellcheck disable=SC2086 # a program and its option
  list=$(timeout -k 1 "$PSL_TOOL_SECONDS" $tool 2>&1)
  case $? in
    0) ;;
    124 | 137) print_node_problem "${tool% *} did not answer in $PSL_TOOL_SECONDS s" && return ;;
    *)
      list=${list##*$'\n'} list=${list//[![:print:]]/?}
      print_node_problem "${tool% *} fails: ${list:0:200}"
      return
      ;;
  esac
  found=$(grep -oE "$pattern" <<<"$list" | sort -u | wc -l)
  split_words , "$given"
  if ((found < ${#PSL_WORDS[@]})); then
    print_node_problem "${tool% *} sees $found GPUs, and Slurm gave ${#PSL_WORDS[@]}"
  fi
  if has_ecc_error; then
    print_node_problem 'a GPU has an uncorrectable memory error (ECC)'
  fi
  if [[ $PSL_GPU_VENDOR == nvidia ]] && timeout 5 nvidia-smi -q -d PERFORMANCE 2>/dev/null |
    grep -qE 'HW (Thermal|Power Brake) Slowdown +: Active'; then
    print_node_problem 'a GPU is slowed by heat or its power supply'
  fi
  print_gpu_faults
}

# print_gpu_faults: print the last fault of a GPU among the kernel's recent messages. Users may be
# unable to read them.
print_gpu_faults() {
  local at text last=''
  read_uptime
  while read -r at text; do
    if ((at >= PSL_UPTIME / 1000 - PSL_FAULT_SECONDS)); then
      last=$text
    fi
  done < <(timeout 5 dmesg 2>/dev/null |
    LC_ALL=C sed -nE "s/[^ -~]/?/g; s/^\\[ *([0-9]+)\\.[0-9]+\\] (.*$PSL_GPU_FAULTS.*)/\\1 \\2/p")
  if [[ $last ]]; then
    print_node_problem "kernel: $last"
  fi
}
