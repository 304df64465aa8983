# Tell srun to share cores where a role has an odd number of CPUs for each task.

# Note in PSL_SHARES_CORES which roles srun has to be told to share cores for. Before Slurm 24.11 an
# allocation has the cores that the CPUs of all tasks fill, and a step counts whole cores for each
# task: three tasks of 3 CPUs on cores of two threads get 5 cores and wait for a sixth for ever.
# Source: observed on 22.05 and 24.11.
find_shared_cores() {
  local role
  [[ $(srun --version) =~ \ ([0-9]+)\.([0-9]+) ]] || return 0
  ((10#${BASH_REMATCH[1]}${BASH_REMATCH[2]} < 2411)) || return 0
  [[ $(scontrol --oneliner show node "$SLURMD_NODENAME") =~ ThreadsPerCore=[2-9] ]] || return 0
  for role in "${!PSL_ODD_CPUS[@]}"; do
    PSL_SHARES_CORES[role]=1
  done
}
