# Find what a node knows about a task that failed.
#
# Nothing is read before the failure, except for what the node check of InfiniBand has read. Users
# may be unable to read the kernel's messages. Source: dmesg(1); sysctl, kernel.dmesg_restrict.

# print_evidence TIME: print the number of processes that the kernel has killed because memory ran
# out, then a line for each finding about a task that started at this time.
print_evidence() {
  count_memory_kills
  printf '%d\n' "${PSL_MEMORY_KILLS:-0}"
  if ((PSL_MEMORY_KILLS)) && [[ $PSL_MEMORY_PEAK =~ ^[1-9][0-9]*$ ]]; then
    printf 'the memory of this task reached %s MiB\n' "$((PSL_MEMORY_PEAK >> 20))"
  fi
  # Of the tasks that fail in one second, one reads what concerns the whole node.
  is_own_folder "$PSL_NODE_FOLDER" || return 0
  read_clock
  mkdir -- "$PSL_NODE_FOLDER/evidence.$PSL_NOW" 2>/dev/null || return 0
  print_kernel_errors "$1"
  print_disk_errors "$1"
  has_ecc_error && printf 'a GPU has an uncorrectable memory error (ECC)\n'  # only: gpus
  print_changed_readings  # only: infiniband
}

# print_kernel_errors TIME: print the last three errors of devices that the kernel has logged since.
print_kernel_errors() {
  local at text since pattern='I.O error|(EXT4-fs|BTRFS|XFS).*([Ee]rror|corrupt|shut)|nvme.*timeout'
  pattern+='|[Ll]ink (is )?[Dd](own|OWN)'
  pattern+='|NVRM: Xid|amdgpu.*(uncorrect|GPU reset)'  # only: gpus
  pattern="^\\[ *([0-9]+)\\.[0-9]+\\] (.*($pattern).*)"
  read_uptime
  # The kernel counts seconds since the node started.
  since=$(($1 - PSL_NOW + PSL_UPTIME / 1000))
  while read -r at text; do
    if ((at >= since)); then
      printf 'kernel: %s\n' "$text"
    fi
  done < <(timeout 1 dmesg 2>/dev/null | LC_ALL=C sed -nE "s/[^ -~]/?/g; s/$pattern/\\1 \\2/p" |
    tail -n 3)
}

# print_disk_errors TIME: print the file systems that have had an error since.
# Source: Linux, Documentation/ABI/testing/sysfs-fs-ext4, last_error_time.
print_disk_errors() {
  local file at
  for file in "${PSL_SYSFS%/*}"/fs/ext4/*/last_error_time; do
    read -r at 2>/dev/null <"$file" || continue
    if [[ $at =~ ^[1-9][0-9]*$ ]] && ((at >= $1)); then
      file=${file%/*}
      printf 'the file system on %s had an error\n' "${file##*/}"
    fi
  done
}
